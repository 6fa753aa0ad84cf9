"""Sampling by the training ranks themselves: one request after the other, each alone in the model.

Slow: replicas are meant to sample (replica_sampler). It needs nothing but the ranks, and a request's tokens and log-probabilities
cannot depend on what else is asked (`batchInvariant`).
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.samplers import Request

from .rank_versions import RankVersions
from .workers import Lost, Weights, Workers


class EngineSampler(RankVersions):
    def __init__(self, workers: Workers, versions: int):
        super().__init__(workers, versions)
        self._thread = ThreadPoolExecutor(1, "sampler")

    async def run(self, name: str, request: Request) -> Request:
        version = self._versions[name]
        version.running += 1
        try:
            await asyncio.get_running_loop().run_in_executor(
                self._thread, self._answer, version.weights, request
            )
        finally:
            version.running -= 1
            # Whoever has gone away leaves a request that the thread drops when it comes to it.
            request.finish = request.finish or "cancelled"
        return request

    def _answer(self, weights: Weights, request: Request) -> None:
        if request.finish is not None:
            return
        self._workers.require(weights)
        try:
            if request.score:
                request.logprobs = self._workers.call("score_alone", weights.name, request.prompt)[0]
                request.finish = "stop"
                return
            found = self._workers.call(
                "complete", weights.name, request.prompt, request.options, request.max_tokens, request.stop
            )[0]
        except Lost as error:
            raise TrainerFault("overloaded", f"the ranks were lost: {error}") from error
        request.tokens, request.logprobs, request.finish = found


ENGINE_SAMPLING: dict[str, object] = {"by": "trainer", "batchInvariant": True}
