"""Reserved tools that our host asks an official server for beside its own. The agent never sees a reserved tool.

`__reserved__init_text` takes the start state as JSON text. Passed as a JSON value through JavaScript, 300.0 becomes
300, and a server that keeps exact decimals then starts from another state than the check expects.

`__reserved__state` reports the state reached and its official hash. The official `__reserved__geteffects` builds a
second system to compare with, which costs half of a session, and without golden calls compares with nothing.
"""

import json
import os
import sys
from typing import Any

import fastmcp

TYPESENSE = "STEADFAST_TYPESENSE_URL"


def add_reserved(server: fastmcp.FastMCP) -> None:
    """Adds our tools to `server`, whose module runs as `__main__`."""

    async def init_text(config: str) -> str:
        result = await server.call_tool("__reserved__init", {"config": json.loads(config)})
        return result.content[0].text

    server.tool(name="__reserved__init_text")(init_text)
    module = sys.modules["__main__"]
    if not hasattr(module, "initialize_sandbox_system") or not hasattr(module, "calculate_database_hash"):
        return

    async def state() -> str:
        db = module.initialize_sandbox_system().db
        return json.dumps(
            {"result_db_state": db.to_state_dict(), "result_db_hash": module.calculate_database_hash(db)}
        )

    server.tool(name="__reserved__state")(state)


def point_search() -> None:
    """Sends the official search client to the Typesense that the environment names; it knows one address only."""
    address = os.environ.get(TYPESENSE)
    if not address:
        return
    from urllib.parse import urlsplit

    import typesense

    url = urlsplit(address)
    node = {"host": url.hostname, "port": str(url.port or 8108), "protocol": url.scheme or "http"}
    official = typesense.Client

    def client(config: dict[str, Any]) -> Any:
        return official({**config, "nodes": [node]})

    typesense.Client = client
