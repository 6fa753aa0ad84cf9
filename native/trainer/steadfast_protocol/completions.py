"""`/v1/completions` as vLLM speaks it: the request's checks, and the reply."""

import math
import time

import numpy as np

from .faults import TrainerFault
from .samplers import Request
from .sampling import SamplingOptions
from .text import Tokenizer

#: Settings that we do not have, with the values that ask for nothing.
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "n": (1,),
    "best_of": (1,),
    "stream": (False,),
    "stop": ([], ""),
    "echo": (False,),
    "suffix": ("",),
    "min_p": (0,),
    "min_tokens": (0,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "repetition_penalty": (1,),
    "logit_bias": ({},),
    "ignore_eos": (False,),
    "logprobs": (0,),
}


def parse_request(body: dict, tokenizer: Tokenizer, vocab: int, context: int) -> tuple[str, Request]:
    """(weight version, request). Raises `bad_request` or `prompt_too_long`, naming the field."""
    for name, values in _NEUTRAL.items():
        value = body.get(name)
        if value is not None and value not in values:
            raise _bad(name, f"{values[0]!r}: this server has nothing else", value)
    model = body.get("model")
    if not isinstance(model, str):
        raise _bad("model", "a weight version", model)
    prompt = body.get("prompt")
    ids = token_ids(tokenizer.encode(prompt) if isinstance(prompt, str) else prompt, "prompt", vocab)
    if len(ids) >= context:
        raise TrainerFault(
            "prompt_too_long",
            f"prompt: expected at most {context - 1} tokens (maximum context length {context}), found {len(ids)}",
        )
    if len(ids) == 0:
        raise _bad("prompt", "at least one token", prompt)
    stop = token_ids(body.get("stop_token_ids") or [], "stop_token_ids", vocab)
    options = SamplingOptions(
        temperature=_number(body, "temperature", 1.0, 0, 100),
        top_k=max(0, int(_number(body, "top_k", 0, -1, 1 << 31, whole=True))),
        top_p=_number(body, "top_p", 1.0, 1e-9, 1),
        seed=_seed(body.get("seed")),
    )
    limit = int(_number(body, "max_tokens", 16, 1, 1 << 31, whole=True))
    return model, Request(ids, options, limit, frozenset(stop.tolist()) | {tokenizer.eos})


def token_ids(value: object, place: str, vocab: int) -> np.ndarray:
    """int32 ids of a JSON list; raises `bad_request`."""
    if not isinstance(value, list) or not all(type(i) is int for i in value):
        raise _bad(place, "a list of token ids", value)
    ids = np.array(value, np.int64)
    if len(ids) and (ids.min() < 0 or ids.max() >= vocab):
        raise _bad(place, f"ids from 0 to {vocab - 1}", f"{ids.min()} to {ids.max()}")
    return ids.astype(np.int32)


def reply(model: str, request: Request, tokenizer: Tokenizer, number: int, with_ids: bool) -> dict:
    choice = {
        "index": 0,
        "text": tokenizer.text_of(request.tokens),
        "finish_reason": request.finish,
        "stop_reason": request.tokens[-1] if request.finish == "stop" else None,
        "logprobs": {"token_logprobs": request.logprobs},
    }
    if with_ids:
        choice["token_ids"] = request.tokens
    prompt, sampled = len(request.prompt), len(request.tokens)
    return {
        "id": f"cmpl-{number}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": model,
        "weight_version": model,
        "choices": [choice],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": sampled,
            "total_tokens": prompt + sampled,
            "prompt_tokens_details": {"cached_tokens": request.cached},
        },
    }


def _number(body: dict, name: str, default: float, least: float, most: float, whole: bool = False) -> float:
    value = body.get(name)
    if value is None:
        return default
    fits = (
        type(value) in ((int,) if whole else (int, float)) and math.isfinite(value) and least <= value <= most
    )
    if not fits:
        raise _bad(name, f"{'a whole number' if whole else 'a number'} from {least} to {most}", value)
    return value


def _seed(value: object) -> int:
    """A 63-bit integer, or one as a decimal string (JavaScript's numbers end at 2^53); absent is 0."""
    if value is None:
        return 0
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise _bad("seed", "an integer from 0 to 2^63 - 1, or one as a string", value)
    return value


def _bad(place: str, expected: str, found: object) -> TrainerFault:
    return TrainerFault("bad_request", f"{place}: expected {expected}, found {str(found)[:80]}")
