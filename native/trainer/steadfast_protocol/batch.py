"""The training batch as docs/contracts.md describes it: read by reference, checked, and sorted by key.

Batches of formats 1 and 2 hold their tokens; one of format 3 names the token record of each episode by its digest, and
whoever sends it says where the records lie.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .faults import TrainerFault
from .tensors import decode_safetensors
from .token_record import Tokens, decode_tokens, read_checked, read_tokens, require_axis

#: What `capabilities` says.
FORMATS = (1, 2, 3)


@dataclass(frozen=True)
class Episode:
    """ids[n]; sampled[n] true where the policy chose the token; logprobs[n] the sampler's, 0 elsewhere."""

    key: str
    ids: np.ndarray
    sampled: np.ndarray
    logprobs: np.ndarray
    advantage: float


def read_batch(
    path: str, digest: str, vocab: int, context: int, record_paths: Mapping[str, str] | None = None
) -> list[Episode]:
    """Episodes in key order. Raises `bad_batch` for a file that is not there, not its digest, or malformed.

    `record_paths`: where token records lie, by digest; what is wrong with one is said with its episode.
    """
    try:
        tensors, metadata = decode_safetensors(read_checked(path, digest), "batch")
        if metadata.get("format") == "3":
            episodes = _referred(tensors, metadata, vocab, context, record_paths or {})
        else:
            episodes = _contained(tensors, metadata, vocab, context)
    except ValueError as error:
        raise TrainerFault("bad_batch", f"{path}: {error}") from error
    return sorted(episodes, key=lambda episode: episode.key)


def _contained(
    tensors: dict[str, np.ndarray], metadata: dict[str, str], vocab: int, context: int
) -> list[Episode]:
    version = metadata.get("format")
    if version not in ("1", "2"):
        raise ValueError(f"metadata format: expected one of {list(FORMATS)}, found {version}")
    keys, lengths, advantages = _members(tensors, metadata)
    tokens = decode_tokens(tensors, version, vocab)
    if lengths.min() < 2 or lengths.max() > context or int(lengths.sum(dtype=np.int64)) != len(tokens.ids):
        raise ValueError(f"tensor lengths: expected 2 to {context} tokens each and {len(tokens.ids)} in all")
    episodes, start = [], 0
    for key, length, advantage in zip(keys, lengths.tolist(), advantages, strict=True):
        part = slice(start, start + length)
        own = Tokens(tokens.ids[part], tokens.sampled[part], tokens.logprobs[part])
        episodes.append(_episode(key, own, advantage))
        start += length
    return episodes


def _referred(
    tensors: dict[str, np.ndarray],
    metadata: dict[str, str],
    vocab: int,
    context: int,
    record_paths: Mapping[str, str],
) -> list[Episode]:
    keys, lengths, advantages = _members(tensors, metadata)
    (counts,) = require_axis(tensors, {"sampled": "<i4"})
    records = _names(metadata, "records")
    if not len(keys) == len(counts) == len(records):
        raise ValueError(
            f"expected a record and a count for each of {len(keys)} episodes,"
            f" found {len(records)} and {len(counts)}"
        )
    episodes = []
    for key, record, length, count, advantage in zip(
        keys, records, lengths.tolist(), counts.tolist(), advantages, strict=True
    ):
        try:
            if record not in record_paths:
                raise ValueError("the request does not say where it lies (recordPaths)")
            own = read_tokens(record_paths[record], record, vocab)
            if (len(own.ids), int(own.sampled.sum())) != (length, count):
                raise ValueError(
                    f"expected {length} tokens, {count} of them sampled,"
                    f" found {len(own.ids)} and {int(own.sampled.sum())}"
                )
            if length > context:
                raise ValueError(f"expected at most {context} tokens, found {length}")
        except ValueError as error:
            place = record_paths.get(record, "no path")
            raise ValueError(f"episode {key}: token record {record} ({place}): {error}") from error
        episodes.append(_episode(key, own, advantage))
    return episodes


def _members(
    tensors: dict[str, np.ndarray], metadata: dict[str, str]
) -> tuple[list[str], np.ndarray, list[float]]:
    """(keys, lengths, advantages): one of each an episode, at least one episode."""
    lengths, advantages = require_axis(tensors, {"lengths": "<i4", "advantages": "<f4"})
    keys = _names(metadata, "keys")
    if len(keys) != len(lengths) or len(set(keys)) != len(keys) or not keys:
        raise ValueError(f"metadata keys: expected {len(lengths)} different keys, at least one")
    if len(advantages) != len(lengths):
        raise ValueError(f"tensor advantages: expected {len(lengths)}, found {len(advantages)}")
    if not np.isfinite(advantages).all():
        raise ValueError("tensor advantages: expected finite numbers")
    return keys, lengths, advantages.tolist()


def _names(metadata: dict[str, str], name: str) -> list[str]:
    found = json.loads(metadata.get(name, "null"))
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise ValueError(f"metadata {name}: expected a list of strings")
    return found


def _episode(key: str, tokens: Tokens, advantage: float) -> Episode:
    if tokens.sampled[0] or not tokens.sampled.any():
        raise ValueError(f"episode {key}: expected sampled tokens after a first token that was not sampled")
    return Episode(key, tokens.ids, tokens.sampled, tokens.logprobs, advantage)
