"""Named float32 tensors: the safetensors file format, and digests.

File: 8-byte little-endian header length, JSON header `{name: {dtype, shape, data_offsets}, "__metadata__"}`,
then the raw little-endian bytes. Source: the format page of the safetensors project.
"""

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from mmap import mmap

import numpy as np

_DTYPES = {"F32": np.dtype("<f4"), "I32": np.dtype("<i4"), "I64": np.dtype("<i8"), "U8": np.dtype("u1")}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def safetensors_parts(
    tensors: Mapping[str, np.ndarray], metadata: dict[str, str]
) -> Iterator[bytes | memoryview]:
    """The file in parts, one a tensor: each array is asked for twice, and never held beyond its part.

    Tensors in name order, so that equal content is equal bytes.
    """
    header: dict[str, object] = {"__metadata__": metadata}
    offset = 0
    for name in sorted(tensors):
        array = tensors[name]
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    yield struct.pack("<Q", len(text)) + text
    for name in sorted(tensors):
        yield np.ascontiguousarray(tensors[name]).reshape(-1).view(np.uint8).data


def encode_safetensors(tensors: Mapping[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    """The whole file."""
    return b"".join(safetensors_parts(tensors, metadata))


def decode_safetensors(data: bytes | mmap, place: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Tensors (read-only views of `data`) and metadata. Raises `ValueError` naming `place` for anything malformed."""
    if len(data) < 8:
        raise ValueError(f"{place}: expected a safetensors file, found {len(data)} bytes")
    (length,) = struct.unpack_from("<Q", data)
    if length > len(data) - 8:
        raise ValueError(
            f"{place}: expected a header of {length} bytes, found {len(data) - 8} bytes after the length"
        )
    try:
        header = json.loads(data[8 : 8 + length])
    except ValueError as error:
        raise ValueError(f"{place}: expected a JSON header, found {error}") from error
    if not isinstance(header, dict):
        raise ValueError(f"{place}: expected a JSON object as header, found {type(header).__name__}")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError(f"{place}: expected text by name as metadata")
    tensors = {name: _tensor(data, 8 + length, name, entry, place) for name, entry in header.items()}
    return tensors, metadata


def _tensor(data: bytes | mmap, start: int, name: str, entry: object, place: str) -> np.ndarray:
    try:
        dtype = _DTYPES[entry["dtype"]]
        shape = tuple(int(n) for n in entry["shape"])
        begin, end = (int(n) for n in entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{place}: tensor {name}: expected dtype, shape and data_offsets, found {entry}"
        ) from error
    count = int(np.prod(shape, dtype=np.int64))
    if begin < 0 or end - begin != count * dtype.itemsize or start + end > len(data):
        raise ValueError(
            f"{place}: tensor {name}: expected {count * dtype.itemsize} bytes, found a range of {end - begin}"
        )
    return np.frombuffer(data, dtype, count, start + begin).reshape(shape)


def digest_tensors(tensors: Mapping[str, np.ndarray]) -> str:
    """`sha256:` over each tensor in name order: name, NUL, shape as JSON, NUL, little-endian float32 bytes."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name], dtype="<f4")
        digest.update(
            name.encode() + b"\0" + json.dumps(list(array.shape), separators=(",", ":")).encode() + b"\0"
        )
        digest.update(array.data)
    return "sha256:" + digest.hexdigest()


def require_tensors(tensors: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]], place: str) -> None:
    """Raises `ValueError` naming the tensor for a missing, extra, other-shaped or not finite one."""
    for name in sorted(shapes.keys() | tensors.keys()):
        found = tensors[name].shape if name in tensors else None
        if found != shapes.get(name):
            raise ValueError(f"{place}: tensor {name}: expected shape {shapes.get(name)}, found {found}")
        if tensors[name].dtype != np.float32 or not np.isfinite(tensors[name]).all():
            raise ValueError(
                f"{place}: tensor {name}: expected finite float32, found {tensors[name].dtype} or not finite"
            )
