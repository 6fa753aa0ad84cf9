"""Continuous batching: one step feeds every running sequence, whatever turn of whatever episode it is.

Objects: a `Request` waits in `Engine._waiting`, takes a row of the pool (keys and values of R rows, kept dense so
that attention reads a slice without copying), is fed its prompt in chunks and then its own samples, and leaves
its keys and values to the prefix cache. A step's rows are: the last fed position of every sequence (in row order,
attended together), then the other prompt positions (attended per sequence). Every product goes through
`invariant`, so none of this shows in the results.
"""

from dataclasses import dataclass

import numpy as np

from steadfast_protocol.samplers import Request
from steadfast_protocol.sampling import sample

from .invariant import Invariance, attend
from .model import NORM_EPS, ModelConfig, Parameters, rotary_tables
from .prefix_cache import PrefixCache

#: Prompt positions fed in one step, over all sequences: bounds how long a step keeps others waiting.
PROMPT_POSITIONS = 256


@dataclass(eq=False)
class Running:
    """One row of the pool: its first `known` ids are decided, the first `fed` have their keys and values."""

    request: Request
    known: int
    fed: int


class Engine:
    """Samples from one set of weights. Not thread-safe: one thread submits and steps."""

    def __init__(self, name: str, weights: Parameters, way: Invariance, cache: PrefixCache | None, rows: int):
        c = weights.config
        self.name, self.config, self.rows = name, c, rows
        self._way, self._cache = way, cache
        self._cos, self._sin = (table[:, None, None, :] for table in rotary_tables(c))
        self._mask = np.triu(np.full((c.context, c.context), -np.inf, np.float32), 1)
        self._embed, self._embed_previous = weights["embed.token"], weights["embed.previous"]
        # Norm gains and the attention scale are folded into the product that follows them.
        self._head = _scaled(weights["norm"], weights["head"])
        self._layers = []
        for layer in range(c.layers):
            name = f"layers.{layer}."
            qkv = _scaled(weights[name + "norm1"], weights[name + "qkv"])
            qkv[:, : c.width] *= np.float32(c.head_width**-0.5)
            up = _scaled(weights[name + "norm2"], weights[name + "up"])
            self._layers.append((qkv, weights[name + "out"], up, weights[name + "down"]))
        self._ids = np.zeros((rows, c.context + 1), np.int32)
        self._keys: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._running: list[Running] = []
        self._waiting: list[Request] = []

    @property
    def busy(self) -> bool:
        return bool(self._running or self._waiting)

    def submit(self, request: Request) -> None:
        """The prompt must hold 1 .. context tokens below the vocabulary size (`score`: up to context)."""
        self._waiting.append(request)

    def cancel(self, request: Request) -> None:
        if request.finish is None:
            request.finish = "cancelled"

    def release_pool(self) -> None:
        """Gives the pool's memory back while nothing runs; the next request allocates it again."""
        if not self._running:
            self._keys, self._values = [], []

    def step(self) -> list[Request]:
        """Feeds every running sequence once; returns the requests that finished."""
        self._drop_cancelled()
        self._admit()
        if not self._running:
            return []
        self._feed(self._share())
        finished = []
        for row in range(len(self._running) - 1, -1, -1):
            running = self._running[row]
            if running.request.finish is not None:
                finished.append(running.request)
                self._leave(row)
        return finished

    def _drop_cancelled(self) -> None:
        self._waiting = [r for r in self._waiting if r.finish is None]
        for row in range(len(self._running) - 1, -1, -1):
            if self._running[row].request.finish is not None:
                self._leave(row)

    def _admit(self) -> None:
        c = self.config
        while self._waiting and len(self._running) < self.rows:
            request = self._waiting.pop(0)
            if not self._keys:
                shape = (self.rows, c.heads, c.context, c.head_width)
                self._keys = [np.zeros(shape, np.float32) for _ in range(c.layers)]
                self._values = [np.zeros(shape, np.float32) for _ in range(c.layers)]
            row, count = len(self._running), len(request.prompt)
            self._ids[row, :count] = request.prompt
            found = self._cache.find(self.name, request.prompt) if self._cache and not request.score else None
            if found:
                entry, request.cached = found
                for layer in range(c.layers):
                    self._keys[layer][row, :, : request.cached] = entry.keys[layer, :, : request.cached]
                    self._values[layer][row, :, : request.cached] = entry.values[layer, :, : request.cached]
            self._running.append(Running(request, count, request.cached))

    def _share(self) -> list[int]:
        """Positions to feed per row, at least one each, within the step's budget of prompt positions."""
        left, counts = PROMPT_POSITIONS, []
        for running in self._running:
            count = max(1, min(running.known - running.fed, left))
            left = max(0, left - count + 1)
            counts.append(count)
        return counts

    def _feed(self, counts: list[int]) -> None:
        batch = len(counts)
        lasts = [r.fed + n - 1 for r, n in zip(self._running, counts, strict=True)]
        slots, positions = list(range(batch)), list(lasts)
        extras: list[tuple[int, int, int]] = []
        for row, (running, count) in enumerate(zip(self._running, counts, strict=True)):
            if count > 1:
                extras.append((row, len(slots), count - 1))
                slots += [row] * (count - 1)
                positions += range(running.fed, running.fed + count - 1)
        hidden = self._forward(np.array(slots), np.array(positions), batch, extras)
        for running, count in zip(self._running, counts, strict=True):
            running.fed += count
        scored = [row for row in range(batch) if self._running[row].request.score]
        for row in scored:
            self._score(row, counts[row], lasts[row], hidden, extras)
        ready = [
            r for r in range(batch) if self._running[r].fed == self._running[r].known and r not in scored
        ]
        if ready:
            self._sample(ready, hidden[ready])

    def _forward(
        self, slots: np.ndarray, positions: np.ndarray, batch: int, extras: list[tuple[int, int, int]]
    ) -> np.ndarray:
        """Last layer's output [rows, D]; writes the keys and values of (slots, positions) into the pool."""
        c, way, count = self.config, self._way, len(slots)
        padded = way.padded_rows(count)
        x = np.zeros((padded, c.width), np.float32)
        previous = self._ids[slots, positions - 1]
        previous[positions == 0] = 0
        x[:count] = self._embed[self._ids[slots, positions]] + self._embed_previous[previous]
        cos, sin = self._cos[positions], self._sin[positions]
        half = c.head_width // 2
        length = way.attention_length(int(positions[:batch].max()) + 1, c.context)
        mask = self._mask[positions[:batch], :length][:, None]
        mixed = np.zeros((padded, c.heads, c.head_width), np.float32)
        for layer, (w_qkv, w_out, w_up, w_down) in enumerate(self._layers):
            qkv = way.product(_normalise(x), w_qkv)[:count].reshape(count, 3, c.heads, c.head_width)
            first, second = qkv[:, :2, :, :half], qkv[:, :2, :, half:]
            turned = np.concatenate((first * cos - second * sin, first * sin + second * cos), axis=-1)
            keys, values = self._keys[layer], self._values[layer]
            keys[slots, :, positions] = turned[:, 1]
            values[slots, :, positions] = qkv[:, 2]
            mixed[:batch] = attend(
                turned[:batch, 0], keys[:batch, :, :length], values[:batch, :, :length], mask
            )
            for row, start, extra in extras:
                at = positions[start : start + extra]
                span = way.attention_length(int(at[-1]) + 1, c.context)
                mixed[start : start + extra] = attend(
                    turned[start : start + extra, 0],
                    keys[row][None, :, :span],
                    values[row][None, :, :span],
                    self._mask[at, :span][:, None],
                )
            x += way.product(mixed.reshape(padded, c.width), w_out)
            up = way.product(_normalise(x), w_up)
            np.maximum(up, 0, out=up)
            np.square(up, out=up)
            x += way.product(up, w_down)
        return x[:count]

    def _logits(self, hidden: np.ndarray) -> np.ndarray:
        count = len(hidden)
        rows = np.zeros((self._way.padded_rows(count), self.config.width), np.float32)
        rows[:count] = hidden
        return self._way.product(_normalise(rows), self._head)[:count]

    def _sample(self, ready: list[int], hidden: np.ndarray) -> None:
        running = [self._running[row] for row in ready]
        tokens, logprobs = sample(
            self._logits(hidden), [r.request.options for r in running], [r.known for r in running]
        )
        for row, token, logprob in zip(ready, tokens.tolist(), logprobs.tolist(), strict=True):
            r = self._running[row]
            request = r.request
            request.tokens.append(token)
            request.logprobs.append(logprob)
            self._ids[row, r.known] = token
            r.known += 1
            if token in request.stop:
                request.finish = "stop"
            elif len(request.tokens) >= request.max_tokens or r.known > self.config.context:
                request.finish = "length"

    def _score(
        self, row: int, count: int, last: int, hidden: np.ndarray, extras: list[tuple[int, int, int]]
    ) -> None:
        """Appends log-probabilities of the prompt's next tokens at the positions fed in this step."""
        running = self._running[row]
        start = next((start for at, start, _ in extras if at == row), 0)
        rows = [*range(start, start + count - 1), row]
        logits = self._logits(hidden[rows])
        shifted = logits - logits.max(-1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(-1))[:, None]
        for offset, position in enumerate(range(last - count + 1, last + 1)):
            if position + 1 < running.known:
                running.request.logprobs.append(float(logs[offset, self._ids[row, position + 1]]))
        if running.fed == running.known:
            running.request.finish = "stop"

    def _leave(self, row: int) -> None:
        """Frees a row: its keys and values go to the prefix cache, and the last row moves into the gap."""
        running, end = self._running[row], len(self._running) - 1
        if self._cache is not None and running.fed > running.request.cached and not running.request.score:
            keys = np.stack([keys[row, :, : running.fed] for keys in self._keys])
            values = np.stack([values[row, :, : running.fed] for values in self._values])
            self._cache.put(self.name, self._ids[row, : running.fed].copy(), keys, values)
        if row != end:
            moved = self._running[end]
            for pool in (*self._keys, *self._values):
                pool[row, :, : moved.fed] = pool[end, :, : moved.fed]
            self._ids[row] = self._ids[end]
            self._running[row] = moved
        self._running.pop()


def _scaled(gain: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(gain[:, None] * weights)


def _normalise(x: np.ndarray) -> np.ndarray:
    """Each row over its root mean square."""
    squares = np.square(x).sum(-1, keepdims=True)
    return x / np.sqrt(squares / np.float32(x.shape[-1]) + NORM_EPS)


def product_shapes(config: ModelConfig) -> set[tuple[int, int]]:
    """(inputs, outputs) of every product that `_forward` and `_logits` make, for `invariant.prove`."""
    d, f = config.width, config.feed
    return {(d, 3 * d), (d, d), (d, f), (f, d), (d, config.vocab)}
