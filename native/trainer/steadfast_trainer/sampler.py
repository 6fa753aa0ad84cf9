"""The weights that can be sampled from, one engine each, stepped by the event loop.

The engine runs on the loop's own thread, one step (a few milliseconds at most) between two looks at the sockets:
with a thread of its own it would wait for Python's lock as often as it ran.
"""

import asyncio
import sys
import traceback
from collections import OrderedDict
from dataclasses import dataclass

from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.samplers import Request

from .engine import Engine
from .invariant import Invariance
from .model import Parameters
from .prefix_cache import PrefixCache


@dataclass(frozen=True)
class SamplerOptions:
    """`rows`: sequences running at once, others wait. `versions`: weights kept, the least recently used leave first."""

    rows: int = 64
    versions: int = 12
    cache_bytes: int = 48 << 20


@dataclass
class Version:
    weights: Parameters
    engine: Engine
    #: How often `serve` was asked for it and not released.
    leases: int = 0


class Sampler:
    def __init__(self, way: Invariance, options: SamplerOptions):
        self._way, self._options = way, options
        self._cache = PrefixCache(options.cache_bytes) if options.cache_bytes else None
        self._versions: OrderedDict[str, Version] = OrderedDict()
        self._published: str | None = None
        self._futures: dict[Request, tuple[str, asyncio.Future]] = {}
        self._ticking = False

    def names(self) -> list[str]:
        return list(self._versions)

    def weights(self, name: str) -> Parameters:
        return self._version(name).weights

    async def publish(self, name: str, weights: Parameters) -> None:
        """Makes the weights of the training session samplable; they stay until others are published."""
        self._register(name, weights)
        self._published = name

    async def serve(self, name: str, weights: Parameters) -> None:
        """Makes weights samplable until `release`, called as often as `serve`."""
        self._register(name, weights).leases += 1

    async def release(self, name: str) -> None:
        """Gives up one lease; unknown names are fine, since a repeated call finds them gone."""
        version = self._versions.get(name)
        if version is None:
            return
        version.leases = max(0, version.leases - 1)
        if version.leases == 0 and name != self._published and not version.engine.busy:
            self._remove(name)

    async def run(self, name: str, request: Request) -> Request:
        """The finished request. Raises `weights_unavailable` for a version that is not here (any more)."""
        engine = self._version(name).engine
        future = asyncio.get_running_loop().create_future()
        self._futures[request] = (name, future)
        engine.submit(request)
        if not self._ticking:
            self._ticking = True
            asyncio.get_running_loop().call_soon(self._tick)
        try:
            return await future
        finally:
            self._futures.pop(request, None)
            engine.cancel(request)

    def _version(self, name: str) -> Version:
        version = self._versions.get(name)
        if version is None:
            raise TrainerFault(
                "weights_unavailable", f"weights {name} are not loaded; loaded: {self.names()}"
            )
        self._versions.move_to_end(name)
        return version

    def _register(self, name: str, weights: Parameters) -> Version:
        if name not in self._versions:
            self._versions[name] = Version(weights, self._engine(name, weights))
            for version in self._versions.values():
                if not version.engine.busy:
                    version.engine.release_pool()
        self._versions.move_to_end(name)
        while len(self._versions) > self._options.versions:
            free = [
                n for n, v in self._versions.items() if not v.engine.busy and n not in (name, self._published)
            ]
            if not free:
                break
            self._remove(min(free, key=lambda n: self._versions[n].leases > 0))
        return self._versions[name]

    def _engine(self, name: str, weights: Parameters) -> Engine:
        return Engine(name, weights, self._way, self._cache, self._options.rows)

    def _remove(self, name: str) -> None:
        del self._versions[name]
        if self._cache is not None:
            self._cache.forget(name)

    def _tick(self) -> None:
        busy = False
        for name, version in list(self._versions.items()):
            if not version.engine.busy:
                continue
            try:
                for request in version.engine.step():
                    if request in self._futures and not self._futures[request][1].done():
                        self._futures[request][1].set_result(request)
            except Exception:
                self._fail(name, version)
            busy = busy or version.engine.busy
        self._ticking = busy
        if busy:
            asyncio.get_running_loop().call_soon(self._tick)

    def _fail(self, name: str, version: Version) -> None:
        """A defect in the engine: its requests fail with `internal`, and a fresh engine takes over."""
        traceback.print_exc(file=sys.stderr)
        version.engine = self._engine(name, version.weights)
        for owner, future in list(self._futures.values()):
            if owner == name and not future.done():
                future.set_exception(TrainerFault("internal", "the engine failed; see the trainer's log"))
