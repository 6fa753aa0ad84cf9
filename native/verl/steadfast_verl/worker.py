"""One rank: Verl's actor worker, with what the contract needs beside it.

Every method is called on all ranks at once and with the same version, since all of them compute together; it returns
what this rank found. What a caller may have done wrong comes back as `Refused`, agreed on by all ranks. Anything that
is raised is the end of the whole group: the others may wait in a collective for ever.
"""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import ray
import torch
import torch.distributed
from omegaconf import DictConfig
from verl.utils import tensordict_utils as tu
from verl.utils.device import get_device_id, get_device_name, get_nccl_backend
from verl.utils.fsdp_utils import offload_fsdp_optimizer
from verl.workers.engine_workers_tinker import TinkerActorRolloutRefWorker

from steadfast_protocol.sampling import SamplingOptions, sample
from steadfast_protocol.stored import write_file
from steadfast_protocol.tensors import safetensors_parts

from .data import responses_of, to_tensordict
from .rows import Row
from .shards import EngineShards, HashingFile, locals_of


@dataclass(frozen=True)
class Refused:
    """`code`: `bad_checkpoint` or `disk`; `number` of the operating system where it has one."""

    code: str
    message: str
    number: int = 0


class BridgeWorker(TinkerActorRolloutRefWorker):
    def __init__(self, config: DictConfig, role: str):
        if not torch.distributed.is_initialized():
            # Verl names a backend for the CPU and one for the device, which may not be the same.
            backend = (
                "gloo" if get_device_name() == "cpu" else f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"
            )
            torch.distributed.init_process_group(
                backend, rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"])
            )
        if get_device_name() == "cpu":
            torch.set_num_threads(1)
            torch.use_deterministic_algorithms(True, warn_only=True)
        super().__init__(config=config, role=role)
        self._staged: tuple[dict, dict] | None = None

    def start(self, base: str) -> dict:
        """Loads the model; its weights are kept as `base`. Facts of it and of this rank."""
        self.init_model()
        engine = self.actor.engine
        self._shards = EngineShards(engine)
        self._shards.keep(base)
        if self.rollout is not None:
            self.rollout.zmq_handle = lane_of(self.rollout.zmq_handle, self.config.rollout.custom.lane)
        config = self.actor.model_config.hf_config
        return {
            "process": os.getpid(),
            "group": engine.get_data_parallel_rank(),
            "groups": engine.get_data_parallel_size(),
            "answers": engine.is_mp_src_rank_with_outputs(),
            "vocab": config.vocab_size,
            "architecture": self.actor.model_config.architectures[0],
            "name": config.model_type,
            "longest": config.max_position_embeddings,
            "parameters": sum(parameter.numel() for parameter in self._shards.parameters.values()),
            "dtype": str(engine._autocast_dtype).removeprefix("torch."),
            "torch": torch.__version__,
        }

    async def hand_over(self, version: str) -> None:
        """To the replica on this GPU, which is asleep before and awake afterwards."""
        self._shards.use(version)
        await self.update_weights(mode="naive")

    def drop(self, names: list[str]) -> None:
        self._shards.drop(names)

    def score(
        self, version: str, rows: list[Row], entropy: bool
    ) -> tuple[list[np.ndarray], list[np.ndarray]] | None:
        """(log-probabilities, entropies) of the responses, by the training pass; None where another rank answers."""
        self._shards.use(version)
        output = self.actor.infer_batch(to_tensordict(rows, entropy, loss=False))
        if output is None:
            return None
        return (
            responses_of(output, "log_probs", rows),
            responses_of(output, "entropy", rows) if entropy else [],
        )

    def learn(
        self, version: str, new: str, rows: list[Row], step: dict[str, float], most_norm: float
    ) -> tuple[float, float, list[np.ndarray]] | None:
        """(loss, gradient norm before it is cut, log-probabilities) of one step from `version`; keeps the result as `new`.

        A gradient that is not finite changes nothing, and `new` is not there.
        """
        self._shards.use(version)
        engine = self.actor.engine
        engine.optimizer_config.clip_grad = most_norm
        self.actor.optimizer_zero_grad()
        output = self.actor.forward_backward(to_tensordict(rows, entropy=False, loss=True))
        self._shards.moved()
        norm = self._step(step)
        if np.isfinite(norm):
            self._shards.keep(new)
        else:
            self._shards.use(version)
        if output is None:
            return None
        return float(tu.get(output, "metrics")["loss"]), norm, responses_of(output, "log_probs", rows)

    def _step(self, step: dict[str, float]) -> float:
        for group in self.actor.engine.optimizer.param_groups:
            # A setting of 0 is a whole number, and Verl takes only values of the same type in its place.
            group.update({name: float(group[name]) for name in step})
        metrics = self.actor.optimizer_step(step)
        # Only ranks that answer have it.
        found = [None] * self.world_size
        torch.distributed.all_gather_object(found, metrics.get("grad_norm"))
        return float(next(norm for norm in found if norm is not None))

    def fresh_optimizer(self) -> None:
        self.actor.engine.optimizer.state.clear()

    def weight_hashes(self, version: str) -> dict[str, str]:
        return self._shards.weight_hashes(version)

    def moment_hashes(self) -> dict[str, str]:
        state = self.actor.engine.optimizer.state
        return self._shards.moment_hashes(lambda _index, parameter: state.get(parameter, {}))

    def files(self) -> list[str]:
        """Of all ranks, as Verl names them."""
        ranks = [f"world_size_{self.world_size}_rank_{rank}.pt" for rank in range(self.world_size)]
        kinds = ("model", "optim", "extra_state")
        return [*(f"{kind}_{rank}" for kind in kinds for rank in ranks), "fsdp_config.json"]

    def save(self, version: str, folder: str) -> list[dict[str, int | str]] | Refused:
        """Entries of the files that this rank wrote: the layout of Verl's own checkpoints."""
        self._shards.use(version)
        engine, mine = self.actor.engine, f"world_size_{self.world_size}_rank_{self.rank}.pt"
        manager = engine.checkpoint_manager
        _ = self._shards.parameters
        contents = {
            f"model_{mine}": engine.module.state_dict,
            f"optim_{mine}": engine.optimizer.state_dict,
            f"extra_state_{mine}": lambda: {
                "lr_scheduler": engine.lr_scheduler.state_dict(),
                "rng": manager.get_rng_state(),
            },
        }
        entries: list[dict[str, int | str]] = []

        def write() -> None:
            for name, state in contents.items():
                entries.append(HashingFile(folder, name).save(state()))
            if self.rank == 0:
                entries.append(_write_json(folder, "fsdp_config.json", self.world_size))

        refused = self._agreed(write)
        return entries if refused is None else refused

    def stage(self, folder: str) -> tuple[dict[str, str], dict[str, str]] | Refused:
        """Reads this rank's files, and says what they hold: (hashes of the weights, of the moments). Uses nothing yet."""
        mine = f"world_size_{self.world_size}_rank_{self.rank}.pt"
        self._staged = None
        parameters = self._shards.parameters

        def read() -> None:
            place = os.path.join(folder, f"model_{mine}")
            weights = locals_of(_load(place), parameters, place)
            place = os.path.join(folder, f"optim_{mine}")
            optimizer = _load(place)
            if set(optimizer["state"]) not in (set(), set(range(len(parameters)))):
                raise ValueError(f"{place}: expected moments of {len(parameters)} tensors")
            for (name, parameter), state in zip(
                parameters.items(), optimizer["state"].values(), strict=False
            ):
                moments = {name: state["exp_avg"]}, {name: state["exp_avg_sq"]}
                for moment in moments:
                    locals_of(moment, {name: parameter}, place)
            self._staged = weights, optimizer

        refused = self._agreed(read)
        if refused is not None:
            return refused
        weights, optimizer = self._staged
        hashes = self._shards.hashes(
            {name: (parameter, lambda name=name: weights[name]) for name, parameter in parameters.items()}
        )
        return hashes, self._shards.moment_hashes(lambda index, _parameter: optimizer["state"].get(index, {}))

    def export(self, version: str, folder: str) -> Refused | None:
        """Rank 0 writes `model.safetensors` in float32; the others help to gather each tensor."""
        whole = self._shards.whole(version)
        # Transformers reads no file without this word.
        parts = safetensors_parts(whole, {"format": "pt"})

        def write() -> None:
            try:
                if self.rank == 0:
                    write_file(folder, "model.safetensors", parts)
            finally:
                # Whatever happens to the file: the others wait in the next tensor.
                for _ in parts:
                    pass

        return self._agreed(write)

    def take_weights(self, name: str) -> None:
        self._shards.put(name, self._staged[0])

    def take_optimizer(self) -> None:
        engine = self.actor.engine
        self.fresh_optimizer()
        engine.optimizer.load_state_dict(self._staged[1])
        if engine.is_optimizer_offload_enabled:
            offload_fsdp_optimizer(engine.optimizer)

    def leave_staged(self) -> None:
        self._staged = None

    @torch.no_grad()
    def complete(
        self, version: str, ids: np.ndarray, options: SamplingOptions, most: int, stop: frozenset[int]
    ) -> tuple[list[int], list[float], str]:
        """(tokens, log-probabilities, finish). All ranks sample the same token: its number is a hash of seed and place."""
        self._shards.use(version)
        tokens, logprobs, cache, fed, known = [], [], None, ids, len(ids)
        with self.actor.engine.eval_mode(), self._shards.gathered():
            while True:
                logits, cache = self._forward(fed, cache, 1)
                chosen, of_them = sample(logits[-1:], [options], [known])
                token, known = self._same(int(chosen[0])), known + 1
                tokens.append(token)
                logprobs.append(float(of_them[0]))
                if token in stop:
                    return tokens, logprobs, "stop"
                if len(tokens) >= most:
                    return tokens, logprobs, "length"
                fed = np.array([token])

    @torch.no_grad()
    def score_alone(self, version: str, ids: np.ndarray) -> list[float]:
        """Log-probabilities of the tokens from the second on, by the pass that samples."""
        self._shards.use(version)
        with self.actor.engine.eval_mode():
            logits, _ = self._forward(ids[:-1], None, 0)
        logs = torch.log_softmax(torch.from_numpy(logits), -1)
        return logs.gather(-1, torch.from_numpy(ids[1:].astype(np.int64))[:, None])[:, 0].tolist()

    def _forward(self, ids: np.ndarray, cache: object, last: int) -> tuple[np.ndarray, object]:
        """(float32 logits of the `last` positions, or of all; cache)."""
        inputs = torch.from_numpy(ids.astype(np.int64))[None].to(get_device_id())
        engine = self.actor.engine
        mixed = engine._autocast_dtype != torch.float32
        with torch.autocast(get_device_name(), engine._autocast_dtype, enabled=mixed):
            out = engine.module(input_ids=inputs, past_key_values=cache, use_cache=True, logits_to_keep=last)
        return out.logits[0].float().cpu().numpy(), out.past_key_values

    def _same(self, token: int) -> int:
        """Rank 0's: GPUs of two kinds may round differently, and then the ranks would part."""
        if self.world_size == 1:
            return token
        shared = torch.tensor([token], device=get_device_id())
        torch.distributed.broadcast(shared, 0)
        return int(shared)

    def _agreed(self, work: Callable[[], None]) -> Refused | None:
        """Does it on every rank; what the first rank met that could not, if one could not."""
        problem = None
        try:
            work()
        except OSError as error:
            problem = Refused("disk", str(error), error.errno or errno.EIO)
        except (ValueError, KeyError, TypeError, RuntimeError, EOFError) as error:
            problem = Refused("bad_checkpoint", f"{type(error).__name__}: {error}")
        found: list[Refused | None] = [None] * self.world_size
        torch.distributed.all_gather_object(found, problem)
        return next((refused for refused in found if refused is not None), None)


def lane_of(handle: str, lane: str) -> str:
    """Verl's name of the socket to a replica, `....-JOB-replica-...`, with `lane` for the number of the job (replicas.py)."""
    job = ray.get_runtime_context().get_job_id()
    if f"-{job}-replica-" not in handle:
        raise RuntimeError(f"the socket of a replica: expected -{job}-replica- in its name, found {handle}")
    return handle.replace(f"-{job}-replica-", f"-{lane}-replica-")


def _load(path: str) -> dict:
    value = torch.load(path, map_location="cpu", weights_only=False)
    if not isinstance(value, dict):
        raise ValueError(f"{path}: expected a state dict, found {type(value).__name__}")
    return value


def _write_json(folder: str, name: str, world: int) -> dict[str, int | str]:
    text = json.dumps({"FSDP_version": 2, "world_size": world}, indent=4).encode()
    return write_file(folder, name, [text])
