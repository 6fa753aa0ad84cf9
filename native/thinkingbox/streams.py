"""MCP over one connected socket: JSON-RPC messages as lines, in place of the SDK's server over standard streams.

The SDK's own stdio server hands every line to a worker thread and back; a socket needs none.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import mcp.server.stdio
from mcp import types
from mcp.shared.message import SessionMessage

# A longer line ends the session, as it does on the host's side.
MAX_LINE = 16 * 1024 * 1024

OFFICIAL = mcp.server.stdio.stdio_server


def over(connection: socket.socket) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """A stand-in for `stdio_server` that speaks over `connection` and ends with it."""

    @asynccontextmanager
    async def socket_server() -> AsyncIterator[Any]:
        reader, writer = await asyncio.open_connection(sock=connection, limit=MAX_LINE)
        received, incoming = anyio.create_memory_object_stream(0)
        outgoing, sending = anyio.create_memory_object_stream(0)

        async def read() -> None:
            async with received:
                async for line in reader:
                    try:
                        message = types.JSONRPCMessage.model_validate_json(line)
                    except ValueError as error:
                        await received.send(error)
                    else:
                        await received.send(SessionMessage(message))

        async def write() -> None:
            async with sending:
                async for item in sending:
                    text = item.message.model_dump_json(by_alias=True, exclude_none=True)
                    writer.write(text.encode() + b"\n")
                    await writer.drain()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            yield incoming, outgoing

    return socket_server


def replace_stdio(server: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
    """Puts `server` wherever a loaded module holds the official `stdio_server`."""
    for module in list(sys.modules.values()):
        if getattr(module, "stdio_server", None) is OFFICIAL:
            module.stdio_server = server
