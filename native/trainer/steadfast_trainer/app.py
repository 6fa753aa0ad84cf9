"""What the trainer answers on HTTP: completions, tokens, and the trainer contract (docs/contracts.md)."""

import asyncio
import sys
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from .adamw import BETA1, BETA2
from .base import Base
from .checkpoint import read_checkpoint
from .completions import parse_request, reply, token_ids
from .engine import Request
from .faults import TrainerFault
from .http_server import Call
from .invariant import Invariance
from .mismatch import MISMATCH_BOUND
from .numerics import numerics
from .sampler import Sampler, SamplerOptions
from .sampling import SamplingOptions
from .session import Trainer
from .update import sequence_logprobs


class App:
    """Sampling happens on the event loop; everything about weights on one worker thread, one at a time."""

    def __init__(self, base: Base, build: str, way: Invariance, options: SamplerOptions):
        self._base, self._way, self._options = base, way, options
        self._trainer = Trainer(base, build)
        self._sampler = Sampler(way, options)
        self._worker = ThreadPoolExecutor(1, "trainer")
        self._queued: Counter[str] = Counter()
        self._completions = 0
        self._routes: dict[tuple[str, str], Callable[[Call], Awaitable[object]]] = {
            ("GET", "/health"): self._health,
            ("GET", "/v1/models"): self._models,
            ("GET", "/tokenizer"): self._tokenizer,
            ("POST", "/v1/completions"): self._complete,
            ("POST", "/tokenize"): self._tokenize,
            ("POST", "/detokenize"): self._detokenize,
            ("GET", "/trainer/capabilities"): self._capabilities,
            ("GET", "/trainer/state"): self._state,
            ("GET", "/trainer/status"): self._status,
            ("POST", "/trainer/open"): self._open,
            ("POST", "/trainer/publish"): self._publish,
            ("POST", "/trainer/update"): self._update,
            ("POST", "/trainer/checkpoint"): self._checkpoint,
            ("POST", "/trainer/serve"): self._serve,
            ("POST", "/trainer/release"): self._release,
            ("POST", "/trainer/probe"): self._probe,
        }

    async def handle(self, call: Call) -> tuple[int, object]:
        """Never raises, except when cancelled."""
        handler = self._routes.get((call.method, call.path))
        try:
            if handler is None:
                raise TrainerFault("not_found", f"{call.method} {call.path}: there is no such call")
            return 200, await handler(call)
        except TrainerFault as fault:
            return fault.status, fault.to_json()
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            return 500, {"error": {"code": "internal", "message": f"{type(error).__name__}: {error}"}}

    async def _health(self, call: Call) -> object:
        return {"status": "ok"}

    async def _models(self, call: Call) -> object:
        model = {"object": "model", "owned_by": "steadfast", "max_model_len": self._base.config.context}
        data = [{"id": name} | model for name in self._sampler.names()]
        return {"object": "list", "data": data}

    async def _tokenizer(self, call: Call) -> object:
        return {"tokenizer": self._base.tokenizer.tokenizer_json, "config": self._base.tokenizer.config_json}

    async def _complete(self, call: Call) -> object:
        body, config, tokenizer = call.json(), self._base.config, self._base.tokenizer
        model, request = parse_request(body, tokenizer, config.vocab, config.context)
        await self._sampler.run(model, request)
        self._completions += 1
        return reply(model, request, tokenizer, self._completions, body.get("return_token_ids") is True)

    async def _tokenize(self, call: Call) -> object:
        tokens = self._base.tokenizer.encode(_text(call.json(), "prompt"))
        return {"tokens": tokens, "count": len(tokens), "max_model_len": self._base.config.context}

    async def _detokenize(self, call: Call) -> object:
        ids = token_ids(call.json().get("tokens"), "tokens", self._base.config.vocab)
        return {"prompt": self._base.tokenizer.decode(ids.tolist())}

    async def _capabilities(self, call: Call) -> object:
        return {
            "kind": "embedded",
            "build": self._trainer.build,
            "baseDigest": self._base.digest,
            "losses": ["clipped-policy-gradient"],
            "normalisation": ["token-mean"],
            "importance": ["truncated"],
            "mismatchBound": {
                "meanAbove": MISMATCH_BOUND.mean_above,
                "shareAbove": MISMATCH_BOUND.share_above,
            },
            "optimizer": {"name": "adamw", "beta1": BETA1, "beta2": BETA2, "restore": True},
            "batchByReference": True,
            "model": self._base.config.to_json() | {"parameters": self._base.weights.flat.size},
            "limits": {"context": self._base.config.context, "concurrentSequences": self._options.rows},
            "sampling": {
                "batchInvariant": True,
                "tile": self._way.tile,
                "shortestAttention": self._way.shortest,
            },
            "numerics": numerics(),
        }

    async def _state(self, call: Call) -> object:
        return self._trainer.state() | {"served": self._sampler.names()}

    async def _status(self, call: Call) -> object:
        run, op = (call.query.get(name, "") for name in ("run", "op"))
        status = self._trainer.status(run, op)
        return {"state": "running"} if self._queued[op] and status["state"] != "done" else status

    async def _open(self, call: Call) -> object:
        body = call.json()
        await self._work(self._trainer.open, _text(body, "run"), _optional_text(body, "from"))
        return await self._state(call)

    async def _publish(self, call: Call) -> object:
        session = await self._work(self._trainer.current, _text(call.json(), "run"))
        self._sampler.publish(session.weight_digest, session.snapshot.weights)
        return {"weightVersion": session.weight_digest, "endpoint": f"http://{call.host}/v1"}

    async def _update(self, call: Call) -> object:
        body = call.json()
        run, op, base, batch, path = (
            _text(body, name) for name in ("run", "op", "baseDigest", "batchDigest", "batchPath")
        )
        self._queued[op] += 1
        # Shielded: a caller that goes away does not take the update with it; it asks `status` later.
        work = asyncio.ensure_future(
            self._work(self._trainer.update, run, op, base, batch, path, body.get("plan"))
        )
        work.add_done_callback(
            lambda done: self._queued.subtract([op]) or done.cancelled() or done.exception()
        )
        return await asyncio.shield(work)

    async def _checkpoint(self, call: Call) -> object:
        body = call.json()
        return await self._work(self._trainer.checkpoint, _text(body, "run"), _text(body, "dir"))

    async def _serve(self, call: Call) -> object:
        path = _optional_text(call.json(), "from")
        if path is None:
            name, weights = self._base.digest, self._base.weights
        else:
            snapshot, manifest = await self._work(
                read_checkpoint, path, self._base.config, self._trainer.build
            )
            name, weights = manifest["weightDigest"], snapshot.weights
        self._sampler.serve(name, weights)
        return {"weightVersion": name, "endpoint": f"http://{call.host}/v1"}

    async def _release(self, call: Call) -> object:
        self._sampler.release(_text(call.json(), "weightVersion"))
        return {}

    async def _probe(self, call: Call) -> object:
        body, config = call.json(), self._base.config
        name, sequences = _text(body, "weightVersion"), body.get("sequences")
        if not isinstance(sequences, list):
            raise TrainerFault("bad_request", "sequences: expected a list of lists of token ids")
        ids = [token_ids(sequence, f"sequences[{i}]", config.vocab) for i, sequence in enumerate(sequences)]
        if any(not 2 <= len(sequence) <= config.context for sequence in ids):
            raise TrainerFault("bad_request", f"sequences: expected 2 to {config.context} tokens each")
        weights = self._sampler.weights(name)
        trainer = await self._work(sequence_logprobs, weights, ids)
        greedy = SamplingOptions(0, 0, 1, 0)
        requests = [Request(sequence, greedy, 1, frozenset(), score=True) for sequence in ids]
        await asyncio.gather(*(self._sampler.run(name, request) for request in requests))
        return {"trainer": trainer, "sampler": [request.logprobs for request in requests]}

    async def _work(self, function: Callable, *arguments: object):
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)


def build_name(base: Base, version: str) -> str:
    """Names everything a checkpoint must share with its reader: format, shape and tokenizer."""
    c = base.config
    shape = f"v{c.vocab}-d{c.width}-l{c.layers}-h{c.heads}-f{c.feed}-c{c.context}"
    return f"embedded-{version} {shape} tokenizer:{base.tokenizer_digest[:12]}"


def _text(body: dict, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise TrainerFault("bad_request", f"{name}: expected a string, found {value!r}")
    return value


def _optional_text(body: dict, name: str) -> str | None:
    return None if body.get(name) is None else _text(body, name)
