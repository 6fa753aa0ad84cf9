"""Sampling through Verl's replicas: requests of one version at a time, spread over all of them.

A version is handed over when its first request comes, so that a probe after a publish costs one transfer, not two. Whoever
wants another version, or the ranks, waits until the requests that run have ended (`turns`).
"""

import asyncio
import http.client
from concurrent.futures import ThreadPoolExecutor

from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.samplers import Request
from steadfast_torch.vllm_server import VllmServer, hang_up

from .placement import Placement
from .rank_versions import RankVersions
from .turns import Left, Turns
from .workers import Lost, Weights, Workers


class _Caller:
    """Who waits for a request: may go away at any moment."""

    gone = False
    connection: http.client.HTTPConnection | None = None

    def leave(self) -> None:
        self.gone = True
        if self.connection is not None:
            hang_up(self.connection)


class ReplicaSampler(RankVersions):
    """`rows` requests are asked at once."""

    def __init__(self, workers: Workers, turns: Turns, versions: int, rows: int):
        super().__init__(workers, versions)
        self._turns = turns
        self._threads = ThreadPoolExecutor(rows, "replicas")
        #: Of the turn that runs.
        self._servers: list[VllmServer] = []
        self._model = ""
        self._placement = Placement(0)

    async def run(self, name: str, request: Request) -> Request:
        version, caller = self._versions[name], _Caller()
        version.running += 1
        try:
            await asyncio.get_running_loop().run_in_executor(
                self._threads, self._answer, version.weights, request, caller
            )
        finally:
            version.running -= 1
            caller.leave()
            self._turns.look_again()
            request.finish = request.finish or "cancelled"
        return request

    def _answer(self, weights: Weights, request: Request, caller: _Caller) -> None:
        try:
            with self._turns.of(weights.name, lambda: self._hand_over(weights), lambda: caller.gone):
                self._ask(request, caller)
        except Lost as error:
            raise TrainerFault("overloaded", f"the ranks were lost: {error}") from error
        except Left:
            return

    def _hand_over(self, weights: Weights) -> None:
        self._workers.require(weights)
        replicas = self._workers.on_group("hand over", lambda ranks: ranks.hand_over(weights.name))
        self._servers, self._model = replicas.servers, replicas.model
        self._placement = Placement(len(self._servers))

    def _ask(self, request: Request, caller: _Caller) -> None:
        with self._placement.of(request) as number:
            server = self._servers[number]
            connection = caller.connection = server.connect()
            try:
                if not caller.gone:
                    server.complete(self._model, request, connection)
            except TrainerFault:
                if not caller.gone:
                    self._workers.check()
                raise
            finally:
                connection.close()
