"""Whose turn it is on GPUs that are shared: the ranks', or that of one version of the weights in the replicas.

Any number may be in a turn together. It ends when somebody else waits and the last one has left. Turns come in the order in
which they were asked for, and all who wait for one begin together: nobody waits for ever, and a change of weights is not
paid anew for every request.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

RANKS = "ranks"


class Left(Exception):
    """Whoever waited for this turn has gone away."""


class Turns:
    """Safe to use from any thread."""

    def __init__(self) -> None:
        self._state = threading.Condition()
        self._current: Hashable | None = None
        self._inside = 0
        self._changing = False
        #: How often `forget` was called.
        self._forgotten = 0
        #: Turns that are waited for, in order, and by how many.
        self._waiting: OrderedDict[Hashable, int] = OrderedDict()

    @contextmanager
    def of(
        self, turn: Hashable, begin: Callable[[], None], gone: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Waits for `turn`; the first one in it calls `begin`, while nobody else has the GPUs. Raises what that raises.

        Raises `Left` when `gone()` is true before (`look_again` makes it look).
        """
        self._enter(turn, begin, gone)
        try:
            yield
        finally:
            with self._state:
                self._inside -= 1
                self._state.notify_all()

    def forget(self) -> None:
        """The GPUs are nobody's any more: whoever comes next begins its turn anew."""
        with self._state:
            self._current = None
            self._forgotten += 1
            self._state.notify_all()

    def look_again(self) -> None:
        with self._state:
            self._state.notify_all()

    def _enter(self, turn: Hashable, begin: Callable[[], None], gone: Callable[[], bool]) -> None:
        while True:
            with self._state:
                self._wait(turn, gone)
                if self._current == turn:
                    self._inside += 1
                    return
                self._current, self._changing, before = None, True, self._forgotten
            begun = False
            try:
                begin()
                begun = True
            finally:
                with self._state:
                    self._changing = False
                    # What was begun may have died in the meantime; then it is begun again.
                    entered = begun and self._forgotten == before
                    if entered:
                        self._current = turn
                        self._inside += 1
                    self._state.notify_all()
            if entered:
                return

    def _wait(self, turn: Hashable, gone: Callable[[], bool]) -> None:
        """Until this turn is there, or may begin."""
        if not self._waiting and self._may(turn):
            return
        self._waiting[turn] = self._waiting.get(turn, 0) + 1
        try:
            while next(iter(self._waiting)) != turn or not self._may(turn):
                if gone():
                    raise Left
                self._state.wait()
        finally:
            self._waiting[turn] -= 1
            if self._waiting[turn] == 0:
                del self._waiting[turn]
            self._state.notify_all()

    def _may(self, turn: Hashable) -> bool:
        return not self._changing and (self._current == turn or self._inside == 0)
