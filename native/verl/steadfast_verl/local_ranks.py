"""One rank in this process, without Ray: one GPU, or the CPU."""

import os
from collections.abc import Callable, Sequence

import torch.distributed


class LocalRanks:
    def __init__(self, make: Callable[[], object]):
        # What Verl's workers read about their place; nothing connects to it.
        os.environ.update(
            RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1", RAY_LOCAL_WORLD_SIZE="1"
        )
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", WG_BACKEND="ray")
        if not torch.distributed.is_initialized():
            from verl.utils.device import get_device_name, get_nccl_backend

            device = get_device_name()
            backend = "gloo" if device == "cpu" else f"cpu:gloo,{device}:{get_nccl_backend()}"
            store = torch.distributed.HashStore()
            torch.distributed.init_process_group(backend, store=store, rank=0, world_size=1)
        self._worker = make()

    def start(self, base: str) -> list[dict]:
        return self.call("start", [(base,)])

    def call(self, method: str, arguments: Sequence[tuple]) -> list:
        return [getattr(self._worker, method)(*arguments[0])]

    def end(self) -> None:
        self._worker = None
