"""What the command lines of trainers have in common: the verb that answers on HTTP, and how bad usage ends."""

import argparse
import sys
from collections.abc import Callable, Mapping

from .faults import UsageError

Verbs = Mapping[str, Callable[[argparse.Namespace], int]]


def command_line(name: str, about: str | None) -> tuple[argparse.ArgumentParser, argparse._SubParsersAction]:
    """(parser, its verbs)."""
    parser = argparse.ArgumentParser(name, description=about)
    return parser, parser.add_subparsers(dest="verb", required=True)


def add_serve(verbs: argparse._SubParsersAction) -> argparse.ArgumentParser:
    serve = verbs.add_parser("serve", help="answer on HTTP until SIGTERM or SIGINT")
    serve.add_argument("--port", type=int, required=True, help="0 takes a free one and prints it")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument(
        "--home", required=True, help="folder that relative paths in requests are read against"
    )
    return serve


def run(parser: argparse.ArgumentParser, arguments: list[str], verbs: Verbs) -> int:
    """The exit code: 2 for a `UsageError`, which is printed."""
    options = parser.parse_args(arguments)
    try:
        return verbs[options.verb](options)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
