"""Verl on the CPU: one of its platforms (`verl.plugin.platform`), with Gloo in place of NCCL.

Verl has none of its own for machines without accelerator. Loaded by Verl itself, which is told by the variables below.
"""

from contextlib import contextmanager
from types import SimpleNamespace

import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry


def _no_bytes(*_arguments: object) -> int:
    return 0


_DEVICE = SimpleNamespace(
    is_available=lambda: True,
    empty_cache=lambda: None,
    synchronize=lambda *_arguments: None,
    set_device=lambda *_arguments: None,
    current_device=lambda: torch.device("cpu"),
    memory_allocated=_no_bytes,
    memory_reserved=_no_bytes,
    max_memory_allocated=_no_bytes,
    max_memory_reserved=_no_bytes,
    mem_get_info=lambda *_arguments: (0, 0),
    manual_seed=torch.manual_seed,
    manual_seed_all=torch.manual_seed,
    get_rng_state=torch.get_rng_state,
    set_rng_state=torch.set_rng_state,
)


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):
    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _DEVICE

    def is_available(self) -> bool:
        return True

    def current_device(self) -> torch.device:
        # Verl moves tensors to it; a number would be a GPU.
        return torch.device("cpu")

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        pass

    def synchronize(self, device_index: int | None = None) -> None:
        pass

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        pass

    def empty_cache(self) -> None:
        pass

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str):
        yield

    def profiler_start(self) -> None:
        pass

    def profiler_stop(self) -> None:
        pass

    def ray_resource_name(self) -> str:
        # Ray is told of as many as there are ranks: a rank is known by the number of its own.
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        # Weights go to replicas through shared memory.
        return False

    def cudart(self) -> None:
        return None
