"""`python -m steadfast_vllm.parse_arguments '["serve", ...]'`: what vLLM's own parser makes of a command line, as JSON."""

import json
import sys

from vllm.entrypoints.launchers.cli_args import (
    make_arg_parser,
    validate_parsed_serve_args,
)
from vllm.utils.argparse_utils import FlexibleArgumentParser


def parse(arguments: list[str]) -> dict[str, object]:
    """Ends the process with the parser's own words for an argument that it does not know."""
    parsed = make_arg_parser(FlexibleArgumentParser()).parse_args(arguments[1:])
    validate_parsed_serve_args(parsed)
    plain = (bool, int, float, str, list, type(None))
    return {name: value for name, value in vars(parsed).items() if isinstance(value, plain)}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m steadfast_vllm.parse_arguments JSON")
    print(json.dumps(parse(json.loads(sys.argv[1])), default=str))
