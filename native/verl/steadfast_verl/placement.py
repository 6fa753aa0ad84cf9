"""Which replica answers a request: the one that holds its beginning in its cache, else the one with the least to do."""

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from steadfast_protocol.samplers import Request

#: Sequences that are remembered: more than episodes are played at once.
_MOST = 2_048


class Placement:
    """Safe to use from any thread."""

    def __init__(self, replicas: int) -> None:
        self._lock = threading.Lock()
        self._running = [0] * replicas
        #: Digest of a sequence that was sampled -> its replica. The next turn of an episode begins with it.
        self._known: OrderedDict[tuple[int, bytes], int] = OrderedDict()
        self._lengths: Counter[int] = Counter()

    @contextmanager
    def of(self, request: Request) -> Iterator[int]:
        """The replica's number, busy with the request until the end."""
        with self._lock:
            known = self._holder(_bytes(request.prompt))
            replica = self._running.index(min(self._running)) if known is None else known
            self._running[replica] += 1
        try:
            yield replica
            if not request.score:
                self._remember(_bytes([*request.prompt.tolist(), *request.tokens]), replica)
        finally:
            with self._lock:
                self._running[replica] -= 1

    def _holder(self, prompt: bytes) -> int | None:
        """Of the longest sequence that the prompt begins with."""
        digest, done, found = hashlib.sha256(), 0, None
        for length in sorted(length for length in self._lengths if length <= len(prompt)):
            digest.update(prompt[done:length])
            done = length
            key = (length, digest.digest())
            if key in self._known:
                found = key
        return None if found is None else self._known[found]

    def _remember(self, sequence: bytes, replica: int) -> None:
        key = (len(sequence), hashlib.sha256(sequence).digest())
        with self._lock:
            if key not in self._known:
                self._lengths[key[0]] += 1
            self._known[key] = replica
            self._known.move_to_end(key)
            while len(self._known) > _MOST:
                (length, _), _ = self._known.popitem(last=False)
                self._lengths[length] -= 1
                if self._lengths[length] == 0:
                    del self._lengths[length]


def _bytes(ids: np.ndarray | list[int]) -> bytes:
    return np.asarray(ids, np.int32).tobytes()
