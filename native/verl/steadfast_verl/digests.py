"""One digest of tensors whose parts were hashed by different ranks."""

import hashlib
from collections.abc import Mapping, Sequence


def joined_digest(parts: Sequence[Mapping[str, str]]) -> str:
    """`sha256:` over, for each tensor in name order: name, NUL, its SHA-256 (of shape and float32 bytes), newline.

    Each tensor is hashed whole, so the digest is the same however many ranks hold it. Raises `ValueError` for a tensor
    that two ranks have hashed.
    """
    hashes: dict[str, str] = {}
    for found in parts:
        for name, value in found.items():
            if hashes.setdefault(name, value) != value:
                raise ValueError(f"tensor {name}: two ranks found different bytes")
    digest = hashlib.sha256()
    for name in sorted(hashes):
        digest.update(f"{name}\0{hashes[name]}\n".encode())
    return "sha256:" + digest.hexdigest()
