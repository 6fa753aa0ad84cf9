"""Checkpoint folders: written aside, synced, renamed into place; read only when every byte is as the manifest says.

`step-0007/` holds the learner's files (`stored`), `session.json` (applied operations with their reports) and, written
last, `manifest.json` (`CheckpointManifest` of core/trainer.ts). A folder under its final name is therefore complete,
and a half-written one has another name and no manifest.
"""

import errno
import glob
import hashlib
import json
import mmap
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic

from .faults import TrainerFault
from .learner import Learner, O, W
from .stored import Buffer, Loaded, write_file

_MANIFEST = "manifest.json"
_SESSION = "session.json"


@dataclass(frozen=True)
class Snapshot(Generic[W, O]):
    """All that a training session is: weights, optimizer, and the operations applied: op, base, batch, plan, report."""

    run: str
    step: int
    weights: W
    optimizer: O
    weight_digest: str
    optimizer_digest: str
    applied: tuple[dict, ...]


@dataclass(frozen=True)
class Saved(Generic[W, O]):
    """A checkpoint that verified. `loaded` is to be closed."""

    run: str
    step: int
    applied: tuple[dict, ...]
    loaded: Loaded[W, O]
    manifest: dict


def write_checkpoint(snapshot: Snapshot[W, O], folder: str, learner: Learner[W, O]) -> tuple[str, dict]:
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
    session = _text({"run": snapshot.run, "step": snapshot.step, "applied": list(snapshot.applied)})
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

    def fill(aside: str) -> None:
        manifest["files"] = [
            *learner.stored.write(aside, snapshot.weights, snapshot.optimizer),
            write_file(aside, _SESSION, [session]),
        ]
        write_file(aside, _MANIFEST, [_text(manifest)])

    _publish(path, fill)
    return path, manifest


def read_checkpoint(path: str, learner: Learner[W, O]) -> Saved[W, O]:
    """Raises `bad_checkpoint` naming the file for anything not as written."""
    manifest = _manifest(path, learner)
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
        session = json.loads(contents[_SESSION][:])
        run, step, applied = session["run"], session["step"], tuple(session["applied"])
        operations = [record["op"] for record in applied]
        loaded = learner.stored.read(path, contents)
    except (ValueError, KeyError, TypeError) as error:
        raise TrainerFault("bad_checkpoint", f"{path}: {error}") from error
    for name, found in (
        ("weightDigest", loaded.weight_digest),
        ("optimizerDigest", loaded.optimizer_digest),
        ("run", run),
        ("step", step),
        ("appliedOps", operations),
    ):
        if manifest.get(name) != found:
            loaded.close()
            raise _bad(os.path.join(path, _MANIFEST), f"{name} {found}", str(manifest.get(name)))
    return Saved(run, step, applied, loaded, manifest)


def _manifest(path: str, learner: Learner) -> dict:
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
    if facts != (1, learner.build):
        raise _bad(place, f"format 1 of build {learner.build}", f"format {facts[0]} of build {facts[1]}")
    expected = sorted((*learner.stored.names(), _SESSION))
    if names != expected:
        raise _bad(place, f"files {expected}", str(names))
    return manifest


def _present(path: str, learner: Learner) -> dict | None:
    """The manifest of a valid checkpoint at `path`. A damaged one is moved aside, so that it can be written again."""
    if not os.path.lexists(path):
        return None
    try:
        saved = read_checkpoint(path, learner)
        saved.loaded.close()
        return saved.manifest
    except TrainerFault as fault:
        aside = f"{path}.damaged-{os.getpid()}-{len(os.listdir(os.path.dirname(path)))}"
        os.rename(path, aside)
        print(f"{fault}; moved to {aside}", flush=True)
        return None


def _publish(path: str, fill: Callable[[str], None]) -> None:
    """Has the files written into a folder aside, the manifest last, and renames it to `path`."""
    parent, name = os.path.split(path)
    aside = os.path.join(parent, f".{name}.writing-{os.getpid()}")
    try:
        os.makedirs(parent, exist_ok=True)
        # Also what a process that was killed while writing has left.
        for left in glob.glob(os.path.join(glob.escape(parent), f".{name}.writing-*")):
            shutil.rmtree(left, ignore_errors=True)
        os.mkdir(aside)
        fill(aside)
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
