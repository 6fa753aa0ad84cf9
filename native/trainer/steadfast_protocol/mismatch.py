"""Sampler against trainer: how far the recorded log-probabilities are from the trainer's own, and the bound on it."""

from dataclasses import dataclass

import numpy as np

from .faults import TrainerFault
from .plan import MismatchBound


@dataclass(frozen=True)
class Mismatch:
    """|trainer - sampler| of sampled tokens in nats, and the share whose ratio lies outside [0.9, 1.1]."""

    mean: float
    largest: float
    share: float

    @classmethod
    def between(cls, trainer: np.ndarray, sampler: np.ndarray) -> "Mismatch":
        """Both [N], log-probabilities of the same tokens."""
        difference = (trainer - sampler).astype(np.float64)
        ratio = np.exp(difference)
        return cls(
            float(np.abs(difference).mean()),
            float(np.abs(difference).max()),
            float(((ratio < 0.9) | (ratio > 1.1)).mean()),
        )

    def metrics(self) -> dict[str, float]:
        """By the names of `UpdateReport`."""
        return {"mismatchMean": self.mean, "mismatchMax": self.largest, "mismatchShare": self.share}

    def require(self, bound: MismatchBound | None) -> None:
        """Raises `off_policy` with the figures as its details. NaN is beyond every bound."""
        if bound is None or (self.mean <= bound.mean_above and self.share <= bound.share_above):
            return
        message = (
            f"off policy: sampler and trainer differ by {self.mean:.4g} nats a token on average "
            f"(bound {bound.mean_above:g}), and {100 * self.share:.3g} % of the sampled tokens have a ratio "
            f"outside [0.9, 1.1] (bound {100 * bound.share_above:g} %); no weight was changed"
        )
        # JSON has no word for what is not finite.
        finite = {name: value for name, value in self.metrics().items() if np.isfinite(value)}
        raise TrainerFault("off_policy", message, finite)
