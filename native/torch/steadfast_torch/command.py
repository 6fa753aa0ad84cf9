"""The command line: one function per verb."""

import argparse
import asyncio
from functools import partial

from steadfast_protocol.command import add_serve, command_line, run
from steadfast_protocol.faults import UsageError

from .sampling_options import add_sampling


def main(arguments: list[str]) -> int:
    parser, verbs = command_line("steadfast_torch", __doc__)
    serve = add_serve(verbs)
    serve.add_argument("--model", required=True, help="folder of a causal language model, tokenizer included")
    serve.add_argument("--device", default="auto", help="auto (a GPU where there is one), cpu, cuda, cuda:1")
    serve.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"), help="of products")
    serve.add_argument("--threads", type=int, default=1, help="on the CPU; another number gives other bytes")
    serve.add_argument("--context", type=int, help="longest sequence; absent: the model's own")
    serve.add_argument("--gradient-checkpointing", action="store_true", help="less memory, a third more time")
    serve.add_argument("--lora-rank", type=int, default=0, help="0 trains every parameter")
    serve.add_argument("--lora-alpha", type=float, help="absent: twice the rank")
    serve.add_argument("--lora-targets", default="all-linear", help="module names separated by commas")
    serve.add_argument("--lora-seed", type=int, default=0)
    add_sampling(serve)
    return run(parser, arguments, {"serve": _serve})


def _serve(options: argparse.Namespace) -> int:
    import os

    import torch
    import transformers

    from steadfast_protocol.serving import go_home

    from .export import export
    from .learner import TorchLearner
    from .lora import Lora
    from .model import LanguageModel, ModelOptions
    from .sampler import OWN_SAMPLING, OwnSampler
    from .tokenizer import FolderTokenizer
    from .who_samples import answer, sampling_of

    folder = os.path.abspath(options.model)
    if not os.path.isfile(os.path.join(folder, "config.json")):
        expected = "a folder with config.json, weights and tokenizer (a hub id is not fetched)"
        raise UsageError("--model", expected, options.model)
    tokenizer = FolderTokenizer(folder)
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    lora = None
    if options.lora_rank > 0:
        alpha = options.lora_alpha or 2.0 * options.lora_rank
        lora = Lora(options.lora_rank, alpha, options.lora_targets, options.lora_seed)
    model = LanguageModel(
        ModelOptions(
            folder=folder,
            device=_device(options.device),
            dtype=getattr(torch, options.dtype),
            lora=lora,
            checkpointing=options.gradient_checkpointing,
            context=options.context,
        )
    )
    if tokenizer.size > model.vocab:
        raise UsageError(
            os.path.join(folder, "tokenizer.json"),
            f"ids below {model.vocab} (config.json)",
            str(tokenizer.size - 1),
        )
    go_home(options.home)
    learner = TorchLearner(model, tokenizer.digest, sampling_of(options, OWN_SAMPLING))
    own = partial(OwnSampler, model, options.versions)
    return asyncio.run(answer(options, learner, tokenizer, own, partial(export, model), lora is not None))


def _device(name: str):
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError("--device", "auto, cpu or cuda", name) from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device", "a GPU that PyTorch can use", f"{name}, and none")
    return device
