"""A rank's shards: versions of the weights kept in its memory, and digests that do not depend on the number of ranks.

The engine has one set of weights. Others (the base, published ones, those that are served) lie beside it as copies of
the rank's own shards, and are put into the engine when something is computed with them.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
import torch.distributed
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

Shards = dict[str, torch.Tensor]


class EngineShards:
    """The parameters of Verl's FSDP2 engine by their names in the model, and the optimizer's state of each."""

    def __init__(self, engine: object):
        self._engine = engine
        self._kept: dict[str, Shards] = {}
        #: Version that is in the engine.
        self._in_use: str | None = None

    @property
    def parameters(self) -> dict[str, torch.nn.Parameter]:
        """Sharded: what a forward pass has gathered is given up first."""
        for module in self._engine.module.modules():
            if isinstance(module, FSDPModule):
                module.reshard()
        return dict(self._engine.module.named_parameters())

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Every rank has the whole model inside: one forward pass after the other needs no communication."""
        layers = [m for m in self._engine.module.modules() if isinstance(m, FSDPModule)][1:]
        for layer in layers:
            layer.set_reshard_after_forward(False, recurse=False)
        try:
            yield
        finally:
            for layer in layers:
                layer.set_reshard_after_forward(
                    self._engine.engine_config.reshard_after_forward, recurse=False
                )
                layer.reshard()

    def keep(self, name: str) -> None:
        """What is in the engine now, under `name`."""
        self._kept[name] = {n: _local(p).to("cpu", copy=True) for n, p in self.parameters.items()}
        self._in_use = name

    def put(self, name: str, shards: Shards) -> None:
        self._kept[name] = shards

    def use(self, name: str) -> None:
        """Raises `KeyError` for a version that is not kept."""
        if self._in_use == name:
            return
        shards, self._in_use = self._kept[name], None
        with torch.no_grad():
            for n, parameter in self.parameters.items():
                _local(parameter).copy_(shards[n])
        self._in_use = name

    def moved(self) -> None:
        """The engine's weights are about to change: no version is in it any more."""
        self._in_use = None

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._kept.pop(name, None)
            if self._in_use == name:
                self._in_use = None

    def whole(self, name: str) -> Mapping[str, np.ndarray]:
        """Whole tensors by name, each gathered from all ranks when it is asked for: by all of them in one order."""
        shards, parameters = self._kept[name], self.parameters
        return Gathered(parameters, lambda n: _whole(parameters[n], shards[n]))

    def weight_hashes(self, name: str) -> dict[str, str]:
        shards = self._kept[name]
        return self.hashes({n: (p, _shard(shards[n])) for n, p in self.parameters.items()})

    def moment_hashes(
        self, state_of: Callable[[int, torch.nn.Parameter], Mapping[str, torch.Tensor]]
    ) -> dict[str, str]:
        """`state_of(index, parameter)`: its state, empty before the first step, which is like moments of 0."""
        parts, steps = {}, 0.0
        for index, (name, parameter) in enumerate(self.parameters.items()):
            state = state_of(index, parameter)
            for moment, key in (("first", "exp_avg"), ("second", "exp_avg_sq")):
                found = state.get(key)
                parts[f"{moment}.{name}"] = (parameter, _zeros(parameter) if found is None else _shard(found))
            steps = float(state["step"]) if "step" in state else steps
        return self.hashes(parts) | {"steps": hash_of(torch.tensor([steps]))}

    def hashes(
        self, parts: Mapping[str, tuple[torch.nn.Parameter, Callable[[], torch.Tensor]]]
    ) -> dict[str, str]:
        """SHA-256 of each whole tensor, those that fall to this rank: the ranks share the work by turns.

        All ranks call it with the same names. Tensors are gathered one at a time.
        """
        rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
        found = {}
        for number, name in enumerate(sorted(parts)):
            parameter, local = parts[name]
            whole = _whole(parameter, local())
            if number % world == rank:
                found[name] = hash_of(whole)
        return found


class Gathered(Mapping[str, np.ndarray]):
    def __init__(self, names: Iterable[str], gather: Callable[[str], torch.Tensor]):
        self._names, self._gather = list(names), gather

    def __getitem__(self, name: str) -> np.ndarray:
        return self._gather(name).to("cpu", torch.float32).contiguous().numpy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def hash_of(tensor: torch.Tensor) -> str:
    """Of its float32 bytes, with name-independent shape in front."""
    array = tensor.detach().to("cpu", torch.float32).contiguous().numpy()
    digest = hashlib.sha256(str(list(tensor.shape)).encode() + b"\0")
    digest.update(array.data if array.ndim else array.tobytes())
    return digest.hexdigest()


def locals_of(
    tensors: Mapping[str, torch.Tensor], parameters: Mapping[str, torch.nn.Parameter], place: str
) -> Shards:
    """This rank's shards out of a state dict. Raises `ValueError` naming a tensor that does not fit the model."""
    shards = {}
    for name, parameter in parameters.items():
        if name not in tensors:
            raise ValueError(f"{place}: expected tensor {name}, found none")
        local, expected = _local(tensors[name]), _local(parameter)
        if (
            tensors[name].shape != parameter.shape
            or local.shape != expected.shape
            or local.dtype != expected.dtype
        ):
            raise ValueError(
                f"{place}: tensor {name}: expected {tuple(parameter.shape)} {parameter.dtype}, "
                f"found {tuple(tensors[name].shape)} {local.dtype}"
            )
        if not torch.isfinite(local).all():
            raise ValueError(f"{place}: tensor {name}: expected finite numbers")
        shards[name] = local.detach().to("cpu", copy=True)
    return shards


class HashingFile:
    """A new file for `torch.save`: synced in the end, with the size and SHA-256 of what was written."""

    def __init__(self, folder: str, name: str):
        self._name, self._digest, self._bytes = name, hashlib.sha256(), 0
        self._file = open(os.path.join(folder, name), "xb")  # noqa: SIM115
        #: PyTorch hides what `write` has raised.
        self._error: OSError | None = None

    def write(self, data: bytes) -> int:
        try:
            self._file.write(data)
        except OSError as error:
            self._error = error
            raise
        self._digest.update(data)
        self._bytes += len(data)
        return len(data)

    def flush(self) -> None:
        self._file.flush()

    def save(self, value: object) -> dict[str, int | str]:
        """Raises `OSError`."""
        try:
            torch.save(value, self)
            self._file.flush()
            os.fsync(self._file.fileno())
        except Exception:
            if self._error is not None:
                raise self._error from None
            raise
        finally:
            self._file.close()
        return {"name": self._name, "bytes": self._bytes, "sha256": self._digest.hexdigest()}


def _local(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach()
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _shard(tensor: torch.Tensor) -> Callable[[], torch.Tensor]:
    return lambda: _local(tensor)


def _zeros(parameter: torch.nn.Parameter) -> Callable[[], torch.Tensor]:
    return lambda: torch.zeros_like(_local(parameter))


def _whole(parameter: torch.nn.Parameter, local: torch.Tensor) -> torch.Tensor:
    if not isinstance(parameter, DTensor):
        return local
    device = torch.device(parameter.device_mesh.device_type)
    sharded = DTensor.from_local(
        local.to(device),
        parameter.device_mesh,
        parameter.placements,
        run_check=False,
        shape=parameter.shape,
        stride=parameter.stride(),
    )
    return sharded.full_tensor()
