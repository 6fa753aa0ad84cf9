"""Checkpoints: each rank writes its own shards in Verl's layout, and says what it wrote (`steadfast_protocol.stored`)."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.stored import Buffer, Loaded

from .digests import joined_digest
from .worker import Refused
from .workers import Lost, Weights, Workers


@dataclass(frozen=True)
class Moments:
    """The optimizer's state is in the ranks, and changes in place: this says only in which life of them."""

    life: int


class ShardedStored:
    """Folders must be visible to every rank under the same path."""

    def __init__(self, workers: Workers):
        self._workers = workers

    def weight_digest(self, weights: Weights) -> str:
        return joined_digest(self._call("weight_hashes", weights.name))

    def optimizer_digest(self, optimizer: Moments) -> str:
        return joined_digest(self._call("moment_hashes"))

    def holds(self, weights: Weights) -> bool:
        return self._workers.alive(weights)

    def names(self) -> Sequence[str]:
        return self._call("files")[0]

    def write(self, folder: str, weights: Weights, optimizer: Moments) -> list[dict[str, int | str]]:
        answers = self._call("save", weights.name, folder)
        if isinstance(answers[0], Refused):
            raise OSError(answers[0].number, answers[0].message)
        return [entry for entries in answers for entry in entries]

    def read(self, path: str, contents: Mapping[str, Buffer]) -> Loaded[Weights, Moments]:
        answers = self._call("stage", os.path.abspath(path))
        if isinstance(answers[0], Refused):
            raise ValueError(answers[0].message)
        weights, moments = ([answer[part] for answer in answers] for part in (0, 1))
        return Loaded(
            joined_digest(weights),
            joined_digest(moments),
            self._take_weights,
            self._take_optimizer,
            lambda: self._workers.call("leave_staged"),
        )

    def _take_weights(self) -> Weights:
        weights = self._workers.new()
        self._call("take_weights", weights.name)
        return weights

    def _take_optimizer(self) -> Moments:
        self._call("take_optimizer")
        return Moments(self._workers.life)

    def _call(self, method: str, *arguments: object) -> list:
        try:
            return self._workers.call(method, *arguments)
        except Lost as error:
            raise TrainerFault("not_open", f"the ranks were lost: {error}") from error
