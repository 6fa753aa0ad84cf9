"""The relay's side in a container, for images with Python: `relay.py 127.77.0.1:8108 ...`, one address an endpoint.

Started beside the server by the engine. It listens there and hands each connection to the worker over its standard
streams, in the frames of activities/sandbox/docker/relay/frames.ts. It knows nothing of where a connection leads, and
ends with its standard input. Standard library only.
"""

import asyncio
import socket
import struct
import sys
from collections.abc import Awaitable, Callable

HEADER = struct.Struct(">BII")
READY, OPEN, DATA, END, CLOSE = range(5)
MAX_FRAME = 64 * 1024
# What one connection may have under way to a program that does not read; more cuts it.
MAX_PENDING = 4 * 1024 * 1024
# Closing with this takes the connection away at once, and the other side sees it broken.
BROKEN = struct.pack("ii", 1, 0)


class Connections:
    def __init__(self, out: asyncio.StreamWriter) -> None:
        self._out = out
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._ended: set[int] = set()
        self._opened = 0

    def send(self, kind: int, connection: int, content: bytes = b"") -> None:
        self._out.write(HEADER.pack(kind, connection, len(content)) + content)

    def accepting(
        self, endpoint: int
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._opened += 1
            connection = self._opened
            self._writers[connection] = writer
            self.send(OPEN, connection, bytes([endpoint]))
            try:
                while content := await reader.read(MAX_FRAME):
                    self.send(DATA, connection, content)
                    await self._out.drain()
                self.send(END, connection)
                await writer.wait_closed()
            except OSError:
                # The program has broken it off; what follows tells the worker.
                writer.transport.abort()
            finally:
                self._ended.discard(connection)
                if self._writers.pop(connection, None) is not None:
                    self.send(CLOSE, connection)

        return accepted

    def take(self, kind: int, connection: int, content: bytes) -> None:
        writer = self._writers.get(connection)
        if writer is None:
            return
        if kind == DATA:
            writer.write(content)
            if writer.transport.get_write_buffer_size() > MAX_PENDING:
                writer.transport.abort()
        elif kind == END:
            # Nothing more comes; what the program still says is taken.
            self._ended.add(connection)
            if not writer.is_closing():
                writer.write_eof()
        elif kind == CLOSE:
            del self._writers[connection]
            # One that was not ended first has broken, and is to be seen broken.
            if connection not in self._ended:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, BROKEN)
                writer.transport.abort()
            else:
                writer.close()


async def main(addresses: list[str]) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    connections = Connections(asyncio.StreamWriter(transport, protocol, None, loop))
    for endpoint, address in enumerate(addresses):
        host, port = address.rsplit(":", 1)
        await asyncio.start_server(connections.accepting(endpoint), host, int(port))
    connections.send(READY, 0)
    while True:
        try:
            kind, connection, length = HEADER.unpack(await reader.readexactly(HEADER.size))
            content = await reader.readexactly(length)
        except asyncio.IncompleteReadError:
            return
        connections.take(kind, connection, content)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
