"""A replica's engine on the CPU, which must take weights as often as one on a GPU does.

vLLM there packs a layer's weight for oneDNN and lets go of it: nothing could be loaded into it again. Without oneDNN it
keeps its weights, and Verl's own way of loading them runs as it is.
"""

from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension
from vllm import _custom_ops


class CpuExtension(vLLMColocateWorkerExtension):
    """vLLM mixes it into its worker before it makes the model."""

    def __new__(cls, **arguments: object):
        _custom_ops._supports_onednn = False
        return super().__new__(cls, **arguments)
