"""The command line: one function per verb."""

import argparse
import asyncio
import importlib.util
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
    serve.add_argument(
        "--rollout",
        choices=("ranks", "replicas"),
        help="who samples without --vllm: the ranks themselves, or Verl's vLLM replicas on their GPUs; absent: replicas"
        " with --ranks ray on GPUs",
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
    from .learner import VerlLearner
    from .turns import Turns
    from .workers import Lost, Workers

    replicas = _replicas(options, device)
    configuration = Configuration(settings, device, replicas)
    if not os.path.isfile(os.path.join(configuration.model, "config.json")):
        expected = "a folder with config.json, weights and tokenizer (a hub id is not fetched)"
        raise UsageError("actor_rollout_ref.model.path", expected, configuration.model)
    if options.ranks == "local" and configuration.world != 1:
        raise UsageError("--ranks", "ray: the settings name more than one GPU", "local")
    tokenizer = FolderTokenizer(configuration.model)
    go_home(options.home)
    turns = Turns() if replicas else None
    workers = Workers(
        _beginning(configuration, options.ranks, variables, replicas), configuration.world, turns
    )
    own, says = _own(options, configuration, workers, turns)
    try:
        learner = VerlLearner(workers, configuration, tokenizer.digest, sampling_of(options, says))
        return asyncio.run(answer(options, learner, tokenizer, own, learner.export))
    except Lost as error:
        print(f"the ranks could not be started: {error}", file=sys.stderr)
        return 1
    finally:
        workers.end()


def _replicas(options: argparse.Namespace, device: str) -> bool:
    """Whether Verl's replicas sample. Raises `UsageError`."""
    asked = options.rollout
    if asked is not None and options.vllm is not None:
        raise UsageError("--rollout", "none with --vllm, which samples", asked)
    if asked == "replicas" and options.ranks != "ray":
        raise UsageError("--rollout", "ranks: replicas are actors of Ray (--ranks ray)", asked)
    by_itself = options.vllm is None and options.ranks == "ray" and device == "cuda"
    replicas = asked == "replicas" or (asked is None and by_itself)
    if replicas and importlib.util.find_spec("vllm") is None:
        raise UsageError("--rollout", "ranks: this Python has no vLLM", "replicas")
    return replicas


def _own(options: argparse.Namespace, configuration, workers, turns):
    """(what makes the sampler of ranks or replicas, what it says of itself)."""
    if turns is None:
        from .engine_sampler import ENGINE_SAMPLING, EngineSampler

        return partial(EngineSampler, workers, options.versions), ENGINE_SAMPLING
    from steadfast_torch.vllm_sampler import VLLM_SAMPLING

    from .replica_sampler import ReplicaSampler

    rows = max(options.rows, configuration.places)
    return partial(ReplicaSampler, workers, turns, options.versions, rows), VLLM_SAMPLING


def _beginning(configuration, ranks: str, variables: dict[str, str], replicas: bool):
    config = configuration.actor_rollout_ref
    if ranks == "local":

        def local():
            from .local_ranks import LocalRanks
            from .worker import BridgeWorker

            return LocalRanks(lambda: BridgeWorker(config=config, role="actor"))

        return local

    from .ray_ranks import RayRanks, connect

    connect(variables, configuration.world, configuration.device)
    if replicas:
        from .replica_ranks import ReplicaRanks

        return lambda: ReplicaRanks(config, configuration.per_host)
    return lambda: RayRanks(config, "actor", configuration.per_host)


def _device(name: str) -> str:
    if name == "auto":
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"
    return name
