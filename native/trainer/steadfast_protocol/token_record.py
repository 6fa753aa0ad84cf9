"""Exact tokens as files keep them (docs/contracts.md): in a batch, or in the token record of one episode."""

import hashlib
from dataclasses import dataclass

import numpy as np

from .tensors import decode_safetensors

#: By format: the tensor that says which tokens were sampled. The first format has a byte a token, and a
#: log-probability of every token.
_CHOSEN_BY = {"1": "sampled", "2": "bits"}


@dataclass(frozen=True)
class Tokens:
    """ids[n]; sampled[n] true where the policy chose the token; logprobs[n] the sampler's, 0 elsewhere."""

    ids: np.ndarray
    sampled: np.ndarray
    logprobs: np.ndarray


def read_checked(path: str, digest: str) -> bytes:
    """Raises `ValueError` for a file that is not there or not `digest`."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    found = "sha256:" + hashlib.sha256(data).hexdigest()
    if found != digest:
        raise ValueError(f"expected {digest}, found {found}")
    return data


def read_tokens(path: str, digest: str, vocab: int) -> Tokens:
    """The token record of one episode. Raises `ValueError` for one that is missing, not `digest`, or malformed."""
    tensors, metadata = decode_safetensors(read_checked(path, digest), "token record")
    return decode_tokens(tensors, metadata.get("format"), vocab)


def decode_tokens(tensors: dict[str, np.ndarray], version: object, vocab: int) -> Tokens:
    """Of one of the two formats. Raises `ValueError` naming the tensor."""
    chosen_by = _CHOSEN_BY.get(str(version))
    if chosen_by is None:
        raise ValueError(f"metadata format: expected {' or '.join(_CHOSEN_BY)}, found {version}")
    ids, found, logprobs = require_axis(tensors, {"ids": "<i4", chosen_by: "u1", "logprobs": "<f4"})
    if len(ids) < 2:
        raise ValueError(f"tensor ids: expected at least 2 tokens, found {len(ids)}")
    sampled, full = _samples(found, logprobs, len(ids), chosen_by)
    if ids.min() < 0 or ids.max() >= vocab:
        raise ValueError(f"tensor ids: expected 0 to {vocab - 1}, found {ids.min()} to {ids.max()}")
    if not np.isfinite(logprobs).all():
        raise ValueError("tensor logprobs: expected finite numbers")
    return Tokens(ids, sampled, full)


def require_axis(tensors: dict[str, np.ndarray], types: dict[str, str]) -> list[np.ndarray]:
    """The tensors of these names, one axis and type each."""
    for name, dtype in types.items():
        found = tensors.get(name)
        if found is None or found.ndim != 1 or found.dtype != np.dtype(dtype):
            told = "nothing" if found is None else f"{found.dtype} {list(found.shape)}"
            raise ValueError(f"tensor {name}: expected one axis of {dtype}, found {told}")
    return [tensors[name] for name in types]


def _samples(found: np.ndarray, logprobs: np.ndarray, count: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(sampled [count] bool, logprobs [count], 0 where nothing was sampled)."""
    if name == "sampled":
        if len(found) != count or len(logprobs) != count:
            raise ValueError(f"tensors sampled and logprobs: expected {count} entries")
        return found != 0, np.where(found != 0, logprobs, np.float32(0))
    if len(found) != -(-count // 8):
        raise ValueError(f"tensor bits: expected {-(-count // 8)} bytes, found {len(found)}")
    sampled = np.unpackbits(found, count=count, bitorder="little").view(bool)
    if int(sampled.sum()) != len(logprobs):
        raise ValueError(f"tensor logprobs: expected {int(sampled.sum())} entries, found {len(logprobs)}")
    full = np.zeros(count, np.float32)
    full[sampled] = logprobs
    return sampled, full
