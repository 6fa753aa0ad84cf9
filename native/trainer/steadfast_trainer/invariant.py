"""Products whose every row has the same bytes at any batch size and position.

BLAS picks other code paths for other numbers of rows, so a row of `X @ W` changes in its last bits with its
neighbours. Two ways out, chosen by proof at start on this machine's kernel:

- rows in tiles of a fixed height (16, 8 or 4), padded: the same code path always, and three to four times faster
  than row by row;
- row by row, which holds everywhere.

Attention is one matrix-vector product per row and head, over a number of positions rounded up to a multiple of
`SPAN`; masked positions add exact zeros. Some kernels have a code path of their own for short vectors, so there is
a shortest length, found by proof too; where nothing shorter is exact, it is the whole context.
"""

from dataclasses import dataclass

import numpy as np

#: Attention lengths are multiples of this, and sums run over blocks of it, so that longer padding adds zeros only.
SPAN = 32


@dataclass(frozen=True)
class Invariance:
    """`tile`: rows of a product's tile, 1 is row by row. `shortest`: least number of positions attended over."""

    tile: int
    shortest: int

    def padded_rows(self, rows: int) -> int:
        return -(-rows // self.tile) * self.tile

    def product(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """x[N, I] @ weights[I, O] for N a multiple of the tile."""
        rows, width = x.shape
        return (x.reshape(rows // self.tile, self.tile, width) @ weights).reshape(rows, -1)

    def attention_length(self, positions: int, context: int) -> int:
        """Positions to attend over when the largest needed count is `positions`."""
        return min(context, max(self.shortest, -(-positions // SPAN) * SPAN))


def attend(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Mixed values [..., E] of queries[..., E] over keys and values[..., L, E]; mask broadcasts to [..., L], 0 or -inf."""
    scores = (keys @ queries[..., None])[..., 0]
    scores += mask
    scores -= scores.max(-1, keepdims=True)
    weights = np.exp(scores, out=scores)
    mixed = (weights[..., None, :] @ values)[..., 0, :]
    return mixed / _blocked_sum(weights)[..., None]


def _blocked_sum(x: np.ndarray) -> np.ndarray:
    """Sum over the last axis, block by block in order: zeros after the end change nothing."""
    blocks = x.reshape(*x.shape[:-1], -1, SPAN).sum(-1)
    return np.add.accumulate(blocks, axis=-1)[..., -1]


def prove(shapes: set[tuple[int, int]], head_width: int, context: int) -> Invariance:
    """The fastest way that is exact here, for products of these `shapes` (inputs, outputs)."""
    rng = np.random.default_rng(7)
    tile = next((t for t in (16, 8, 4) if all(_tile_holds(rng, t, shape) for shape in shapes)), 1)
    return Invariance(tile, _shortest_span(rng, head_width, context))


def _tile_holds(rng: np.random.Generator, tile: int, shape: tuple[int, int]) -> bool:
    """The same rows, rolled through every position of a tile among other neighbours, keep their bytes."""
    weights = rng.standard_normal(shape, dtype=np.float32)
    x = rng.standard_normal((tile, shape[0]), dtype=np.float32)
    way = Invariance(tile, SPAN)
    expected = way.product(x, weights)
    for shift in range(tile):
        other = np.roll(np.concatenate((x, x[::-1] * 3)), shift, axis=0)
        if np.roll(way.product(other, weights), -shift, axis=0)[:tile].tobytes() != expected.tobytes():
            return False
    return True


def _shortest_span(rng: np.random.Generator, width: int, context: int) -> int:
    """Least length from which on attention over n positions has the same bytes at every length and batch size."""
    keys, values = (rng.standard_normal((3, 2, context, width), dtype=np.float32) for _ in range(2))
    queries = rng.standard_normal((3, 2, width), dtype=np.float32)
    shortest = SPAN
    for count in (1, 2, 7, 16, 31, 32, 33, 64, 100, 129, 200):
        if count > context:
            continue
        mask = np.where(np.arange(context) < count, np.float32(0), np.float32(-np.inf))
        expected = attend(queries, keys, values, mask)
        for length in range(-(-count // SPAN) * SPAN, context, SPAN):
            for rows in (1, 3):
                got = attend(
                    queries[:rows], keys[:rows, :, :length], values[:rows, :, :length], mask[:length]
                )
                if got.tobytes() != expected[:rows].tobytes():
                    shortest = max(shortest, length + SPAN)
    return min(shortest, context)
