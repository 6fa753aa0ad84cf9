"""The weights that can be sampled from: the published ones, those that are leased, and the few used last."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from steadfast_protocol.faults import TrainerFault

W = TypeVar("W")


@dataclass
class Version(Generic[W]):
    weights: W
    #: How often `serve` was asked for it and not released.
    leases: int = 0
    #: Requests that are being answered.
    running: int = 0


class Versions(Generic[W]):
    """`gone` is told of each version that leaves. Used from the event loop alone."""

    def __init__(self, most: int, gone: Callable[[str], None]):
        self._most, self._gone = most, gone
        self._known: OrderedDict[str, Version[W]] = OrderedDict()
        self._published: str | None = None

    def names(self) -> list[str]:
        return list(self._known)

    def __getitem__(self, name: str) -> Version[W]:
        """Raises `weights_unavailable`."""
        version = self._known.get(name)
        if version is None:
            raise TrainerFault(
                "weights_unavailable", f"weights {name} are not loaded; loaded: {self.names()}"
            )
        self._known.move_to_end(name)
        return version

    def publish(self, name: str, weights: W) -> None:
        self._published = name
        self._add(name, weights)

    def serve(self, name: str, weights: W) -> None:
        self._add(name, weights).leases += 1

    def release(self, name: str) -> None:
        version = self._known.get(name)
        if version is None:
            return
        version.leases = max(0, version.leases - 1)
        if version.leases == 0 and name != self._published and version.running == 0:
            self._remove(name)

    def _add(self, name: str, weights: W) -> Version[W]:
        version = self._known.setdefault(name, Version(weights))
        # Those of before may have been lost with the processes that held them.
        version.weights = weights
        self._known.move_to_end(name)
        while len(self._known) > self._most:
            free = [n for n, v in self._known.items() if v.running == 0 and n not in (name, self._published)]
            if not free:
                break
            # The least recently used, those without a lease first.
            self._remove(min(free, key=lambda n: self._known[n].leases > 0))
        return version

    def _remove(self, name: str) -> None:
        del self._known[name]
        self._gone(name)


class VersionedSampler(Generic[W]):
    """The part of a sampler (`steadfast_protocol.samplers`) that only keeps books: `publish` and `run` are its heirs'."""

    def __init__(self, versions: Versions[W]):
        self._versions = versions

    def names(self) -> list[str]:
        return self._versions.names()

    def weights(self, name: str) -> W:
        return self._versions[name].weights

    async def serve(self, name: str, weights: W) -> None:
        self._versions.serve(name, weights)

    async def release(self, name: str) -> None:
        self._versions.release(name)
