"""Episodes of different lengths as padded micro-batches of about equal work."""

from collections.abc import Iterator, Sequence

import numpy as np

#: Positions of a micro-batch, padding included: its activations stay within the second-level cache's reach.
POSITIONS = 1024


def micro_batches(lengths: Sequence[int], positions: int = POSITIONS) -> Iterator[np.ndarray]:
    """Indices of sequences, longest first (ties by index), each group within `positions` when padded."""
    order = np.argsort(-np.asarray(lengths), kind="stable")
    start = 0
    while start < len(order):
        count = max(1, positions // max(1, int(lengths[order[start]])))
        yield order[start : start + count]
        start += count


def pad(sequences: Sequence[np.ndarray]) -> np.ndarray:
    """int32 [B, L], zeros at the end."""
    ids = np.zeros((len(sequences), max(len(s) for s in sequences)), np.int32)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
    return ids
