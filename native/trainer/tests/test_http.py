"""The HTTP server against raw bytes: keep-alive, pipelining, chunks, and what it refuses."""

import asyncio
import json
import unittest

from steadfast_protocol.http_server import MAX_HEAD, Call, HttpProtocol


async def echo(call: Call) -> tuple[int, object]:
    await asyncio.sleep(0)
    return 200, {
        "method": call.method,
        "path": call.path,
        "query": call.query,
        "host": call.host,
        "size": len(call.body),
    }


async def exchange(data: list[bytes], replies: int) -> tuple[list[tuple[int, dict]], bool]:
    """Sends the pieces one after another; (status, body) of each reply, and whether the server closed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: HttpProtocol(echo), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
    found = []
    try:
        for piece in data:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.005)
        for _ in range(replies):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            if " 100 " in head.split("\r\n")[0]:
                continue
            length = int(head.split("content-length: ")[1].split("\r\n")[0])
            found.append((int(head.split(" ")[1]), json.loads(await reader.readexactly(length))))
        writer.write(b"GET /again HTTP/1.1\r\n\r\n")
        closed = await reader.read(1) == b""
    except ConnectionError:
        closed = True
    finally:
        writer.close()
        server.close()
    return found, closed


def post(body: bytes, more: str = "") -> bytes:
    return (
        f"POST /a?x=1&y=b%20c HTTP/1.1\r\nHost: me:1\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


class HttpTest(unittest.TestCase):
    def talk(self, data: list[bytes], replies: int = 1):
        return asyncio.run(asyncio.wait_for(exchange(data, replies), 10))

    def test_keep_alive_in_pieces(self):
        whole = post(b"hello")
        found, closed = self.talk([whole[:10], whole[10:-2], whole[-2:]])
        self.assertEqual(
            found,
            [
                (
                    200,
                    {
                        "method": "POST",
                        "path": "/a",
                        "query": {"x": "1", "y": "b c"},
                        "host": "me:1",
                        "size": 5,
                    },
                )
            ],
        )
        self.assertFalse(closed)

    def test_pipelined_requests_are_answered_in_order(self):
        found, _ = self.talk([post(b"1") + post(b"22") + post(b"333")], 3)
        self.assertEqual([body["size"] for _, body in found], [1, 2, 3])

    def test_chunked_bodies(self):
        head = b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        found, closed = self.talk([head + b"3\r\nab", b"c\r\n10;x=y\r\n" + b"z" * 16 + b"\r\n0\r\n\r\n"])
        self.assertEqual([body["size"] for _, body in found], [19])
        self.assertFalse(closed)

    def test_expect_continue(self):
        whole = post(b"hello", "Expect: 100-continue\r\n")
        found, _ = self.talk([whole[:-5], whole[-5:]], 2)
        self.assertEqual([status for status, _ in found], [200])

    def test_connection_close(self):
        found, closed = self.talk([post(b"x", "Connection: close\r\n")])
        self.assertEqual((found[0][0], closed), (200, True))

    def test_refusals_close_the_connection(self):
        for data, status in (
            (b"HELLO\r\n\r\n", 400),
            (b"GET / HTTP/1.0\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nbroken\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nx: " + b"y" * (MAX_HEAD + 10), 431),
            (b"POST / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n", 413),
            (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 413),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        ):
            found, closed = self.talk([data])
            self.assertEqual((found[0][0], closed), (status, True), data[:40])


if __name__ == "__main__":
    unittest.main()
