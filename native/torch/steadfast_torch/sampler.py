"""Sampling by the trainer itself: one request after the other, each alone in the model.

Slow on a GPU, where vLLM is meant to sample; on the CPU it costs little, and it makes a promise cheap that batching
makes hard: a request's tokens and log-probabilities do not depend on what else is asked (`batchInvariant`). Every
prompt is computed anew, so neither does a cache enter. Between two tokens the model is free for the trainer.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from steadfast_protocol.samplers import Request
from steadfast_protocol.sampling import sample

from .model import LanguageModel
from .versions import VersionedSampler, Versions
from .weights import Weights


class OwnSampler(VersionedSampler[Weights]):
    def __init__(self, model: LanguageModel, versions: int):
        self._model = model
        super().__init__(Versions(versions, lambda _name: None))
        self._worker = ThreadPoolExecutor(1, "sampler")

    async def publish(self, name: str, weights: Weights) -> None:
        self._versions.publish(name, weights)

    async def run(self, name: str, request: Request) -> Request:
        version = self._versions[name]
        version.running += 1
        try:
            work = self._score if request.score else self._complete
            await asyncio.get_running_loop().run_in_executor(self._worker, work, version.weights, request)
        finally:
            version.running -= 1
            # Whoever has gone away leaves a request that the worker drops at its next token.
            request.finish = request.finish or "cancelled"
        return request

    def _score(self, weights: Weights, request: Request) -> None:
        if request.finish is None:
            with torch.no_grad(), self._model.using(weights):
                request.logprobs = self._model.sequence_logprobs(request.prompt).tolist()
            request.finish = "stop"

    def _complete(self, weights: Weights, request: Request) -> None:
        cache, fed, known = None, request.prompt, len(request.prompt)
        while request.finish is None:
            with torch.no_grad(), self._model.using(weights):
                logits, cache = self._model.step(fed, cache)
            tokens, logprobs = sample(logits[None], [request.options], [known])
            token, known = int(tokens[0]), known + 1
            request.tokens.append(token)
            request.logprobs.append(float(logprobs[0]))
            fed = np.array([token], np.int32)
            if token in request.stop:
                request.finish = "stop"
            elif len(request.tokens) >= request.max_tokens or known > self._model.context:
                request.finish = "length"


#: What `capabilities` says of it.
OWN_SAMPLING: dict[str, object] = {"by": "trainer", "batchInvariant": True}
