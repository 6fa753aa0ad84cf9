"""Random episodes of several turns each."""

import numpy as np

from steadfast_protocol.batch import Episode

VOCABULARY = 97


def episodes(count: int = 5, seed: int = 3, longest: int = 60) -> list[Episode]:
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        length = int(rng.integers(12, longest))
        sampled = rng.random(length) < 0.4
        sampled[0], sampled[5] = False, True
        logprobs = np.where(sampled, -4 * rng.random(length), 0).astype(np.float32)
        ids = rng.integers(0, VOCABULARY, length).astype(np.int32)
        made.append(Episode(f"episode {number}", ids, sampled, logprobs, float(rng.standard_normal())))
    return made
