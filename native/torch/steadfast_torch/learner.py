"""The model behind the shared contract (`steadfast_protocol.learner`)."""

import os
import platform
from collections.abc import Mapping

import numpy as np
import torch
import transformers

from steadfast_protocol.batch import Episode
from steadfast_protocol.learner import UpdateResult
from steadfast_protocol.plan import Plan
from steadfast_protocol.stored import Tensors, TensorStored

from . import FORMAT_VERSION
from .adamw import BETA1, BETA2, Moments
from .model import LanguageModel
from .update import compute_update
from .vllm_sampler import sampler_bound
from .weights import Arrays, Weights, copied


class TorchLearner:
    """`sampling` is what the sampler says of itself in `capabilities`."""

    def __init__(self, model: LanguageModel, tokenizer_digest: str, sampling: dict[str, object]):
        self.model, self._sampling = model, sampling
        self.base, self.base_digest = model.base, model.base_digest
        self.vocab, self.context = model.vocab, model.context
        self.stored = TensorStored(self)
        lora = model.options.lora
        what = "full" if lora is None else lora.name
        digests = f"base:{self.base_digest[7:19]} tokenizer:{tokenizer_digest[:12]}"
        self.build = f"torch-{FORMAT_VERSION} {model.name} {what} {digests}"

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return self.model.shapes()

    def fresh_optimizer(self) -> Moments:
        return Moments.fresh(self.base)

    def weight_tensors(self, weights: Weights) -> Tensors:
        return Arrays(weights)

    def optimizer_tensors(self, optimizer: Moments) -> Tensors:
        return optimizer.tensors()

    def load_weights(self, tensors: Tensors) -> Weights:
        return copied(tensors, self.model.options.device)

    def load_optimizer(self, tensors: Tensors) -> Moments:
        return Moments.load(tensors, self.model.options.device)

    def update(
        self, weights: Weights, optimizer: Moments, episodes: list[Episode], plan: Plan
    ) -> UpdateResult[Weights, Moments]:
        return compute_update(self.model, weights, optimizer, episodes, plan)

    def sequence_logprobs(self, weights: Weights, sequences: list[np.ndarray]) -> list[list[float]]:
        results = []
        for ids in sequences:
            with torch.no_grad(), self.model.using(weights):
                results.append(self.model.sequence_logprobs(ids).tolist())
        return results

    def numerics(self) -> dict[str, str]:
        device, cuda = self.model.options.device, torch.version.cuda
        facts = {
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "device": device.type if device.type == "cpu" else torch.cuda.get_device_name(device),
            "dtype": self._dtype(),
            "threads": str(torch.get_num_threads()),
            "machine": platform.machine(),
            "isa": torch.backends.cpu.get_cpu_capability(),
        }
        return facts if cuda is None or device.type == "cpu" else facts | {"cuda": cuda}

    def capabilities(self) -> dict[str, object]:
        model, options = self.model, self.model.options
        return {
            "kind": "torch",
            # Sampling by itself has the trainer's own numbers; through vLLM other kernels, and the default bound.
            "mismatchBound": True,
            "optimizer": {"name": "adamw", "beta1": BETA1, "beta2": BETA2, "restore": True},
            "model": {
                "vocab": model.vocab,
                "architecture": type(model.module).__name__,
                "folder": os.path.abspath(options.folder),
                "parameters": sum(parameter.numel() for parameter in model.module.parameters()),
                "trained": sum(tensor.numel() for tensor in self.base.values()),
                "lora": None if options.lora is None else options.lora.name,
            },
            "limits": {"context": model.context},
            "sampling": self._sampling,
        } | sampler_bound(self._sampling, self._dtype())

    def _dtype(self) -> str:
        return str(self.model.options.dtype).removeprefix("torch.")
