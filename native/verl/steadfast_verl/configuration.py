"""Verl's configuration, composed by Hydra from Verl's own files and the run's settings, and held to what an update here is.

The loss must be the pipeline's: Verl's `vanilla` policy loss with `loss_agg_mode` token-mean, whose denominator is the
sampled tokens of all ranks. What a plan says (learning rate, weight decay, clip, gradient norm) goes into each step.
"""

import math
import os

import verl
from hydra import compose, initialize_config_module
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from steadfast_protocol.faults import TrainerFault, UsageError
from steadfast_protocol.plan import Plan

_ACTOR = "actor_rollout_ref.actor"
_ROLLOUT = "actor_rollout_ref.rollout"

#: Name of a setting, what it must be, and why.
_MUST: tuple[tuple[str, object, str], ...] = (
    (
        f"{_ACTOR}.strategy",
        "fsdp2",
        "its parameters are sharded tensors that can be kept and hashed one by one",
    ),
    (f"{_ACTOR}.loss_agg_mode", "token-mean", "the pipeline's denominator"),
    (f"{_ACTOR}.policy_loss.loss_mode", "vanilla", "the pipeline's loss"),
    (f"{_ACTOR}.entropy_coeff", 0, "the pipeline's loss"),
    (f"{_ACTOR}.use_kl_loss", False, "the pipeline's loss"),
    (f"{_ACTOR}.use_dynamic_bsz", True, "episodes differ in length"),
    (f"{_ACTOR}.optim.optimizer", "AdamW", "its moments are what a checkpoint is verified by"),
    ("actor_rollout_ref.model.lora_rank", 0, "adapters are not driven from here"),
)

#: The same where Verl's replicas sample.
_REPLICAS_MUST: tuple[tuple[str, object, str], ...] = (
    (f"{_ROLLOUT}.name", "vllm", "the replicas that are driven from here"),
    (f"{_ROLLOUT}.logprobs_mode", "raw_logprobs", "of the full softmax, as the trainer's"),
    (f"{_ROLLOUT}.free_cache_engine", True, "the ranks compute on the same GPUs"),
    (f"{_ROLLOUT}.checkpoint_engine.backend", "naive", "each rank hands weights to its own GPU"),
    (f"{_ROLLOUT}.disaggregation.enabled", False, "a replica is one engine"),
)

#: On the CPU vLLM knows no sleep, and must keep what weights are loaded into (cpu_replica).
_CPU_REPLICAS = [
    f"++{_ROLLOUT}.enable_sleep_mode=False",
    f"++{_ROLLOUT}.engine_kwargs.vllm.worker_extension_cls=steadfast_verl.cpu_replica.CpuExtension",
]


class Configuration:
    """`actor_rollout_ref` is what Verl's workers are made with."""

    def __init__(self, settings: list[str], device: str, replicas: bool = False):
        """Raises `UsageError` for settings that Verl does not know, or that would train something else.

        `replicas`: Verl's own sample, on the GPUs of the ranks.
        """
        self.device = device
        config = _compose([*settings, *_CPU_REPLICAS] if replicas and device == "cpu" else settings)
        for name, expected, why in (*_MUST, *(_REPLICAS_MUST if replicas else ())):
            found = OmegaConf.select(config, name)
            if found != expected:
                raise UsageError(name, f"{expected} ({why})", str(found))
        self.version = f"verl-{verl.__version__}"
        self.actor_rollout_ref: DictConfig = config.actor_rollout_ref
        self.per_host = [config.trainer.n_gpus_per_node] * config.trainer.nnodes
        self.model = os.path.abspath(config.actor_rollout_ref.model.path)
        actor = config.actor_rollout_ref.actor
        self.clip, self.dual_clip = float(actor.clip_ratio), float(actor.clip_ratio_c)
        if (actor.clip_ratio_low, actor.clip_ratio_high) != (actor.clip_ratio, actor.clip_ratio):
            raise UsageError(
                f"{_ACTOR}.clip_ratio_low", "clip_ratio on both sides", str(actor.clip_ratio_low)
            )
        self.betas = tuple(float(beta) for beta in actor.optim.betas)
        #: In tokens. It goes through the model in one piece.
        self.longest = int(actor.ppo_max_token_len_per_gpu) * int(actor.ulysses_sequence_parallel_size)
        if replicas:
            self._require_places()
            self.longest = min(self.longest, self.actor_rollout_ref.rollout.max_model_len or self.longest)

    @property
    def world(self) -> int:
        return sum(self.per_host)

    @property
    def places(self) -> int:
        """Sequences that all replicas compute at once."""
        rollout = self.actor_rollout_ref.rollout
        return self.world // replica_size(rollout) * int(rollout.max_num_seqs)

    def require(self, plan: Plan) -> None:
        """Raises `bad_request`: the clip is part of the loss that the ranks were started with."""
        for name, wanted, has in (
            ("clip", plan.clip, self.clip),
            ("dualClip", plan.dual_clip, self.dual_clip),
        ):
            if wanted != has:
                raise TrainerFault("bad_request", f"plan.{name}: expected {has}, as started, found {wanted}")

    def _require_places(self) -> None:
        """Raises `UsageError` where replicas do not fill the hosts."""
        size, host = replica_size(self.actor_rollout_ref.rollout), self.per_host[0]
        if self.world % size or (host % size and size % host):
            expected = f"replicas that fill hosts of {host} GPUs, {self.world} in all"
            raise UsageError(f"{_ROLLOUT}.tensor_model_parallel_size", expected, f"replicas of {size} GPUs")

    def parameters_of(self, facts: dict) -> int:
        return facts["parameters"]


def replica_size(rollout: DictConfig) -> int:
    """GPUs of one replica."""
    parts = ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size")
    return math.prod(int(rollout[part]) for part in parts)


def _compose(settings: list[str]) -> DictConfig:
    try:
        with initialize_config_module(config_module="verl.trainer.config", version_base=None):
            return compose("ppo_trainer", overrides=settings)
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError("--command", f"settings of Verl {verl.__version__}", str(error)[:500]) from error
