"""Choosing the next token: temperature, top-k, top-p, with randomness from (seed, position) alone.

No generator is shared between requests: the number used at a position is a hash of the request's seed and the
position in the sequence, so a request samples the same tokens whatever runs beside it.
"""

from dataclasses import dataclass

import numpy as np

#: Candidates kept by the fast path. Fixed, so that ties at its edge do not depend on other requests of the batch.
CANDIDATES = 32

_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class SamplingOptions:
    """`temperature` 0 is greedy; `top_k` 0 is off; `top_p` 1 is off. `seed` is any 64-bit integer."""

    temperature: float
    top_k: int
    top_p: float
    seed: int


def uniform(seed: int, position: int) -> float:
    """In [0, 1), 53 bits: the splitmix64 finaliser (Steele, Lea, Flood 2014) over seed and position."""
    z = (_mix(seed & _MASK) + 0x9E3779B97F4A7C15 * (position + 1)) & _MASK
    return (_mix(z) >> 11) * 2.0**-53


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def sample(
    logits: np.ndarray, options: list[SamplingOptions], positions: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Token [N] and its log-probability [N] float32 (full softmax at temperature 1) for logits[N, V].

    Top-k first, then top-p on what is left, renormalised, as vLLM does. Equal logits rank by token id.
    """
    rows = np.arange(len(logits))
    shifted = logits - logits.max(-1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(-1))
    narrow = logits.shape[1] > CANDIDATES and all(
        o.temperature == 0 or 0 < o.top_k <= CANDIDATES for o in options
    )
    if narrow:
        ids = np.argpartition(-shifted, CANDIDATES - 1, axis=-1)[:, :CANDIDATES]
        ids.sort(axis=-1)
        values = shifted[rows[:, None], ids]
        order = np.argsort(-values, axis=-1, kind="stable")
        ids, values = ids[rows[:, None], order], values[rows[:, None], order]
    elif len(options) > 1:
        parts = [sample(logits[i : i + 1], [options[i]], [positions[i]]) for i in range(len(options))]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    else:
        ids = np.argsort(-shifted, axis=-1, kind="stable")
        values = shifted[rows[:, None], ids]
    picked = _pick(values, options, positions)
    tokens = ids[rows, picked]
    return tokens, shifted[rows, tokens] - log_total


def _pick(values: np.ndarray, options: list[SamplingOptions], positions: list[int]) -> np.ndarray:
    """Index into values[N, K] (descending) for each row."""
    width = values.shape[1]
    temperature = np.array([o.temperature or 1.0 for o in options])[:, None]
    top_k = np.array([1 if o.temperature == 0 else min(o.top_k or width, width) for o in options])[:, None]
    top_p = np.array([o.top_p for o in options])[:, None]
    draws = np.array([uniform(o.seed, position) for o, position in zip(options, positions, strict=True)])[
        :, None
    ]
    weights = np.exp((values - values[:, :1]) / temperature)
    weights[np.arange(width) >= top_k] = 0
    reached = np.cumsum(weights, axis=-1)
    # A token is kept while the mass before it is below top-p; the first always is.
    kept = (reached - weights < top_p * reached[:, -1:]) & (weights > 0)
    kept[:, 0] = True
    last = kept.sum(-1) - 1
    mass = reached[np.arange(len(reached)), last][:, None]
    return np.minimum((reached <= draws * mass).sum(-1), last)
