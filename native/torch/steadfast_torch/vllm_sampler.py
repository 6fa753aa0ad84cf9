"""Sampling through a vLLM server: versions are written as folders, loaded, and asked for under our own names.

Requests go through the trainer, so one place knows which weights the server holds. Adapters lie beside each other in
the server. A whole model is there once: a request for another version waits until nothing runs, and changes it.
"""

import asyncio
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from steadfast_protocol.samplers import Request

from .versions import VersionedSampler, Versions, W
from .vllm_server import VllmServer, hang_up


class VllmSampler(VersionedSampler[W]):
    """`write(weights, path)` makes a folder that vLLM loads: adapters, or a whole model.

    `folder` holds one such folder a version; `rows` requests are at the server at once.
    """

    def __init__(
        self,
        write: Callable[[W, str], None],
        adapters: bool,
        server: VllmServer,
        folder: str,
        versions: int,
        rows: int,
    ):
        self._write, self._whole = write, not adapters
        self._server, self._folder = server, os.path.abspath(folder)
        self._served = server.model()
        super().__init__(Versions(versions, self._leave))
        self._requests = ThreadPoolExecutor(rows, "vllm")
        self._loading = ThreadPoolExecutor(1, "vllm-load")
        #: Versions that the server can be asked for now.
        self._loaded: set[str] = set()
        self._change = asyncio.Condition()
        self._running = 0
        shutil.rmtree(self._folder, ignore_errors=True)
        os.makedirs(self._folder)

    async def publish(self, name: str, weights: W) -> None:
        self._versions.publish(name, weights)
        async with self._change:
            await self._load(name)

    async def run(self, name: str, request: Request) -> Request:
        version = self._versions[name]
        version.running += 1
        try:
            # vLLM 0.32 started with --enable-lora dies of log-probabilities of a prompt when anything else runs.
            if request.score:
                await self._alone(name, request)
            else:
                await self._beside_others(name, request)
        finally:
            version.running -= 1
        return request

    async def _alone(self, name: str, request: Request) -> None:
        """Nobody else begins meanwhile: that takes `_change`."""
        async with self._change:
            while self._running > 0:
                await self._change.wait()
            await self._load(name)
            await self._ask(name, request)

    async def _beside_others(self, name: str, request: Request) -> None:
        async with self._change:
            await self._load(name)
            self._running += 1
        try:
            await self._ask(name, request)
        finally:
            async with self._change:
                self._running -= 1
                self._change.notify_all()

    async def _ask(self, name: str, request: Request) -> None:
        model = self._served if self._whole else name
        connection = self._server.connect()
        try:
            await asyncio.get_running_loop().run_in_executor(
                self._requests, self._server.complete, model, request, connection
            )
        finally:
            hang_up(connection)

    async def _load(self, name: str) -> None:
        """Inside `_change`: afterwards the server answers for `name`, and for nothing else where it holds one model."""
        while name not in self._loaded:
            if self._whole and self._running > 0:
                await self._change.wait()
                continue
            # What fails half-way is not taken for loaded.
            if self._whole:
                self._loaded.clear()
            await asyncio.get_running_loop().run_in_executor(
                self._loading, self._write_and_load, name, self._versions[name].weights
            )
            self._loaded.add(name)

    def _write_and_load(self, name: str, weights: W) -> None:
        folder = self._folder_of(name)
        self._write(weights, folder)
        if self._whole:
            self._server.load(folder)
        else:
            self._server.load_adapter(name, folder)

    def _leave(self, name: str) -> None:
        if name in self._loaded and not self._whole:
            self._loading.submit(self._server.unload_adapter, name)
        self._loaded.discard(name)
        self._loading.submit(shutil.rmtree, self._folder_of(name), True)

    def _folder_of(self, name: str) -> str:
        return os.path.join(self._folder, name.removeprefix("sha256:"))


#: What `capabilities` says of it: kernels of other batch sizes round otherwise.
VLLM_SAMPLING: dict[str, object] = {"by": "vllm", "batchInvariant": False}


def sampler_bound(sampling: dict[str, object], dtype: str) -> dict[str, float]:
    """Of `capabilities`. In bfloat16 two kernels differ by some hundredths of a nat, and now and then by more; in float32 by 2e-6."""
    return {"probeBound": 0.5} if sampling["by"] == "vllm" and dtype != "float32" else {}
