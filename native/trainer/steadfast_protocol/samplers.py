"""What a sampler is to the rest: weights by their digest, and requests to them."""

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from .sampling import SamplingOptions

W = TypeVar("W")


@dataclass(eq=False)
class Request:
    """What to sample after `prompt`, or (`score`) the log-probabilities of the prompt itself."""

    prompt: np.ndarray
    options: SamplingOptions
    max_tokens: int
    stop: frozenset[int]
    score: bool = False
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    #: `stop`, `length` or, when it was withdrawn, `cancelled`.
    finish: str | None = None
    cached: int = 0


class Sampler(Protocol[W]):
    """Called on the event loop. Every call by name raises `weights_unavailable` for weights that are not here."""

    def names(self) -> list[str]: ...

    def weights(self, name: str) -> W: ...

    async def publish(self, name: str, weights: W) -> None:
        """Makes the weights of the training session samplable; they stay until others are published."""
        ...

    async def serve(self, name: str, weights: W) -> None:
        """Makes weights samplable until `release`, called as often as `serve`."""
        ...

    async def release(self, name: str) -> None:
        """Gives up one lease; unknown names are fine, since a repeated call finds them gone."""
        ...

    async def run(self, name: str, request: Request) -> Request:
        """The finished request."""
        ...
