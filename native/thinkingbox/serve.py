"""Runs an official MCP server unchanged, as `python -m MODULE` would, with our reserved tools beside its own.

    python serve.py MODULE              a module of the checkout
    python serve.py path/to/server.py   a script
"""

import runpy
import sys
from typing import Any

import fastmcp

from reserved import add_reserved, point_search


def run_program(program: str) -> None:
    """Runs the module or script as `__main__`. The folder of this script must not shadow modules of the checkout."""
    sys.argv = [program]
    sys.path.pop(0)
    if program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def main() -> None:
    run = fastmcp.FastMCP.run

    def run_with_reserved(server: fastmcp.FastMCP, *args: Any, **kwargs: Any) -> None:
        add_reserved(server)
        run(server, *args, **kwargs)

    fastmcp.FastMCP.run = run_with_reserved
    point_search()
    run_program(sys.argv[1])


if __name__ == "__main__":
    main()
