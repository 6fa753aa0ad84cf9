"""What differs between trainers: weights `W`, optimizer state `O`, and one update of them.

How a state becomes digests and files is `stored` (steadfast_protocol.stored): the same for all trainers whose tensors
are in one process, and a learner's own where they are spread over many.
"""

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from .batch import Episode
from .plan import Plan
from .stored import Stored

W = TypeVar("W")
O = TypeVar("O")  # noqa: E741


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
    stored: Stored[W, O]

    def fresh_optimizer(self) -> O: ...

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
