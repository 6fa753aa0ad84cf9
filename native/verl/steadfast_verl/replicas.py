"""Verl's rollout replicas in hybrid mode: vLLM servers on the GPUs of the ranks, asleep while those compute.

A replica's server is an actor of Ray with an engine in a process of its own; `Server` and `Replica` are Verl's, but for the
name of the sockets that weights come through, and the address where it is alone on its host.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil
import ray
from omegaconf import DictConfig
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from verl.single_controller.ray import RayWorkerGroup
from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer, vLLMReplica

from steadfast_torch.vllm_server import VllmServer

from .configuration import replica_size

#: Seconds that a name of a server that was killed may still be taken.
_NAMES = 120
#: Seconds within which a server says how it is; a busy one is asked again later.
_ANSWER = 30


class Server(vLLMHttpServer):
    """`rollout.custom` (replica_ranks) says what it differs in."""

    def _post_init(self, cuda_visible_devices: str) -> None:
        super()._post_init(cuda_visible_devices)
        self._server_address = self.config.custom["address"] or self._server_address
        # Verl names the sockets by the number of a job in its cluster: two clusters on one host have the same.
        os.environ["VERL_RAY_JOB_ID"] = self.config.custom["lane"]


class Replica(vLLMReplica):
    def __init__(self, *arguments: object, **named: object):
        super().__init__(*arguments, **named)
        self.server_class = ray.remote(Server)


@dataclass(frozen=True)
class Processes:
    """Of one server: its own number, and number and start of those of its engine."""

    host: str
    server: int
    engine: list[tuple[int, float]]


class Replicas:
    """All replicas of one life of the ranks in `group`."""

    def __init__(self, config: DictConfig, gpus_per_host: int, group: RayWorkerGroup):
        self._group = group
        self._replicas = [
            Replica(
                replica_rank=number,
                config=config.rollout,
                model_config=config.model,
                gpus_per_node=gpus_per_host,
            )
            for number in range(group.world_size // replica_size(config.rollout))
        ]
        self._processes: list[Processes] = []
        #: One a replica, once they are launched.
        self.servers: list[VllmServer] = []
        self.model = ""

    def launch(self) -> None:
        self._each(lambda replica: replica.init_hybrid(self._group))
        self.servers = [VllmServer(f"http://{replica.server_address}") for replica in self._replicas]
        self.model = self.servers[0].model()
        self._processes = ray.get([server.__ray_call__.remote(_processes) for server in self._all()])
        print(
            f"{len(self._replicas)} replicas: {[on_host.server for on_host in self._processes]}", flush=True
        )

    def sleep(self) -> None:
        """They give up the memory of weights and cache. Nothing may be running in them."""
        self._each(lambda replica: replica.sleep())

    def check(self) -> None:
        """Raises when one has died."""
        for server in self._all():
            with contextlib.suppress(ray.exceptions.GetTimeoutError):
                problem = ray.get(server.__ray_call__.remote(_problem), timeout=_ANSWER)
                if problem is not None:
                    raise RuntimeError(f"a replica's engine: {problem}")

    def end(self) -> None:
        """Never raises."""
        for server in self._all():
            with contextlib.suppress(Exception):
                ray.kill(server)
        # An engine outlives a server that was killed, and keeps its memory.
        for on_host in self._processes:
            there = NodeAffinitySchedulingStrategy(on_host.host, soft=False)
            with contextlib.suppress(Exception):
                ray.get(_kill.options(scheduling_strategy=there).remote(on_host.engine), timeout=_ANSWER)
        # The next life has the same names: the ranks know their server by one.
        names = [f"vllm_server_{r.replica_rank}_{host}" for r in self._replicas for host in range(r.nnodes)]
        deadline = time.monotonic() + _NAMES
        while time.monotonic() < deadline and any(_taken(name) for name in names):
            time.sleep(0.5)

    def _all(self) -> list[ray.actor.ActorHandle]:
        return [server for replica in self._replicas for server in replica.servers]

    def _each(self, work: Callable[[Replica], object]) -> None:
        async def together() -> None:
            await asyncio.gather(*(work(replica) for replica in self._replicas))

        asyncio.run(together())


def _taken(name: str) -> bool:
    try:
        ray.get_actor(name)
    except Exception:
        # There is none of this name, or Ray itself has ended.
        return False
    return True


def _processes(_server: Server) -> Processes:
    engine = [(process.pid, process.create_time()) for process in psutil.Process().children(recursive=True)]
    return Processes(ray.get_runtime_context().get_node_id(), os.getpid(), engine)


@ray.remote(num_cpus=0)
def _kill(processes: list[tuple[int, float]]) -> None:
    for number, started in processes:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(number)
            if process.create_time() == started:
                process.kill()


def _problem(server: Server) -> str | None:
    """Why its engine is of no use any more; only the first server of a replica has one."""
    engine = getattr(server, "engine", None)
    return None if engine is None or not engine.errored else str(engine.dead_error)
