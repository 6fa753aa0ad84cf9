"""AdamW (Loshchilov and Hutter, 2019) with decoupled weight decay on every parameter, as the embedded trainer has it."""

from dataclasses import dataclass

import numpy as np
import torch

from steadfast_protocol.learner import HalfDone
from steadfast_protocol.stored import Tensors

from .weights import Arrays, Weights, copied

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@dataclass
class Moments:
    """First and second moments by parameter name, and the steps taken. Changed in place: they are most of the memory."""

    first: Weights
    second: Weights
    steps: int

    @classmethod
    def fresh(cls, weights: Weights) -> "Moments":
        zeros = [{name: torch.zeros_like(tensor) for name, tensor in weights.items()} for _ in range(2)]
        return cls(*zeros, 0)

    @classmethod
    def load(cls, tensors: Tensors, device: torch.device) -> "Moments":
        parts = [
            {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
            for prefix in ("first.", "second.")
        ]
        return cls(*(copied(part, device) for part in parts), int(tensors["steps"][0]))

    def tensors(self) -> Tensors:
        """As saved: `first.<name>`, `second.<name>` and `steps` (one float32, exact below 2^24)."""
        named = {f"first.{name}": tensor for name, tensor in self.first.items()}
        named |= {f"second.{name}": tensor for name, tensor in self.second.items()}
        return Arrays(named | {"steps": torch.from_numpy(np.array([self.steps], np.float32))})


def norm_of(gradient: Weights) -> float:
    """Square root of the sum of all squares, summed in float64."""
    squares = [tensor.double().square().sum() for tensor in gradient.values()]
    return float(torch.stack(squares).sum().sqrt()) if squares else 0.0


def adamw_step(
    weights: Weights,
    gradient: Weights,
    state: Moments,
    scale: float,
    learning_rate: float,
    weight_decay: float,
) -> Weights:
    """New weights; `state` is changed. What has no gradient stays as it is. Raises `HalfDone`."""
    steps = state.steps + 1
    first_share, second_share = 1 - BETA1**steps, 1 - BETA2**steps
    new: Weights = {}
    try:
        for name, weight in weights.items():
            if name not in gradient:
                new[name] = weight
                continue
            g = gradient[name].mul_(scale)
            first = state.first[name].mul_(BETA1).add_(g, alpha=1 - BETA1)
            second = state.second[name].mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
            root = (second / second_share).sqrt_().add_(EPSILON)
            new[name] = (weight * (1 - learning_rate * weight_decay)).addcdiv_(
                first, root, value=-learning_rate / first_share
            )
        state.steps = steps
    except Exception as error:
        raise HalfDone(f"the optimizer step failed in the middle: {error}") from error
    return new
