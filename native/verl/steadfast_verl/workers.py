"""The ranks as one group: in this process, or Verl's own group over Ray.

A group dies as a whole. When a rank is lost, or raises, the rest is ended, and the next call begins a new group with
nothing but the base in it: every handle of the old one is then of no use (`alive`).
"""

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

from steadfast_protocol.faults import TrainerFault

from .turns import RANKS, Turns

T = TypeVar("T")

BASE = "base"


class Lost(Exception):
    """The group has died; what it held is gone."""


class Ranks(Protocol):
    """One life of a group."""

    def start(self, base: str) -> list[dict]:
        """Facts of each rank, which has loaded the model and keeps its weights as `base`."""
        ...

    def call(self, method: str, arguments: Sequence[tuple]) -> list:
        """Each rank's answer to `method`, with arguments of its own. Raises whatever went wrong with any of them."""
        ...

    def sleep(self) -> None:
        """Replicas on the same GPUs give up their memory. Asked for only where there are some."""
        ...

    def check(self) -> None:
        """Raises where a replica has died."""
        ...

    def end(self) -> None:
        """Ends what is left of it; never raises."""
        ...


class Weights:
    """A version of the weights in the ranks' memory; it leaves them with the last reference to this."""

    def __init__(self, name: str, life: int):
        self.name, self.life = name, life


class Workers:
    """`begin()` makes the ranks. Safe to call from several threads: one call runs at a time.

    `turns`: where replicas have the same GPUs, the ranks compute in a turn of their own.
    """

    def __init__(self, begin: Callable[[], Ranks], world: int, turns: Turns | None = None):
        self.world, self._turns = world, turns
        self._begin, self._ranks = begin, None
        self._lock = threading.RLock()
        self._life = 0
        self._numbers = itertools.count(1)
        self._unused: list[str] = []
        self._why = ""
        #: Facts of each rank, of the life that runs.
        self.facts: list[dict] = []

    def call(self, method: str, *arguments: object) -> list:
        """The same call on every rank. Raises `Lost`."""
        return self.call_each(method, [arguments] * self.world)

    def call_each(self, method: str, arguments: Sequence[tuple]) -> list:
        def calls(ranks: Ranks) -> list:
            unused = self._take_unused()
            if unused:
                ranks.call("drop", [(unused,)] * self.world)
            return ranks.call(method, arguments)

        with self._turn():
            return self.on_group(method, calls)

    def on_group(self, what: str, work: Callable[[Ranks], T]) -> T:
        """`work` on the group in its present life. Raises `Lost`: whatever it raises is the end of that life."""
        with self._lock:
            ranks = self._started()
            try:
                return work(ranks)
            except Exception as error:
                self._die(f"{what}: {type(error).__name__}: {error}")
                raise Lost(self._why) from error

    def check(self) -> None:
        """Ends the group where one of its replicas has died. Raises `Lost` when it did."""
        with self._lock:
            if self._ranks is not None:
                self.on_group("a replica", lambda ranks: ranks.check())

    def start(self) -> None:
        """Starts the ranks, if they are not there. Raises `Lost`."""
        with self._lock:
            self._started()

    def alive(self, weights: Weights) -> bool:
        """Whether the ranks still hold it. The base is loaded again by every life."""
        return self._ranks is not None and weights.life in (0, self._life) or weights.name == BASE

    def require(self, weights: Weights) -> None:
        """Raises `weights_unavailable`."""
        if not self.alive(weights):
            raise TrainerFault(
                "weights_unavailable",
                f"the ranks that held these weights have died ({self._why or 'long ago'})",
            )

    def new(self) -> Weights:
        """A handle of a version that is about to be made."""
        weights = Weights(f"v{next(self._numbers)}", self._life)
        weakref.finalize(weights, self._unused.append, weights.name)
        return weights

    def base(self) -> Weights:
        return Weights(BASE, 0)

    def end(self) -> None:
        with self._lock:
            if self._ranks is not None:
                self._ranks.end()
                self._ranks = None

    @property
    def life(self) -> int:
        return self._life

    def _started(self) -> Ranks:
        if self._ranks is None:
            self._life += 1
            self._unused.clear()
            try:
                ranks = self._ranks = self._begin()
                self.facts = ranks.start(BASE)
            except Exception as error:
                self._die(f"start: {type(error).__name__}: {error}")
                raise Lost(self._why) from error
            print(f"{self.world} ranks: {[fact['process'] for fact in self.facts]}", flush=True)
        return self._ranks

    def _turn(self) -> AbstractContextManager[None]:
        if self._turns is None:
            return nullcontext()
        return self._turns.of(RANKS, lambda: self.on_group("sleep", lambda ranks: ranks.sleep()))

    def _take_unused(self) -> list[str]:
        # Filled by the garbage collector, at any moment.
        return [self._unused.pop() for _ in range(len(self._unused))]

    def _die(self, why: str) -> None:
        self._why = why[:2000]
        print(f"the ranks are lost: {self._why}", flush=True)
        ranks, self._ranks = self._ranks, None
        if ranks is not None:
            ranks.end()
        if self._turns is not None:
            self._turns.forget()
