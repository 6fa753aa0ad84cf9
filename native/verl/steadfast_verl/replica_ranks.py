"""Ranks over Ray whose GPUs they share with replicas: one life of both. Weights go over by Verl's own transfer."""

import os
import uuid
from collections.abc import Sequence

from omegaconf import DictConfig, OmegaConf

from .ray_ranks import RayRanks
from .replicas import Replicas


class ReplicaRanks(RayRanks):
    def __init__(self, config: DictConfig, per_host: Sequence[int]):
        config = config.copy()
        # What Verl hands on to both ends of a transfer. Nobody else reaches replicas in a cluster of our own.
        address = None if os.environ.get("RAY_ADDRESS") else "127.0.0.1"
        custom = {"lane": uuid.uuid4().hex, "address": address}
        OmegaConf.update(config, "rollout.custom", custom, force_add=True)
        super().__init__(config, "actor_rollout", per_host)
        self._config, self._gpus_per_host = config, per_host[0]
        self._replicas: Replicas | None = None
        self._awake = False

    @property
    def replicas(self) -> Replicas:
        """Once they are started."""
        assert self._replicas is not None
        return self._replicas

    def start(self, base: str) -> list[dict]:
        facts = super().start(base)
        with_room(self._config.rollout, facts[0]["longest"])
        self._replicas = Replicas(self._config, self._gpus_per_host, self.group)
        self._replicas.launch()
        self._awake = True
        self.sleep()
        return facts

    def sleep(self) -> None:
        if self._awake:
            self.replicas.sleep()
            self._awake = False

    def hand_over(self, version: str) -> Replicas:
        """The replicas, awake with this version of the weights, and nothing of another in their caches."""
        self.sleep()
        self._awake = True
        # A transfer to an engine that has died would be waited for for ever.
        self.call("hand_over", [(version,)] * len(self.group.workers), self.replicas.check)
        return self.replicas

    def check(self) -> None:
        self.replicas.check()

    def end(self) -> None:
        if self._replicas is not None:
            self._replicas.end()
        super().end()


def with_room(rollout: DictConfig, longest: int) -> None:
    """vLLM wants room for one token after a sequence that is only scored, and bounds a reply by what it takes for Verl's."""
    if rollout.max_model_len is not None:
        rollout.max_model_len = min(rollout.max_model_len + 1, longest)
    rollout.response_length = longest
