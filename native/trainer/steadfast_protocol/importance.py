"""Truncated importance weights, by which the old policy stands in for the one that sampled."""

import numpy as np


def importance_weights(old: np.ndarray, sampler: np.ndarray, cap: float) -> np.ndarray:
    """min(exp(old - sampler), cap) of float32 log-probabilities [N] of the same tokens.

    The exponent is cut first, so that no difference overflows.
    """
    most = np.float32(cap)
    return np.minimum(np.exp(np.minimum(old - sampler, np.log(most))), most)


def importance_metrics(weights: np.ndarray, cap: float) -> dict[str, float]:
    """Of all sampled tokens of a batch, by the names of `UpdateReport`."""
    return {
        "importanceMean": float(weights.mean(dtype=np.float64)),
        "importanceCapped": float((weights >= np.float32(cap)).mean()),
    }
