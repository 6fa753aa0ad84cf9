"""A server that starts a thread before it serves: it must not be forked."""

import json
import os
import threading
import time

from fastmcp import FastMCP

mcp = FastMCP("threaded")
threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()


@mcp.tool(name="where")
async def where() -> str:
    return json.dumps({"pid": os.getpid(), "parent": os.getppid()})


if __name__ == "__main__":
    mcp.run(transport="stdio", show_banner=False)
