"""Who samples, for this trainer and for the Verl bridge: the trainer itself, or a vLLM server."""

import argparse
from collections.abc import Callable

from steadfast_protocol.app import App
from steadfast_protocol.learner import Learner
from steadfast_protocol.samplers import Sampler
from steadfast_protocol.serving import listen

from .tokenizer import FolderTokenizer
from .versions import W
from .vllm_sampler import VLLM_SAMPLING, VllmSampler
from .vllm_server import VllmServer


def sampling_of(options: argparse.Namespace, own: dict[str, object]) -> dict[str, object]:
    """What the sampler says of itself in `capabilities`; `own`: where the trainer samples."""
    return own if options.vllm is None else VLLM_SAMPLING


async def answer(
    options: argparse.Namespace,
    learner: Learner,
    tokenizer: FolderTokenizer,
    own: Callable[[], Sampler],
    write: Callable[[W, str], None],
    adapters: bool = False,
) -> int:
    """Answers until a signal ends it. `own` makes the trainer's own sampler; `write` and `adapters` as `VllmSampler` has them."""
    if options.vllm is None:
        sampler = own()
    else:
        server = VllmServer(options.vllm)
        sampler = VllmSampler(write, adapters, server, "published", options.versions, options.rows)
    return await listen(App(learner, sampler, tokenizer, options.format), options.host, options.port)
