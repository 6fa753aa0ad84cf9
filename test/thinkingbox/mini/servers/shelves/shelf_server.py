"""A tool server of our own in the form of the official ones, with tools that misbehave on request."""

import json
import os
import resource
import subprocess
import sys
import time
from decimal import Decimal
from typing import Any

from fastmcp import FastMCP

mcp = FastMCP("shelf")
books: list[str] = []
weights: dict[str, Any] = {}


@mcp.tool(name="__reserved__init")
async def initialize(config: dict) -> str:
    if config.get("die"):
        os._exit(3)
    if config.get("refuse"):
        return json.dumps({"status": "error", "message": "no such room"})
    books[:] = config.get("books", [])
    return json.dumps({"status": "ok", "room": config.get("room", "study")})


@mcp.tool(name="__reserved__geteffects")
async def effects() -> str:
    return json.dumps({"books": books, "weights": weights})


@mcp.tool(name="put", description="Puts a book on the shelf")
async def put(title: str) -> str:
    books.append(title)
    return json.dumps({"status": "ok", "books": len(books)})


@mcp.tool(name="weigh", description="Notes what a book weighs")
async def weigh(title: str, notes: dict) -> str:
    weights[title] = {name: str(Decimal(str(value))) for name, value in notes.items()}
    return json.dumps(weights[title])


@mcp.tool(name="where", description="Where this server runs")
async def where() -> str:
    return json.dumps(
        {
            "pid": os.getpid(),
            "parent": os.getppid(),
            "group": os.getpgid(0),
            "cwd": os.getcwd(),
            "environment": dict(os.environ),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            "cpu": resource.getrlimit(resource.RLIMIT_CPU)[0],
            "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
        }
    )


@mcp.tool(name="misbehave", description="Does what no server should")
async def misbehave(how: str) -> str:
    if how == "crash":
        print("the shelf has collapsed", file=sys.stderr, flush=True)
        os._exit(7)
    if how == "hang":
        time.sleep(3600)
    if how == "flood":
        return "x" * (20 * 1024 * 1024)
    if how == "chatter":
        for _ in range(200_000):
            print("a line that nobody asked for")
    if how == "fork":
        # One in this process group, one that leaves it.
        subprocess.Popen(["sleep", "3600"])
        subprocess.Popen(["sleep", "3600"], start_new_session=True)
        if os.fork() == 0:
            os.setsid()
            time.sleep(3600)
    return "well"


if __name__ == "__main__":
    mcp.run(transport="stdio", show_banner=False)
