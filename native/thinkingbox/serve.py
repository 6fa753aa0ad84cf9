"""Runs an official MCP server unchanged, as `python -m MODULE` would, with one reserved tool more.

`__reserved__init_text` takes the start state as JSON text. Passed as a JSON value through JavaScript, 300.0 becomes
300, and a server that keeps exact decimals then starts from another state than the check expects.
"""

import json
import runpy
import sys
from typing import Any

import fastmcp


def main() -> None:
    module = sys.argv[1]
    run = fastmcp.FastMCP.run

    def run_with_text_init(server: fastmcp.FastMCP, *args: Any, **kwargs: Any) -> None:
        async def init_text(config: str) -> str:
            result = await server.call_tool("__reserved__init", {"config": json.loads(config)})
            return result.content[0].text

        server.tool(name="__reserved__init_text")(init_text)
        run(server, *args, **kwargs)

    fastmcp.FastMCP.run = run_with_text_init
    sys.argv = sys.argv[1:]
    # The folder of this script must not shadow modules of the checkout.
    sys.path.pop(0)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
