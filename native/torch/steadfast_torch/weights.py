"""Weights by name: what is trained, as tensors on the device, and as the NumPy arrays that the protocol speaks of."""

from collections.abc import Iterator, Mapping

import numpy as np
import torch

#: float32 tensors by parameter name. Never changed in place: what samples from them may keep them.
Weights = dict[str, torch.Tensor]


class Arrays(Mapping[str, np.ndarray]):
    """float32 arrays of tensors, made when asked for: without a copy on the CPU, one tensor at a time from a device."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]):
        self._tensors = tensors

    def __getitem__(self, name: str) -> np.ndarray:
        return self._tensors[name].detach().to("cpu", torch.float32).contiguous().numpy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def copied(arrays: Mapping[str, np.ndarray], device: torch.device) -> Weights:
    """Copies: arrays may be views of a file that goes away."""
    # `np.array` copies; `from_numpy` of a read-only view would only warn.
    return {name: torch.from_numpy(np.array(arrays[name])).to(device) for name in arrays}
