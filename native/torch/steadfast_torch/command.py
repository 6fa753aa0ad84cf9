"""The command line: one function per verb."""

import argparse
import asyncio
import sys
from functools import partial

from steadfast_protocol.faults import UsageError


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("steadfast_torch", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    serve = verbs.add_parser("serve", help="answer on HTTP until SIGTERM or SIGINT")
    serve.add_argument("--port", type=int, required=True, help="0 takes a free one and prints it")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument(
        "--home", required=True, help="folder that relative paths in requests are read against"
    )
    serve.add_argument("--model", required=True, help="folder of a causal language model, tokenizer included")
    serve.add_argument("--format", default="qwen3_xml", help="how its outputs are read (core/interpret)")
    serve.add_argument("--device", default="auto", help="auto (a GPU where there is one), cpu, cuda, cuda:1")
    serve.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"), help="of products")
    serve.add_argument("--threads", type=int, default=1, help="on the CPU; another number gives other bytes")
    serve.add_argument("--context", type=int, help="longest sequence; absent: the model's own")
    serve.add_argument("--gradient-checkpointing", action="store_true", help="less memory, a third more time")
    serve.add_argument("--lora-rank", type=int, default=0, help="0 trains every parameter")
    serve.add_argument("--lora-alpha", type=float, help="absent: twice the rank")
    serve.add_argument("--lora-targets", default="all-linear", help="module names separated by commas")
    serve.add_argument("--lora-seed", type=int, default=0)
    serve.add_argument("--vllm", help="http://host:port of a vLLM server that samples; absent: by itself")
    serve.add_argument("--rows", type=int, default=64, help="requests at the vLLM server at once")
    serve.add_argument("--versions", type=int, default=4, help="weights kept for sampling")
    options = parser.parse_args(arguments)
    try:
        return _serve(options)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2


def _serve(options: argparse.Namespace) -> int:
    import os

    import torch
    import transformers

    from steadfast_protocol.app import App
    from steadfast_protocol.serving import go_home, listen

    from .export import export
    from .learner import TorchLearner
    from .lora import Lora
    from .model import LanguageModel, ModelOptions
    from .sampler import OWN_SAMPLING, OwnSampler
    from .tokenizer import FolderTokenizer
    from .vllm_sampler import VLLM_SAMPLING, VllmSampler
    from .vllm_server import VllmServer

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
    learner = TorchLearner(model, tokenizer.digest, OWN_SAMPLING if options.vllm is None else VLLM_SAMPLING)

    async def serving() -> int:
        if options.vllm is None:
            sampler = OwnSampler(model, options.versions)
        else:
            server = VllmServer(options.vllm)
            sampler = VllmSampler(
                partial(export, model), lora is not None, server, "published", options.versions, options.rows
            )
        return await listen(App(learner, sampler, tokenizer, options.format), options.host, options.port)

    return asyncio.run(serving())


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
