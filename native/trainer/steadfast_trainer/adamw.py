"""AdamW (Loshchilov and Hutter, 2019) over one flat vector, with decoupled weight decay on every parameter."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .model import ModelConfig, Parameters

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class OptimizerState:
    """First and second moments (same layout as the weights) and the number of steps taken."""

    first: Parameters
    second: Parameters
    steps: int

    @classmethod
    def fresh(cls, config: ModelConfig) -> "OptimizerState":
        return cls(Parameters(config), Parameters(config), 0)

    @classmethod
    def from_tensors(cls, config: ModelConfig, tensors: Mapping[str, np.ndarray]) -> "OptimizerState":
        """From a copy of what `tensors` gives."""
        moments = [
            Parameters.from_tensors(
                config,
                {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)},
                "optimizer",
            )
            for prefix in ("first.", "second.")
        ]
        return cls(*moments, int(tensors["steps"][0]))

    def tensors(self) -> dict[str, np.ndarray]:
        """As saved: `first.<name>`, `second.<name>` and `steps` (one float32, exact below 2^24)."""
        tensors = {f"first.{name}": tensor for name, tensor in self.first.tensors.items()}
        tensors |= {f"second.{name}": tensor for name, tensor in self.second.tensors.items()}
        return tensors | {"steps": np.array([self.steps], np.float32)}


def clip_by_norm(gradient: Parameters, limit: float) -> float:
    """Scales `gradient` down to `limit` where its norm is larger; returns the norm before."""
    norm = float(np.sqrt(np.dot(gradient.flat, gradient.flat)))
    if norm > limit:
        gradient.flat *= np.float32(limit / norm)
    return norm


def adamw_step(
    weights: Parameters,
    gradient: Parameters,
    state: OptimizerState,
    learning_rate: float,
    weight_decay: float,
) -> tuple[Parameters, OptimizerState]:
    """New weights and state; the arguments are left as they are, so that a failed step changes nothing."""
    steps = state.steps + 1
    g = gradient.flat
    first = state.first.flat * np.float32(BETA1) + g * np.float32(1 - BETA1)
    second = state.second.flat * np.float32(BETA2) + np.square(g) * np.float32(1 - BETA2)
    root = np.sqrt(second / np.float32(1 - BETA2**steps)) + np.float32(EPSILON)
    change = first / root * np.float32(learning_rate / (1 - BETA1**steps))
    flat = weights.flat * np.float32(1 - learning_rate * weight_decay) - change
    config = weights.config
    return Parameters(config, flat), OptimizerState(
        Parameters(config, first), Parameters(config, second), steps
    )
