"""What differs between trainers: weights `W`, optimizer state `O`, and one update of them.

Tensors cross this interface as NumPy float32 by name: checkpoints, digests and shapes are the same for all. A mapping
may make each array when it is asked for, so that weights on a device never lie in memory as a whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from .batch import Episode
from .plan import Plan

W = TypeVar("W")
O = TypeVar("O")  # noqa: E741

Tensors = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class UpdateResult(Generic[W, O]):
    weights: W
    optimizer: O
    #: The numbers of `UpdateReport`, by its names.
    metrics: dict[str, float | int | bool]


class HalfDone(Exception):
    """A learner that changes its state in place failed in the middle: what it holds is neither old nor new."""


class Learner(Protocol[W, O]):
    """Called from one thread, one call at a time."""

    #: Everything a checkpoint must share with its reader: implementation, format, shape, tokenizer.
    build: str
    #: Token ids are below it; tokens of one sequence are at most `context`.
    vocab: int
    context: int
    base: W
    base_digest: str

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Every tensor that is trained, as digests and checkpoints name it."""
        ...

    def fresh_optimizer(self) -> O: ...

    def weight_tensors(self, weights: W) -> Tensors: ...

    def optimizer_tensors(self, optimizer: O) -> Tensors:
        """`first.<name>` and `second.<name>` of every weight, and `steps`, one float32."""
        ...

    def load_weights(self, tensors: Tensors) -> W:
        """Copies tensors of `shapes`: they may be views of a file that goes away."""
        ...

    def load_optimizer(self, tensors: Tensors) -> O: ...

    def update(self, weights: W, optimizer: O, episodes: list[Episode], plan: Plan) -> UpdateResult[W, O]:
        """Forward, backward and optimizer step. `weights` stay as they are: they may be sampled from.

        Raises `TrainerFault` and has then changed nothing, or `HalfDone`.
        """
        ...

    def sequence_logprobs(self, weights: W, sequences: list[np.ndarray]) -> list[list[float]]:
        """Log-probabilities of each sequence's tokens from the second on, by the training pass."""
        ...

    def numerics(self) -> dict[str, str]:
        """Facts that decide the bytes of a result."""
        ...

    def capabilities(self) -> dict[str, object]:
        """What `capabilities` says of this trainer alone: kind, model, limits, sampling, mismatch bound."""
        ...
