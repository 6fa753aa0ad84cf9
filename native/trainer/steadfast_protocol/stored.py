"""How a learner's state becomes digests and files.

`TensorStored` is for weights that can be handed out as NumPy float32 by name: `model.safetensors` and
`optimizer.safetensors`, digests over their tensors. A learner whose weights are spread over processes brings its own.
"""

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from .tensors import decode_safetensors, digest_tensors, require_tensors, safetensors_parts

W = TypeVar("W")
O = TypeVar("O")  # noqa: E741

Tensors = Mapping[str, np.ndarray]
Buffer = bytes | memoryview | mmap.mmap


@dataclass(frozen=True)
class Loaded(Generic[W, O]):
    """What a checkpoint's files hold. Nothing of it is in use before `weights` or `optimizer` is called."""

    weight_digest: str
    optimizer_digest: str
    weights: Callable[[], W]
    #: Replaces the state of a learner that changes it in place.
    optimizer: Callable[[], O]
    #: Called in the end, whether it was used or not.
    close: Callable[[], None] = lambda: None


class Stored(Protocol[W, O]):
    def weight_digest(self, weights: W) -> str: ...

    def optimizer_digest(self, optimizer: O) -> str: ...

    def holds(self, weights: W) -> bool:
        """False where what held them has died: a session of them is over, and is brought back from a checkpoint."""
        ...

    def names(self) -> Sequence[str]:
        """The files of a checkpoint, `session.json` and `manifest.json` apart."""
        ...

    def write(self, folder: str, weights: W, optimizer: O) -> list[dict[str, int | str]]:
        """Writes and syncs the files; name, bytes and sha256 of each. Raises `OSError`."""
        ...

    def read(self, path: str, contents: Mapping[str, Buffer]) -> Loaded[W, O]:
        """Files of `path` whose bytes are as the manifest says. Raises `ValueError`, `KeyError` or `TypeError`."""
        ...


class NamedTensors(Protocol[W, O]):
    """A mapping may make each array when it is asked for: weights on a device never lie in memory as a whole."""

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Every tensor that is trained, as digests and checkpoints name it."""
        ...

    def weight_tensors(self, weights: W) -> Tensors: ...

    def optimizer_tensors(self, optimizer: O) -> Tensors:
        """`first.<name>` and `second.<name>` of every weight, and `steps`, one float32."""
        ...

    def load_weights(self, tensors: Tensors) -> W:
        """Copies tensors of `shapes`: they may be views of a file that goes away."""
        ...

    def load_optimizer(self, tensors: Tensors) -> O: ...


class TensorStored(Generic[W, O]):
    """Tensors are written one at a time and read through a memory map: a checkpoint may be larger than memory."""

    def __init__(self, named: NamedTensors[W, O]):
        self._named = named

    def weight_digest(self, weights: W) -> str:
        return digest_tensors(self._named.weight_tensors(weights))

    def optimizer_digest(self, optimizer: O) -> str:
        return digest_tensors(self._named.optimizer_tensors(optimizer))

    def holds(self, weights: W) -> bool:
        return True

    def names(self) -> Sequence[str]:
        return ("model.safetensors", "optimizer.safetensors")

    def write(self, folder: str, weights: W, optimizer: O) -> list[dict[str, int | str]]:
        tensors = (self._named.weight_tensors(weights), self._named.optimizer_tensors(optimizer))
        return [
            write_file(folder, name, safetensors_parts(part, {"format": "1"}))
            for name, part in zip(self.names(), tensors, strict=True)
        ]

    def read(self, path: str, contents: Mapping[str, Buffer]) -> Loaded[W, O]:
        shapes = dict(self._named.shapes())
        moments = {
            f"{moment}.{name}": shape for name, shape in shapes.items() for moment in ("first", "second")
        }
        weights = _tensors(path, "model.safetensors", contents, shapes)
        optimizer = _tensors(path, "optimizer.safetensors", contents, moments | {"steps": (1,)})
        return Loaded(
            digest_tensors(weights),
            digest_tensors(optimizer),
            lambda: self._named.load_weights(weights),
            lambda: self._named.load_optimizer(optimizer),
        )


def write_file(folder: str, name: str, parts: Iterable[Buffer]) -> dict[str, int | str]:
    """Writes and syncs a new file. Its entry in a manifest."""
    digest, size = hashlib.sha256(), 0
    with open(os.path.join(folder, name), "xb") as file:
        for part in parts:
            file.write(part)
            digest.update(part)
            size += len(part)
        file.flush()
        os.fsync(file.fileno())
    return {"name": name, "bytes": size, "sha256": digest.hexdigest()}


def _tensors(
    path: str, name: str, contents: Mapping[str, Buffer], shapes: dict[str, tuple[int, ...]]
) -> dict[str, np.ndarray]:
    place = os.path.join(path, name)
    tensors, _ = decode_safetensors(contents[name], place)
    require_tensors(tensors, shapes, place)
    return tensors
