"""The command line: one function per verb."""

import argparse
import asyncio
import os
import signal
import sys

from . import FORMAT_VERSION
from .faults import UsageError


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("steadfast_trainer", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    serve = verbs.add_parser("serve", help="answer on HTTP until SIGTERM or SIGINT")
    serve.add_argument("--port", type=int, required=True, help="0 takes a free one and prints it")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument(
        "--home", required=True, help="folder against which relative paths in requests are read"
    )
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
    options = parser.parse_args(arguments)
    try:
        return {"serve": _serve, "make-base": _make_base, "selfcheck": _selfcheck}[options.verb](options)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2


def _serve(options: argparse.Namespace) -> int:
    from .app import App, build_name
    from .base import load_base
    from .engine import product_shapes
    from .invariant import prove
    from .sampler import SamplerOptions

    base = load_base(options.base)
    try:
        os.makedirs(options.home, exist_ok=True)
        os.chdir(options.home)
    except OSError as error:
        raise UsageError(
            "--home", "a folder that can be used", f"{options.home}: {error.strerror}"
        ) from error
    way = prove(product_shapes(base.config), base.config.head_width, base.config.context)
    sampler = SamplerOptions(rows=options.rows, cache_bytes=options.cache_mib << 20)
    app = App(base, build_name(base, FORMAT_VERSION), way, sampler)
    return asyncio.run(_listen(app, options.host, options.port))


async def _listen(app, host: str, port: int) -> int:
    from .http_server import HttpProtocol

    loop = asyncio.get_running_loop()
    stop = loop.create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: stop.done() or stop.set_result(None))
    try:
        server = await loop.create_server(lambda: HttpProtocol(app.handle), host, port)
    except OSError as error:
        raise UsageError("--port", f"a free port on {host}", f"{port}: {error.strerror}") from error
    print(f"trainer listening on http://{host}:{server.sockets[0].getsockname()[1]}", flush=True)
    await stop
    server.close()
    return 0


def _make_base(options: argparse.Namespace) -> int:
    from .make_base import make_base

    return make_base(options)


def _selfcheck(options: argparse.Namespace) -> int:
    from .selfcheck import selfcheck

    return selfcheck()
