"""The command line: one function per verb."""

import argparse
import asyncio
import os
import sys
from functools import partial

from steadfast_protocol.command import add_serve, command_line, run
from steadfast_protocol.faults import UsageError
from steadfast_torch.sampling_options import add_sampling

from .device import choose
from .settings import read_settings, with_more


def main(arguments: list[str]) -> int:
    parser, verbs = command_line("steadfast_verl", __doc__)
    serve = add_serve(verbs)
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
    add_sampling(serve)
    return run(parser, arguments, {"serve": _serve})


def _serve(options: argparse.Namespace) -> int:
    settings = with_more(read_settings(options.command), options.set)
    device = _device(options.device)
    variables = choose(device)

    from steadfast_protocol.serving import go_home
    from steadfast_torch.tokenizer import FolderTokenizer
    from steadfast_torch.who_samples import answer, sampling_of

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
        sampling = sampling_of(options, ENGINE_SAMPLING)
        learner = VerlLearner(workers, configuration, tokenizer.digest, sampling)
        own = partial(EngineSampler, workers, options.versions)
        return asyncio.run(answer(options, learner, tokenizer, own, learner.export))
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
