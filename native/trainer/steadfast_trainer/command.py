"""The command line: one function per verb."""

import argparse
import asyncio

from steadfast_protocol.command import add_serve, command_line, run

from . import FORMAT_VERSION


def main(arguments: list[str]) -> int:
    parser, verbs = command_line("steadfast_trainer", __doc__)
    serve = add_serve(verbs)
    serve.add_argument("--base", required=True, help="folder of the base model")
    serve.add_argument("--rows", type=int, default=64, help="sequences sampled at once")
    serve.add_argument(
        "--cache-mib", type=int, default=48, help="bytes of the prefix cache; 0 switches it off"
    )
    base = verbs.add_parser("make-base", help="train the base on demonstrations")
    base.add_argument("--demonstrations", required=True, help="JSON Lines of conversations")
    base.add_argument("--lexicon", required=True, help="JSON object: words, prefixes, tools, parameters")
    base.add_argument("--out", required=True)
    base.add_argument("--seed", type=int, default=1)
    base.add_argument("--epochs", type=float, default=1.0)
    base.add_argument("--learning-rate", type=float, default=3e-3)
    base.add_argument("--width", type=int, default=96)
    verbs.add_parser("selfcheck", help="prove the numerical claims on this machine")
    return run(parser, arguments, {"serve": _serve, "make-base": _make_base, "selfcheck": _selfcheck})


def _serve(options: argparse.Namespace) -> int:
    from steadfast_protocol.app import App
    from steadfast_protocol.serving import go_home, listen

    from .base import load_base
    from .engine import product_shapes
    from .invariant import prove
    from .learner import EmbeddedLearner, build_name
    from .sampler import Sampler, SamplerOptions

    base = load_base(options.base)
    go_home(options.home)
    way = prove(product_shapes(base.config), base.config.head_width, base.config.context)
    sampler = Sampler(way, SamplerOptions(rows=options.rows, cache_bytes=options.cache_mib << 20))
    learner = EmbeddedLearner(base, build_name(base, FORMAT_VERSION), way, options.rows)
    return asyncio.run(listen(App(learner, sampler, base.tokenizer), options.host, options.port))


def _make_base(options: argparse.Namespace) -> int:
    from .make_base import make_base

    return make_base(options)


def _selfcheck(options: argparse.Namespace) -> int:
    from .selfcheck import selfcheck

    return selfcheck()
