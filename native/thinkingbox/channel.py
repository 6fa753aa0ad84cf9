"""JSON lines over stdin and stdout, with questions going back to the host.

Lines from the host:  {"id": n, "op": name, ...}                     a request
                      {"answer": n, "value": ...} or {"answer": n, "refused": text}
Lines to the host:    {"id": n, "ok": ...} or {"id": n, "error": {code, message, trace}}
                      {"ask": n, "for": request id, "kind": name, ...}  a question; the asking thread waits

Anything that imported code prints goes to stderr: the real stdout is kept here alone.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any


class Refused(BaseException):
    """The host could not answer. Not an Exception, so that no check can swallow it and go on."""


class Channel:
    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[threading.Event, dict[str, Any]]] = {}
        self._asked = 0

    def send(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=True, separators=(",", ":"))
        with self._lock:
            self._out.write(text + "\n")
            self._out.flush()

    def requests(self) -> Iterator[dict[str, Any]]:
        """Requests in order of arrival, until the host closes stdin; answers are handed to the threads that wait."""
        for text in sys.stdin:
            line = json.loads(text)
            if "answer" in line:
                self._deliver(line)
            else:
                yield line
        with self._lock:
            waiting = list(self._waiting.values())
        for event, slot in waiting:
            slot["refused"] = "the host has gone"
            event.set()

    def _deliver(self, line: dict[str, Any]) -> None:
        with self._lock:
            found = self._waiting.pop(line["answer"], None)
        if found is not None:
            event, slot = found
            slot.update(line)
            event.set()

    def ask(self, request: int, kind: str, **question: Any) -> Any:
        """Blocks the calling thread until the host answers. Raises Refused when it cannot."""
        event, slot = threading.Event(), {}
        with self._lock:
            self._asked += 1
            number = self._asked
            self._waiting[number] = (event, slot)
        self.send({"ask": number, "for": request, "kind": kind, **question})
        event.wait()
        if "refused" in slot:
            raise Refused(slot["refused"])
        return slot["value"]
