"""Listening until a signal ends it."""

import asyncio
import os
import signal

from .app import App
from .faults import UsageError
from .http_server import HttpProtocol


def go_home(folder: str) -> None:
    """Makes the folder and goes there: relative paths in requests are read against it. Raises `UsageError`."""
    try:
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
    except OSError as error:
        raise UsageError("--home", "a folder that can be used", f"{folder}: {error.strerror}") from error


async def listen(app: App, host: str, port: int) -> int:
    """Answers until SIGTERM or SIGINT; `port` 0 takes a free one. Prints the address. Raises `UsageError`."""
    loop = asyncio.get_running_loop()
    stop = loop.create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: stop.done() or stop.set_result(None))
    try:
        server = await loop.create_server(lambda: HttpProtocol(app.handle), host, port)
    except OSError as error:
        raise UsageError("--port", f"a free port on {host}", f"{port}: {error.strerror}") from error
    print(f"trainer listening on http://{host}:{server.sockets[0].getsockname()[1]}", flush=True)
    await stop
    server.close()
    return 0
