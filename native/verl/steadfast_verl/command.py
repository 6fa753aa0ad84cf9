"""The command line: one function per verb."""

import argparse
import asyncio
import os
import sys

from steadfast_protocol.faults import UsageError

from .device import choose
from .settings import read_settings, with_more


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("steadfast_verl", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    serve = verbs.add_parser("serve", help="answer on HTTP until SIGTERM or SIGINT")
    serve.add_argument("--port", type=int, required=True, help="0 takes a free one and prints it")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument(
        "--home", required=True, help="folder that relative paths in requests are read against"
    )
    serve.add_argument(
        "--command", required=True, help="file with what `train --dry-run --show verl` printed"
    )
    serve.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of Verl in place of the file's",
    )
    serve.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    serve.add_argument(
        "--ranks", default="ray", choices=("ray", "local"), help="local: one rank, without Ray"
    )
    serve.add_argument("--format", default="qwen3_xml", help="how outputs are read (core/interpret)")
    serve.add_argument("--vllm", help="http://host:port of a vLLM server that samples; absent: the ranks do")
    serve.add_argument("--rows", type=int, default=64, help="requests at the vLLM server at once")
    serve.add_argument("--versions", type=int, default=4, help="weights kept for sampling")
    options = parser.parse_args(arguments)
    try:
        return _serve(options)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2


def _serve(options: argparse.Namespace) -> int:
    settings = with_more(read_settings(options.command), options.set)
    device = _device(options.device)
    variables = choose(device)

    from steadfast_protocol.app import App
    from steadfast_protocol.serving import go_home, listen
    from steadfast_torch.tokenizer import FolderTokenizer
    from steadfast_torch.vllm_sampler import VLLM_SAMPLING, VllmSampler
    from steadfast_torch.vllm_server import VllmServer

    from .configuration import Configuration
    from .engine_sampler import ENGINE_SAMPLING, EngineSampler
    from .learner import VerlLearner
    from .workers import Lost, Workers

    configuration = Configuration(settings, device)
    if not os.path.isfile(os.path.join(configuration.model, "config.json")):
        expected = "a folder with config.json, weights and tokenizer (a hub id is not fetched)"
        raise UsageError("actor_rollout_ref.model.path", expected, configuration.model)
    if options.ranks == "local" and configuration.world != 1:
        raise UsageError("--ranks", "ray: the settings name more than one GPU", "local")
    tokenizer = FolderTokenizer(configuration.model)
    go_home(options.home)
    workers = Workers(_beginning(configuration, options.ranks, variables), configuration.world)
    try:
        sampling = ENGINE_SAMPLING if options.vllm is None else VLLM_SAMPLING
        learner = VerlLearner(workers, configuration, tokenizer.digest, sampling)

        async def serving() -> int:
            if options.vllm is None:
                sampler = EngineSampler(workers, options.versions)
            else:
                server = VllmServer(options.vllm)
                sampler = VllmSampler(
                    learner.export, False, server, "published", options.versions, options.rows
                )
            return await listen(App(learner, sampler, tokenizer, options.format), options.host, options.port)

        return asyncio.run(serving())
    except Lost as error:
        print(f"the ranks could not be started: {error}", file=sys.stderr)
        return 1
    finally:
        workers.end()


def _beginning(configuration, ranks: str, variables: dict[str, str]):
    config = configuration.actor_rollout_ref
    if ranks == "local":

        def local():
            from .local_ranks import LocalRanks
            from .worker import BridgeWorker

            return LocalRanks(lambda: BridgeWorker(config=config, role="actor"))

        return local

    from .ray_ranks import RayRanks, connect

    connect(variables, configuration.world, configuration.device)
    return lambda: RayRanks(config, "actor", configuration.per_host)


def _device(name: str) -> str:
    if name == "auto":
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"
    return name
