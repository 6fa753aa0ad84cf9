"""Verl's configuration, composed by Hydra from Verl's own files and the run's settings, and held to what an update here is.

The loss must be the pipeline's: Verl's `vanilla` policy loss with `loss_agg_mode` token-mean, whose denominator is the
sampled tokens of all ranks. What a plan says (learning rate, weight decay, clip, gradient norm) goes into each step.
"""

import os

import verl
from hydra import compose, initialize_config_module
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from steadfast_protocol.faults import TrainerFault, UsageError
from steadfast_protocol.plan import Plan

_ACTOR = "actor_rollout_ref.actor"

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


class Configuration:
    """`actor_rollout_ref` is what Verl's workers are made with."""

    def __init__(self, settings: list[str], device: str):
        """Raises `UsageError` for settings that Verl does not know, or that would train something else."""
        self.device = device
        config = _compose(settings)
        for name, expected, why in _MUST:
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
        self.tokens_per_pass = int(actor.ppo_max_token_len_per_gpu) * int(
            actor.ulysses_sequence_parallel_size
        )

    @property
    def world(self) -> int:
        return sum(self.per_host)

    def require(self, plan: Plan) -> None:
        """Raises `bad_request`: the clip is part of the loss that the ranks were started with."""
        for name, wanted, has in (
            ("clip", plan.clip, self.clip),
            ("dualClip", plan.dual_clip, self.dual_clip),
        ):
            if wanted != has:
                raise TrainerFault("bad_request", f"plan.{name}: expected {has}, as started, found {wanted}")

    def parameters_of(self, facts: dict) -> int:
        return facts["parameters"]


def _compose(settings: list[str]) -> DictConfig:
    try:
        with initialize_config_module(config_module="verl.trainer.config", version_base=None):
            return compose("ppo_trainer", overrides=settings)
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError("--command", f"settings of Verl {verl.__version__}", str(error)[:500]) from error
