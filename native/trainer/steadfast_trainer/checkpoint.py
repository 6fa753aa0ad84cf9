"""Checkpoint folders: written aside, synced, renamed into place; read only when every byte is as the manifest says.

`step-0007/` holds `model.safetensors`, `optimizer.safetensors`, `session.json` (applied operations with their
reports) and, written last, `manifest.json` (`CheckpointManifest` of core/trainer.ts). A folder under its final
name is therefore complete, and a half-written one has another name and no manifest.
"""

import errno
import glob
import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime

from .adamw import OptimizerState
from .faults import TrainerFault
from .model import ModelConfig, Parameters
from .numerics import numerics
from .tensors import decode_safetensors, digest_tensors, encode_safetensors

FILES = ("model.safetensors", "optimizer.safetensors", "session.json")


@dataclass(frozen=True)
class Snapshot:
    """All that a training session is: weights, optimizer, and the operations applied: op, base, batch, plan, report."""

    run: str
    step: int
    weights: Parameters
    optimizer: OptimizerState
    applied: tuple[dict, ...]


def write_checkpoint(snapshot: Snapshot, folder: str, build: str) -> tuple[str, dict]:
    """(path, manifest). The same snapshot again returns what is there; another one of the same step is `conflict`."""
    path = os.path.join(os.path.abspath(folder), f"step-{snapshot.step:04d}")
    weight_digest, optimizer_digest = digest_tensors(snapshot.weights.tensors), snapshot.optimizer.digest()
    present = _present(path, snapshot.weights.config, build)
    if present is not None:
        if (present["run"], present["weightDigest"], present["optimizerDigest"]) == (
            snapshot.run,
            weight_digest,
            optimizer_digest,
        ):
            return path, present
        raise TrainerFault(
            "conflict", f"{path}: holds step {present['step']} of {present['run']} with other weights"
        )
    contents = {
        "model.safetensors": encode_safetensors(snapshot.weights.tensors, {"format": "1"}),
        "optimizer.safetensors": encode_safetensors(snapshot.optimizer.tensors(), {"format": "1"}),
        "session.json": _text(
            {"run": snapshot.run, "step": snapshot.step, "applied": list(snapshot.applied)}
        ),
    }
    manifest = {
        "format": 1,
        "run": snapshot.run,
        "step": snapshot.step,
        "weightDigest": weight_digest,
        "optimizerDigest": optimizer_digest,
        "appliedOps": [record["op"] for record in snapshot.applied],
        "files": [
            {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in contents.items()
        ],
        "trainerBuild": build,
        "numerics": numerics(),
        "createdAt": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    _publish(path, contents | {"manifest.json": _text(manifest)})
    return path, manifest


def read_checkpoint(path: str, config: ModelConfig, build: str) -> tuple[Snapshot, dict]:
    """Snapshot and manifest of a folder. Raises `bad_checkpoint` naming the file for anything that is not as written."""
    manifest = _manifest(path, build)
    contents = {}
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
        snapshot = _snapshot(path, contents, config)
    except (ValueError, KeyError, TypeError) as error:
        raise TrainerFault("bad_checkpoint", f"{path}: {error}") from error
    for name, found in (
        ("weightDigest", digest_tensors(snapshot.weights.tensors)),
        ("optimizerDigest", snapshot.optimizer.digest()),
        ("run", snapshot.run),
        ("step", snapshot.step),
        ("appliedOps", [record["op"] for record in snapshot.applied]),
    ):
        if manifest.get(name) != found:
            raise _bad(os.path.join(path, "manifest.json"), f"{name} {found}", str(manifest.get(name)))
    return snapshot, manifest


def _snapshot(path: str, contents: dict[str, bytes], config: ModelConfig) -> Snapshot:
    place = os.path.join(path, "model.safetensors")
    weights = Parameters.from_tensors(
        config, decode_safetensors(contents["model.safetensors"], place)[0], place
    )
    place = os.path.join(path, "optimizer.safetensors")
    tensors, _ = decode_safetensors(contents["optimizer.safetensors"], place)
    steps = int(tensors["steps"][0])
    moments = [
        Parameters.from_tensors(
            config,
            {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)},
            place,
        )
        for prefix in ("first.", "second.")
    ]
    session = json.loads(contents["session.json"])
    return Snapshot(
        session["run"], session["step"], weights, OptimizerState(*moments, steps), tuple(session["applied"])
    )


def _manifest(path: str, build: str) -> dict:
    place = os.path.join(path, "manifest.json")
    try:
        manifest = json.loads(_read(place))
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


def _present(path: str, config: ModelConfig, build: str) -> dict | None:
    """The manifest of a valid checkpoint at `path`. A damaged one is moved aside, so that it can be written again."""
    if not os.path.lexists(path):
        return None
    try:
        return read_checkpoint(path, config, build)[1]
    except TrainerFault as fault:
        aside = f"{path}.damaged-{os.getpid()}-{len(os.listdir(os.path.dirname(path)))}"
        os.rename(path, aside)
        print(f"{fault}; moved to {aside}", flush=True)
        return None


def _publish(path: str, contents: dict[str, bytes]) -> None:
    """Writes the files in order into a folder aside, syncs, and renames it to `path`."""
    parent, name = os.path.split(path)
    aside = os.path.join(parent, f".{name}.writing-{os.getpid()}")
    try:
        os.makedirs(parent, exist_ok=True)
        # Also what a process that was killed while writing has left.
        for left in glob.glob(os.path.join(glob.escape(parent), f".{name}.writing-*")):
            shutil.rmtree(left, ignore_errors=True)
        os.mkdir(aside)
        for file_name, data in contents.items():
            with open(os.path.join(aside, file_name), "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
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


def _sync_folder(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise _bad(path, "a readable file", error.strerror or str(error)) from error


def _text(value: dict) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def _bad(place: str, expected: str, found: str) -> TrainerFault:
    return TrainerFault("bad_checkpoint", f"{place}: expected {expected}, found {found}")
