"""The training batch as docs/contracts.md describes it: read by reference, checked, and sorted by key."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from .faults import TrainerFault
from .tensors import decode_safetensors

_TYPES = {"ids": "<i4", "sampled": "u1", "logprobs": "<f4", "lengths": "<i4", "advantages": "<f4"}


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
    if metadata.get("format") != "1":
        raise ValueError(f"metadata format: expected 1, found {metadata.get('format')}")
    for name, dtype in _TYPES.items():
        if name not in tensors or tensors[name].ndim != 1 or tensors[name].dtype != np.dtype(dtype):
            raise ValueError(
                f"tensor {name}: expected one axis of {dtype}, found {_describe(tensors.get(name))}"
            )
    keys = json.loads(metadata.get("keys", "null"))
    lengths, ids, sampled = tensors["lengths"], tensors["ids"], tensors["sampled"]
    if not isinstance(keys, list) or len(keys) != len(lengths) or len(set(keys)) != len(keys) or not keys:
        raise ValueError(f"metadata keys: expected {len(lengths)} different keys, at least one")
    if len(tensors["advantages"]) != len(lengths):
        raise ValueError(f"tensor advantages: expected {len(lengths)}, found {len(tensors['advantages'])}")
    if lengths.min() < 2 or lengths.max() > context or int(lengths.sum(dtype=np.int64)) != len(ids):
        raise ValueError(f"tensor lengths: expected 2 to {context} tokens each and {len(ids)} in all")
    if len(sampled) != len(ids) or len(tensors["logprobs"]) != len(ids):
        raise ValueError(f"tensors sampled and logprobs: expected {len(ids)} entries")
    if ids.min() < 0 or ids.max() >= vocab:
        raise ValueError(f"tensor ids: expected 0 to {vocab - 1}, found {ids.min()} to {ids.max()}")
    if not np.isfinite(tensors["logprobs"]).all() or not np.isfinite(tensors["advantages"]).all():
        raise ValueError("tensors logprobs and advantages: expected finite numbers")
    episodes, start = [], 0
    for key, length, advantage in zip(keys, lengths.tolist(), tensors["advantages"].tolist(), strict=True):
        part = slice(start, start + length)
        chosen = sampled[part] != 0
        if chosen[0] or not chosen.any():
            raise ValueError(
                f"episode {key}: expected sampled tokens after a first token that was not sampled"
            )
        episodes.append(Episode(key, ids[part], chosen, tensors["logprobs"][part], advantage))
        start += length
    return episodes


def _describe(tensor: np.ndarray | None) -> str:
    return "nothing" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"
