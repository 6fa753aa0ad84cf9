"""What the trainer answers on HTTP: completions, tokens, and the trainer contract (docs/contracts.md)."""

import asyncio
import sys
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from .batch import FORMATS
from .completions import parse_request, reply, token_ids
from .faults import TrainerFault
from .http_server import Call
from .learner import Learner
from .samplers import Request, Sampler
from .sampling import SamplingOptions
from .session import Trainer
from .text import Tokenizer


class App:
    """Requests are answered on the event loop; everything about weights happens on one worker thread, one at a time.

    `output_format` names how the model's outputs are read (core/interpret); None leaves it to the reader.
    """

    def __init__(
        self, learner: Learner, sampler: Sampler, tokenizer: Tokenizer, output_format: str | None = None
    ):
        self._learner, self._sampler, self._tokenizer = learner, sampler, tokenizer
        self._format = output_format
        self._trainer = Trainer(learner)
        self._worker = ThreadPoolExecutor(1, "trainer")
        self._queued: Counter[str] = Counter()
        self._completions = 0
        self._routes: dict[tuple[str, str], Callable[[Call], Awaitable[object]]] = {
            ("GET", "/health"): self._health,
            ("GET", "/v1/models"): self._models,
            ("GET", "/tokenizer"): self._model_files,
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
        model = {"object": "model", "owned_by": "steadfast", "max_model_len": self._learner.context}
        data = [{"id": name} | model for name in self._sampler.names()]
        return {"object": "list", "data": data}

    async def _model_files(self, call: Call) -> object:
        files = {"tokenizer": self._tokenizer.tokenizer_json, "config": self._tokenizer.config_json}
        return files if self._format is None else files | {"format": self._format}

    async def _complete(self, call: Call) -> object:
        body, learner, tokenizer = call.json(), self._learner, self._tokenizer
        model, request = parse_request(body, tokenizer, learner.vocab, learner.context)
        await self._sampler.run(model, request)
        self._completions += 1
        return reply(model, request, tokenizer, self._completions, body.get("return_token_ids") is True)

    async def _tokenize(self, call: Call) -> object:
        tokens = self._tokenizer.encode(_text(call.json(), "prompt"))
        return {"tokens": tokens, "count": len(tokens), "max_model_len": self._learner.context}

    async def _detokenize(self, call: Call) -> object:
        ids = token_ids(call.json().get("tokens"), "tokens", self._learner.vocab)
        return {"prompt": self._tokenizer.decode(ids.tolist())}

    async def _capabilities(self, call: Call) -> object:
        return {
            "build": self._learner.build,
            "baseDigest": self._learner.base_digest,
            "losses": ["clipped-policy-gradient"],
            "normalisation": ["token-mean"],
            "importance": ["truncated"],
            "batchByReference": True,
            "batchFormats": list(FORMATS),
            "numerics": self._learner.numerics(),
            **({} if self._format is None else {"format": self._format}),
        } | self._learner.capabilities()

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
        await self._sampler.publish(session.weight_digest, session.weights)
        return {"weightVersion": session.weight_digest, "endpoint": f"http://{call.host}/v1"}

    async def _update(self, call: Call) -> object:
        body = call.json()
        run, op, base, batch, path = (
            _text(body, name) for name in ("run", "op", "baseDigest", "batchDigest", "batchPath")
        )
        records = _record_paths(body)
        self._queued[op] += 1
        # Shielded: a caller that goes away does not take the update with it; it asks `status` later.
        work = asyncio.ensure_future(
            self._work(self._trainer.update, run, op, base, batch, path, body.get("plan"), records)
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
            name, weights = self._learner.base_digest, self._learner.base
        else:
            name, weights = await self._work(self._trainer.saved_weights, path)
        await self._sampler.serve(name, weights)
        return {"weightVersion": name, "endpoint": f"http://{call.host}/v1"}

    async def _release(self, call: Call) -> object:
        await self._sampler.release(_text(call.json(), "weightVersion"))
        return {}

    async def _probe(self, call: Call) -> object:
        body, learner = call.json(), self._learner
        name, sequences = _text(body, "weightVersion"), body.get("sequences")
        if not isinstance(sequences, list):
            raise TrainerFault("bad_request", "sequences: expected a list of lists of token ids")
        ids = [token_ids(sequence, f"sequences[{i}]", learner.vocab) for i, sequence in enumerate(sequences)]
        if any(not 2 <= len(sequence) <= learner.context for sequence in ids):
            raise TrainerFault("bad_request", f"sequences: expected 2 to {learner.context} tokens each")
        weights = self._sampler.weights(name)
        trainer = await self._work(learner.sequence_logprobs, weights, ids)
        greedy = SamplingOptions(0, 0, 1, 0)
        requests = [Request(sequence, greedy, 1, frozenset(), score=True) for sequence in ids]
        await asyncio.gather(*(self._sampler.run(name, request) for request in requests))
        return {"trainer": trainer, "sampler": [request.logprobs for request in requests]}

    async def _work(self, function: Callable, *arguments: object):
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)


def _text(body: dict, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise TrainerFault("bad_request", f"{name}: expected a string, found {value!r}")
    return value


def _optional_text(body: dict, name: str) -> str | None:
    return None if body.get(name) is None else _text(body, name)


def _record_paths(body: dict) -> dict[str, str]:
    """Where token records lie, by digest; none where the batch holds its tokens itself."""
    value = body.get("recordPaths", {})
    if not isinstance(value, dict) or not all(isinstance(path, str) for path in value.values()):
        raise TrainerFault("bad_request", "recordPaths: expected paths by digest")
    return value
