"""Keys and values of earlier sequences, found again by their token ids.

A later turn's prompt begins with the earlier prompt and what was sampled, and siblings of a group share their
first prompt. Keys and values at a position depend on the ids up to it alone, so any common prefix can be reused.
Entries are found by a chain of hashes over blocks of `BLOCK` ids; the ids themselves decide. Least recently used
entries leave when the bytes exceed the bound. Without the cache every result is the same, only later.
"""

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

BLOCK = 8


@dataclass(eq=False)
class Entry:
    """ids[n] and the keys and values computed for them: each [layers, heads, n, head width]."""

    weights: str
    ids: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    chain: list[int]

    @property
    def size(self) -> int:
        return self.keys.nbytes + self.values.nbytes


class PrefixCache:
    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self.bytes = 0
        self.hits = 0
        self.misses = 0
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._by_block: dict[int, Entry] = {}

    def find(self, weights: str, ids: np.ndarray) -> tuple[Entry, int] | None:
        """The entry with the longest common prefix, and that prefix's length; never all of `ids`."""
        found = None
        for link in _chain(weights, ids):
            entry = self._by_block.get(link)
            if entry is None:
                break
            found = entry
        if found is None or found.weights != weights:
            self.misses += 1
            return None
        limit = min(len(found.ids), len(ids) - 1)
        differing = np.nonzero(found.ids[:limit] != ids[:limit])[0]
        length = int(differing[0]) if len(differing) else limit
        self._entries.move_to_end(id(found))
        self.hits += 1
        return (found, length) if length else None

    def put(self, weights: str, ids: np.ndarray, keys: np.ndarray, values: np.ndarray) -> None:
        entry = Entry(weights, ids, keys, values, list(_chain(weights, ids)))
        self._entries[id(entry)] = entry
        self.bytes += entry.size
        for link in entry.chain:
            self._by_block[link] = entry
        while self.bytes > self.max_bytes and len(self._entries) > 1:
            self._drop(next(iter(self._entries)))

    def forget(self, weights: str) -> None:
        """Drops every entry of these weights."""
        for key in [key for key, entry in self._entries.items() if entry.weights == weights]:
            self._drop(key)

    def _drop(self, key: int) -> None:
        entry = self._entries.pop(key)
        self.bytes -= entry.size
        for link in entry.chain:
            if self._by_block.get(link) is entry:
                del self._by_block[link]


def _chain(weights: str, ids: np.ndarray):
    """One hash per full block, each over everything before it."""
    data, step = ids.tobytes(), BLOCK * ids.itemsize
    link = hash(weights)
    for end in range(step, len(data) + 1, step):
        link = hash((link, data[end - step : end]))
        yield link
