"""The training batch as docs/contracts.md describes it: read by reference, checked, and sorted by key."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from .faults import TrainerFault
from .tensors import decode_safetensors

_TYPES = {"ids": "<i4", "logprobs": "<f4", "lengths": "<i4", "advantages": "<f4"}
#: By format: the tensor that says which tokens were sampled. Batches of the first one have a byte a token, and a
#: log-probability of every token.
_SAMPLED = {"1": "sampled", "2": "bits"}


@dataclass(frozen=True)
class Episode:
    """ids[n]; sampled[n] true where the policy chose the token; logprobs[n] the sampler's, 0 elsewhere."""

    key: str
    ids: np.ndarray
    sampled: np.ndarray
    logprobs: np.ndarray
    advantage: float


def read_batch(path: str, digest: str, vocab: int, context: int) -> list[Episode]:
    """Episodes in key order. Raises `bad_batch` for a file that is not there, not `digest`, or malformed."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise TrainerFault("bad_batch", f"{path}: cannot be read: {error.strerror}") from error
    found = "sha256:" + hashlib.sha256(data).hexdigest()
    if found != digest:
        raise TrainerFault("bad_batch", f"{path}: expected {digest}, found {found}")
    try:
        tensors, metadata = decode_safetensors(data, path)
        return sorted(_episodes(tensors, metadata, vocab, context), key=lambda episode: episode.key)
    except ValueError as error:
        raise TrainerFault("bad_batch", f"{path}: {error}") from error


def _episodes(
    tensors: dict[str, np.ndarray], metadata: dict[str, str], vocab: int, context: int
) -> list[Episode]:
    chosen_by = _SAMPLED.get(str(metadata.get("format")))
    if chosen_by is None:
        raise ValueError(f"metadata format: expected 1 or 2, found {metadata.get('format')}")
    for name, dtype in (_TYPES | {chosen_by: "u1"}).items():
        if name not in tensors or tensors[name].ndim != 1 or tensors[name].dtype != np.dtype(dtype):
            raise ValueError(
                f"tensor {name}: expected one axis of {dtype}, found {_describe(tensors.get(name))}"
            )
    keys = json.loads(metadata.get("keys", "null"))
    lengths, ids = tensors["lengths"], tensors["ids"]
    if not isinstance(keys, list) or len(keys) != len(lengths) or len(set(keys)) != len(keys) or not keys:
        raise ValueError(f"metadata keys: expected {len(lengths)} different keys, at least one")
    if len(tensors["advantages"]) != len(lengths):
        raise ValueError(f"tensor advantages: expected {len(lengths)}, found {len(tensors['advantages'])}")
    if lengths.min() < 2 or lengths.max() > context or int(lengths.sum(dtype=np.int64)) != len(ids):
        raise ValueError(f"tensor lengths: expected 2 to {context} tokens each and {len(ids)} in all")
    sampled, logprobs = _samples(tensors, chosen_by, len(ids))
    if ids.min() < 0 or ids.max() >= vocab:
        raise ValueError(f"tensor ids: expected 0 to {vocab - 1}, found {ids.min()} to {ids.max()}")
    if not np.isfinite(tensors["logprobs"]).all() or not np.isfinite(tensors["advantages"]).all():
        raise ValueError("tensors logprobs and advantages: expected finite numbers")
    episodes, start = [], 0
    for key, length, advantage in zip(keys, lengths.tolist(), tensors["advantages"].tolist(), strict=True):
        part = slice(start, start + length)
        chosen = sampled[part]
        if chosen[0] or not chosen.any():
            raise ValueError(
                f"episode {key}: expected sampled tokens after a first token that was not sampled"
            )
        episodes.append(Episode(key, ids[part], chosen, logprobs[part], advantage))
        start += length
    return episodes


def _samples(tensors: dict[str, np.ndarray], name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(sampled [T] bool, logprobs [T], 0 where nothing was sampled)."""
    found, logprobs = tensors[name], tensors["logprobs"]
    if name == "sampled":
        if len(found) != count or len(logprobs) != count:
            raise ValueError(f"tensors sampled and logprobs: expected {count} entries")
        return found != 0, logprobs
    if len(found) != -(-count // 8):
        raise ValueError(f"tensor bits: expected {-(-count // 8)} bytes, found {len(found)}")
    sampled = np.unpackbits(found, count=count, bitorder="little").view(bool)
    if int(sampled.sum()) != len(logprobs):
        raise ValueError(f"tensor logprobs: expected {int(sampled.sum())} entries, found {len(logprobs)}")
    full = np.zeros(count, np.float32)
    full[sampled] = logprobs
    return sampled, full


def _describe(tensor: np.ndarray | None) -> str:
    return "nothing" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"
