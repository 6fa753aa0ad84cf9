"""A warm tool server: does everything that an official MCP server does before it serves, then forks a session at a time.

    STEADFAST_SOCKETS=folder python warm.py MODULE_OR_SCRIPT

Started by activities/sandbox/nursery.ts. JSON lines on standard input:

    {"fork": n, "name": sandbox, "cwd": folder, "home": folder, "stderr": file, "limits": {name: number}}

and on standard output:

    {"ready": true} once, or {"unfit": why} when the program cannot be forked
    {"fork": n, "pid": p, "socket": path} or {"fork": n, "error": why}
    {"ended": p, "how": text}

A session is a process group of its own with limits, a bare environment and its own folders, and speaks MCP over the
socket. It dies with this process, which ends when its standard input does.
"""

import asyncio
import ctypes
import gc
import json
import os
import resource
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from typing import Any, NoReturn

import anyio._backends._asyncio  # noqa: F401 - imported here once, or else by every session
import fastmcp

import mark
from reserved import add_reserved, point_search
from serve import run_program
from streams import over, replace_stdio

ACCEPT_S = 60.0
PR_SET_PDEATHSIG = 1
LIMITS = {
    "core": resource.RLIMIT_CORE,
    "cpuSeconds": resource.RLIMIT_CPU,
    "fileBytes": resource.RLIMIT_FSIZE,
    "openFiles": resource.RLIMIT_NOFILE,
    "dataBytes": resource.RLIMIT_DATA,
    "processes": resource.RLIMIT_NPROC,
}


class Nursery:
    """The loop of the parent. `fork` returns only in a session; nothing here may start a thread."""

    def __init__(self, sockets: str) -> None:
        self._sockets = sockets
        self._out = os.dup(1)
        # What the program prints belongs on standard error.
        os.dup2(2, 1)
        self._lines = b""
        self._children: set[int] = set()

    def tell(self, line: dict[str, Any]) -> None:
        data = (json.dumps(line) + "\n").encode()
        while data:
            data = data[os.write(self._out, data) :]

    def serve(self) -> socket.socket:
        """Forks sessions until the host goes. Returns in each session, with its listening socket; the parent exits."""
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        waiting = selectors.DefaultSelector()
        waiting.register(0, selectors.EVENT_READ)
        waiting.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fd == woken:
                    os.read(woken, 4096)
                    self._reap()
                    continue
                chunk = os.read(0, 65536)
                if not chunk:
                    self._end()
                for request in self._requests(chunk):
                    listener = self._fork(request)
                    if listener is not None:
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        waiting.close()
                        os.close(woken)
                        os.close(wake)
                        return listener

    def _requests(self, chunk: bytes) -> list[dict[str, Any]]:
        *lines, self._lines = (self._lines + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def _fork(self, request: dict[str, Any]) -> socket.socket | None:
        number = request["fork"]
        path = os.path.join(self._sockets, str(number))
        parent = os.getpid()
        try:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen(1)
            pid = os.fork()
        except OSError as error:
            self.tell({"fork": number, "error": str(error)})
            return None
        if pid == 0:
            try:
                become_session(request, parent, self._out)
            except BaseException:
                # Its standard error may not be in place yet: the parent's is.
                traceback.print_exc()
                os._exit(70)
            return listener
        listener.close()
        self._children.add(pid)
        self.tell({"fork": number, "pid": pid, "socket": path})
        return None

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._children.discard(pid)
            code = os.waitstatus_to_exitcode(status)
            self.tell({"ended": pid, "how": f"exit {code}" if code >= 0 else signal.Signals(-code).name})

    def _end(self) -> NoReturn:
        for pid in self._children:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        shutil.rmtree(self._sockets, ignore_errors=True)
        os._exit(0)


def become_session(request: dict[str, Any], parent: int, control: int) -> None:
    """In the child: everything that a process of its own would have. Raises for what cannot be had."""
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(71)
    os.close(control)
    nothing = os.open(os.devnull, os.O_RDWR)
    words = os.open(request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for fd, target in ((nothing, 0), (words, 1), (words, 2)):
        os.dup2(fd, target)
    os.close(nothing)
    os.close(words)
    home = request["home"]
    os.environ.update({"HOME": home, "TMPDIR": home, mark.NAME: request["name"]})
    mark.rewrite(request["name"])
    os.chdir(request["cwd"])
    tempfile.tempdir = None
    for name, value in request["limits"].items():
        # A limit above the system's own cannot be set and is left alone.
        hard = resource.getrlimit(LIMITS[name])[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(LIMITS[name], (most, most))


def threads() -> int:
    if sys.platform == "linux":
        return len(os.listdir("/proc/self/task"))
    import threading

    return threading.active_count()


async def warmed(server: fastmcp.FastMCP) -> None:
    """What every session does first, once: schemas are built and modules imported that come late."""
    async with fastmcp.Client(server) as client:
        await client.list_tools()


def main() -> None:
    program = sys.argv[1]
    nursery = Nursery(os.environ.pop("STEADFAST_SOCKETS"))
    run = fastmcp.FastMCP.run

    def fork_sessions(server: fastmcp.FastMCP, *args: Any, **kwargs: Any) -> NoReturn:
        add_reserved(server)
        asyncio.run(warmed(server))
        alive = threads()
        if alive != 1:
            nursery.tell({"unfit": f"{program} has {alive} threads before it serves"})
            sys.exit(0)
        gc.collect()
        gc.freeze()
        nursery.tell({"ready": True})
        listener = nursery.serve()
        listener.settimeout(ACCEPT_S)
        connection, _ = listener.accept()
        listener.close()
        connection.setblocking(False)
        replace_stdio(over(connection))
        try:
            run(server, *args, **kwargs)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        # Nothing that the parent has registered to be done at its end is this session's to do.
        os._exit(0)

    fastmcp.FastMCP.run = fork_sessions
    point_search()
    run_program(program)
    nursery.tell({"unfit": f"{program} ended without serving"})


if __name__ == "__main__":
    main()
