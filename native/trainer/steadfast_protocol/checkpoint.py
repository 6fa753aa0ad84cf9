"""Checkpoint folders: written aside, synced, renamed into place; read only when every byte is as the manifest says.

`step-0007/` holds `model.safetensors`, `optimizer.safetensors`, `session.json` (applied operations with their
reports) and, written last, `manifest.json` (`CheckpointManifest` of core/trainer.ts). A folder under its final
name is therefore complete, and a half-written one has another name and no manifest. Tensors are written one at a
time and read through a memory map: a checkpoint may be larger than memory.
"""

import errno
import glob
import hashlib
import json
import mmap
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from .faults import TrainerFault
from .learner import Learner, Tensors
from .tensors import decode_safetensors, digest_tensors, require_tensors, safetensors_parts

FILES = ("model.safetensors", "optimizer.safetensors", "session.json")
_MANIFEST = "manifest.json"

Buffer = bytes | memoryview | mmap.mmap


@dataclass(frozen=True)
class Snapshot:
    """All that a training session is: weights, optimizer, and the operations applied: op, base, batch, plan, report."""

    run: str
    step: int
    weights: Tensors
    optimizer: Tensors
    weight_digest: str
    optimizer_digest: str
    applied: tuple[dict, ...]


def write_checkpoint(snapshot: Snapshot, folder: str, learner: Learner) -> tuple[str, dict]:
    """(path, manifest). The same snapshot again returns what is there; another one of the same step is `conflict`."""
    path = os.path.join(os.path.abspath(folder), f"step-{snapshot.step:04d}")
    present = _present(path, learner)
    if present is not None:
        if (present["run"], present["weightDigest"], present["optimizerDigest"]) == (
            snapshot.run,
            snapshot.weight_digest,
            snapshot.optimizer_digest,
        ):
            return path, present
        raise TrainerFault(
            "conflict", f"{path}: holds step {present['step']} of {present['run']} with other weights"
        )
    contents: dict[str, Iterable[Buffer]] = {
        "model.safetensors": safetensors_parts(snapshot.weights, {"format": "1"}),
        "optimizer.safetensors": safetensors_parts(snapshot.optimizer, {"format": "1"}),
        "session.json": [
            _text({"run": snapshot.run, "step": snapshot.step, "applied": list(snapshot.applied)})
        ],
    }
    manifest = {
        "format": 1,
        "run": snapshot.run,
        "step": snapshot.step,
        "weightDigest": snapshot.weight_digest,
        "optimizerDigest": snapshot.optimizer_digest,
        "appliedOps": [record["op"] for record in snapshot.applied],
        "files": [],
        "trainerBuild": learner.build,
        "numerics": learner.numerics(),
        "createdAt": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    _publish(path, contents, manifest)
    return path, manifest


def read_checkpoint(path: str, learner: Learner) -> tuple[Snapshot, dict]:
    """Snapshot (views of the files) and manifest. Raises `bad_checkpoint` naming the file for anything not as written."""
    manifest = _manifest(path, learner.build)
    contents: dict[str, Buffer] = {}
    for entry in manifest["files"]:
        data = _read(os.path.join(path, entry["name"]))
        found = hashlib.sha256(data).hexdigest()
        if len(data) != entry["bytes"] or found != entry["sha256"]:
            raise _bad(
                os.path.join(path, entry["name"]),
                f"{entry['bytes']} bytes with SHA-256 {entry['sha256']}",
                f"{len(data)} bytes with {found}",
            )
        contents[entry["name"]] = data
    try:
        snapshot = _snapshot(path, contents, learner.shapes())
    except (ValueError, KeyError, TypeError) as error:
        raise TrainerFault("bad_checkpoint", f"{path}: {error}") from error
    for name, found in (
        ("weightDigest", snapshot.weight_digest),
        ("optimizerDigest", snapshot.optimizer_digest),
        ("run", snapshot.run),
        ("step", snapshot.step),
        ("appliedOps", [record["op"] for record in snapshot.applied]),
    ):
        if manifest.get(name) != found:
            raise _bad(os.path.join(path, _MANIFEST), f"{name} {found}", str(manifest.get(name)))
    return snapshot, manifest


def _snapshot(path: str, contents: dict[str, Buffer], shapes: Mapping[str, tuple[int, ...]]) -> Snapshot:
    weights = _tensors(path, "model.safetensors", contents, dict(shapes))
    moments = {f"{moment}.{name}": shape for name, shape in shapes.items() for moment in ("first", "second")}
    optimizer = _tensors(path, "optimizer.safetensors", contents, moments | {"steps": (1,)})
    session = json.loads(contents["session.json"][:])
    return Snapshot(
        session["run"],
        session["step"],
        weights,
        optimizer,
        digest_tensors(weights),
        digest_tensors(optimizer),
        tuple(session["applied"]),
    )


def _tensors(
    path: str, name: str, contents: dict[str, Buffer], shapes: dict[str, tuple[int, ...]]
) -> dict[str, np.ndarray]:
    place = os.path.join(path, name)
    tensors, _ = decode_safetensors(contents[name], place)
    require_tensors(tensors, shapes, place)
    return tensors


def _manifest(path: str, build: str) -> dict:
    place = os.path.join(path, _MANIFEST)
    try:
        manifest = json.loads(_read(place)[:])
        names = sorted(entry["name"] for entry in manifest["files"])
        facts = (manifest["format"], manifest["trainerBuild"])
        if not all(
            isinstance(entry["bytes"], int) and isinstance(entry["sha256"], str)
            for entry in manifest["files"]
        ):
            raise ValueError("sizes and digests of another type")
    except (ValueError, KeyError, TypeError) as error:
        raise _bad(place, "a checkpoint manifest", repr(error)) from error
    if facts != (1, build):
        raise _bad(place, f"format 1 of build {build}", f"format {facts[0]} of build {facts[1]}")
    if names != sorted(FILES):
        raise _bad(place, f"files {sorted(FILES)}", str(names))
    return manifest


def _present(path: str, learner: Learner) -> dict | None:
    """The manifest of a valid checkpoint at `path`. A damaged one is moved aside, so that it can be written again."""
    if not os.path.lexists(path):
        return None
    try:
        return read_checkpoint(path, learner)[1]
    except TrainerFault as fault:
        aside = f"{path}.damaged-{os.getpid()}-{len(os.listdir(os.path.dirname(path)))}"
        os.rename(path, aside)
        print(f"{fault}; moved to {aside}", flush=True)
        return None


def _publish(path: str, contents: dict[str, Iterable[Buffer]], manifest: dict) -> None:
    """Writes the files in order, then the manifest with their digests, into a folder aside, and renames it to `path`."""
    parent, name = os.path.split(path)
    aside = os.path.join(parent, f".{name}.writing-{os.getpid()}")
    try:
        os.makedirs(parent, exist_ok=True)
        # Also what a process that was killed while writing has left.
        for left in glob.glob(os.path.join(glob.escape(parent), f".{name}.writing-*")):
            shutil.rmtree(left, ignore_errors=True)
        os.mkdir(aside)
        for file_name, parts in contents.items():
            entry = _write(os.path.join(aside, file_name), parts)
            manifest["files"].append({"name": file_name} | entry)
        _write(os.path.join(aside, _MANIFEST), [_text(manifest)])
        _sync_folder(aside)
        os.rename(aside, path)
        _sync_folder(parent)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else (error.strerror or str(error))
        raise TrainerFault(
            "disk", f"{path}: the checkpoint could not be written: {reason}; nothing was changed"
        ) from error


def _write(path: str, parts: Iterable[Buffer]) -> dict[str, int | str]:
    """Size and SHA-256 of what was written and synced."""
    digest, size = hashlib.sha256(), 0
    with open(path, "xb") as file:
        for part in parts:
            file.write(part)
            digest.update(part)
            size += len(part)
        file.flush()
        os.fsync(file.fileno())
    return {"bytes": size, "sha256": digest.hexdigest()}


def _sync_folder(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: str) -> Buffer:
    """The file's bytes, mapped; nothing of it is read before it is needed."""
    try:
        with open(path, "rb") as file:
            # An empty file cannot be mapped.
            if os.fstat(file.fileno()).st_size == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise _bad(path, "a readable file", error.strerror or str(error)) from error


def _text(value: dict) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def _bad(place: str, expected: str, found: str) -> TrainerFault:
    return TrainerFault("bad_checkpoint", f"{place}: expected {expected}, found {found}")
