"""Verl's group of workers over Ray: one actor a GPU, placed and connected by Verl."""

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence

import psutil
import ray
from omegaconf import DictConfig
from ray.util.placement_group import remove_placement_group
from verl.single_controller.ray import RayClassWithInitArgs, RayResourcePool, RayWorkerGroup
from verl.utils.device import get_device_name

from steadfast_protocol.faults import UsageError

from .worker import BridgeWorker

#: Times that a cluster of our own is started.
_STARTS = 4
#: Seconds after which a call that is still waited for is looked after.
_LOOK = 10


def connect(variables: Mapping[str, str], world: int, device: str) -> None:
    """To the cluster of RAY_ADDRESS, or to one of this process's own."""
    environment = {"env_vars": {**variables, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}}
    if os.environ.get("RAY_ADDRESS"):
        ray.init(runtime_env=environment, log_to_driver=True)
        return
    # Nobody else has a part in it.
    own: dict[str, object] = {"_node_ip_address": "127.0.0.1"}
    if device == "cpu":
        own |= {"num_cpus": 2 * world, "num_gpus": world}
    there = set(psutil.Process().children())
    for attempt in range(1, _STARTS + 1):
        try:
            ray.init(runtime_env=environment, include_dashboard=False, log_to_driver=True, **own)
            return
        except Exception as error:
            ray.shutdown()
            for left in set(psutil.Process().children()) - there:
                left.kill()
            # Ray gives its own processes 30 s, which a busy machine may not keep; it has no type for that.
            if "timed out during startup" not in str(error) or attempt == _STARTS:
                raise UsageError("--ranks", "a cluster of Ray that starts here", str(error)) from error


class RayRanks:
    def __init__(self, config: DictConfig, role: str, per_host: Sequence[int]):
        self._pool = RayResourcePool(list(per_host), use_gpu=True, max_colocate_count=1)
        made = RayClassWithInitArgs(ray.remote(BridgeWorker), config=config, role=role)
        self.group = RayWorkerGroup(self._pool, made, bin_pack=False, device_name=get_device_name())

    @property
    def pool(self) -> RayResourcePool:
        return self._pool

    def start(self, base: str) -> list[dict]:
        return self.call("start", [(base,)] * len(self.group.workers))

    def call(
        self, method: str, arguments: Sequence[tuple], meanwhile: Callable[[], None] | None = None
    ) -> list:
        """`meanwhile` raises when waiting has become vain."""
        calls = {
            getattr(worker, method).remote(*of_it): rank
            for rank, (worker, of_it) in enumerate(zip(self.group.workers, arguments, strict=True))
        }
        found: dict[int, object] = {}
        waiting = list(calls)
        while waiting:
            # The first that fails is heard at once: the others may wait for it.
            ready, waiting = ray.wait(waiting, num_returns=1, timeout=None if meanwhile is None else _LOOK)
            if ready:
                found[calls[ready[0]]] = ray.get(ready[0])
            elif meanwhile is not None:
                meanwhile()
        return [found[rank] for rank in range(len(calls))]

    def end(self) -> None:
        for worker in self.group.workers:
            with contextlib.suppress(Exception):
                ray.kill(worker)
        for placed in self._pool.pgs or []:
            with contextlib.suppress(Exception):
                remove_placement_group(placed)
