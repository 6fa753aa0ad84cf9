"""Verl's ranks behind the shared contract (`steadfast_protocol.learner`).

An update is three passes, as in Verl's own loop: log-probabilities and entropy of the weights at its start (the old
policy), those of the base, and forward, backward and optimizer step with Verl's own clipped loss.
"""

from collections.abc import Sequence

import numpy as np

from steadfast_protocol.batch import Episode
from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.importance import importance_metrics, importance_weights
from steadfast_protocol.learner import HalfDone, UpdateResult
from steadfast_protocol.mismatch import Mismatch
from steadfast_protocol.plan import Plan
from steadfast_torch.model_folder import write_folder
from steadfast_torch.vllm_sampler import sampler_bound

from . import FORMAT_VERSION
from .configuration import Configuration
from .rows import Row, joined, row_of, sampled, scoring_row, split, spread, with_old
from .stored import Moments, ShardedStored
from .workers import Lost, Weights, Workers


class VerlLearner:
    """`sampling` is what the sampler says of itself in `capabilities`."""

    def __init__(
        self,
        workers: Workers,
        configuration: Configuration,
        tokenizer_digest: str,
        sampling: dict[str, object],
    ):
        self.workers, self._sampling, self._configuration = workers, sampling, configuration
        workers.start()
        self.stored = ShardedStored(workers)
        facts = self._facts = workers.facts[0]
        self.vocab = facts["vocab"]
        self.context = min(facts["longest"], configuration.longest)
        self.base = workers.base()
        self.base_digest = self.stored.weight_digest(self.base)
        digests = f"base:{self.base_digest[7:19]} tokenizer:{tokenizer_digest[:12]}"
        version = f"verl-{FORMAT_VERSION} {configuration.version}"
        self.build = (
            f"{version} {facts['name']} v{self.vocab}-c{self.context} ranks:{workers.world} {digests}"
        )

    def fresh_optimizer(self) -> Moments:
        try:
            self.workers.call("fresh_optimizer")
        except Lost as error:
            raise TrainerFault("internal", f"the ranks were lost: {error}") from error
        return Moments(self.workers.life)

    def update(
        self, weights: Weights, optimizer: Moments, episodes: list[Episode], plan: Plan
    ) -> UpdateResult[Weights, Moments]:
        self._configuration.require(plan)
        try:
            return self._update(weights, optimizer, episodes, plan)
        except Lost as error:
            raise HalfDone(f"the ranks were lost: {error}") from error

    def _update(
        self, weights: Weights, optimizer: Moments, episodes: list[Episode], plan: Plan
    ) -> UpdateResult[Weights, Moments]:
        rows = [row_of(episode) for episode in episodes]
        tokens = sum(int(row.mask.sum()) for row in rows)
        skipped = all(episode.advantage == 0 for episode in episodes)
        old_of, entropies = self._score(weights, rows, entropy=True)
        old, entropy = sampled(rows, old_of), sampled(rows, entropies)
        sampler = np.concatenate([episode.logprobs[episode.sampled] for episode in episodes])
        mismatch = Mismatch.between(old, sampler)
        mismatch.require(plan.mismatch)
        base, _ = self._score(self.base, rows, entropy=False)
        difference = sampled(rows, base).astype(np.float64) - old
        importance = (
            None if plan.importance_cap is None else importance_weights(old, sampler, plan.importance_cap)
        )
        metrics: dict[str, float | int | bool] = {
            "skipped": skipped,
            "loss": 0.0,
            "gradNorm": 0.0,
            "clipFraction": 0.0,
            "entropy": float(entropy.mean(dtype=np.float64)),
            "klToBase": float((np.exp(difference) - difference - 1).mean()),
            **mismatch.metrics(),
            "tokens": tokens,
        }
        if importance is not None:
            metrics |= importance_metrics(importance, plan.importance_cap)
        if skipped:
            return UpdateResult(weights, optimizer, metrics)
        new = self.workers.new()
        rows = _with_old(rows, old_of, importance)
        step = {"lr": plan.learning_rate, "weight_decay": plan.weight_decay}
        answers, places = self._each("learn", rows, (weights.name, new.name), (step, plan.max_grad_norm))
        loss, norm = answers[0][0], answers[0][1]
        if not np.isfinite(norm) or not np.isfinite(loss):
            if np.isfinite(norm):
                raise HalfDone(f"the loss is {loss}")
            raise TrainerFault("bad_batch", f"the gradient's norm is {norm}: nothing was changed")
        found = joined([logprobs for _, _, logprobs in answers], places, len(rows))
        advantages = np.concatenate([np.full(int(row.mask.sum()), row.advantage) for row in rows])
        ratio = np.exp(sampled(rows, found).astype(np.float64) - old)
        metrics |= {"loss": loss, "gradNorm": norm, "clipFraction": clipped_share(advantages, ratio, plan)}
        return UpdateResult(new, optimizer, metrics)

    def sequence_logprobs(self, weights: Weights, sequences: list[np.ndarray]) -> list[list[float]]:
        self.workers.require(weights)
        try:
            found, _ = self._score(weights, [scoring_row(ids) for ids in sequences], entropy=False)
        except Lost as error:
            raise TrainerFault("internal", f"the ranks were lost: {error}") from error
        return [logprobs.tolist() for logprobs in found]

    def export(self, weights: Weights, folder: str) -> None:
        """A model folder that vLLM and Transformers load. Raises `TrainerFault`."""

        def write(aside: str) -> None:
            refused = self.workers.call("export", weights.name, aside)[0]
            if refused is not None:
                raise TrainerFault("disk", f"{folder}: {refused.message}")

        self.workers.require(weights)
        try:
            write_folder(folder, write, self._configuration.model)
        except Lost as error:
            raise TrainerFault("not_open", f"the ranks were lost: {error}") from error

    def numerics(self) -> dict[str, str]:
        facts = self._facts
        return {"verl": self._configuration.version, "torch": facts["torch"], "dtype": facts["dtype"]} | {
            "device": self._configuration.device,
            "ranks": str(self.workers.world),
        }

    def capabilities(self) -> dict[str, object]:
        facts = self._facts
        beta1, beta2 = self._configuration.betas
        return {
            "kind": "verl",
            "mismatchBound": True,
            "optimizer": {"name": "adamw", "beta1": beta1, "beta2": beta2, "restore": True},
            "model": {
                "vocab": self.vocab,
                "architecture": facts["architecture"],
                "folder": self._configuration.model,
                "parameters": self._configuration.parameters_of(facts),
                "lora": None,
            },
            "limits": {"context": self.context},
            "sampling": self._sampling,
        } | sampler_bound(self._sampling, facts["dtype"])

    def _score(
        self, weights: Weights, rows: Sequence[Row], entropy: bool
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """(log-probabilities, entropies) of each row's response."""
        answers, places = self._each("score", rows, (weights.name,), (entropy,))
        logprobs = joined([found for found, _ in answers], places, len(rows))
        return logprobs, joined([found for _, found in answers], places, len(rows)) if entropy else []

    def _each(
        self, method: str, rows: Sequence[Row], before: tuple, after: tuple
    ) -> tuple[list[tuple], list[list[int]]]:
        """(answers, places of their rows), one for each data-parallel group: ranks that share a sequence get the same."""
        facts = self.workers.facts
        parts, places = split(rows, facts[0]["groups"])
        answers = self.workers.call_each(method, [(*before, parts[fact["group"]], *after) for fact in facts])
        by_group = {
            fact["group"]: answer for fact, answer in zip(facts, answers, strict=True) if fact["answers"]
        }
        return [by_group[group] for group in range(len(parts))], places


def clipped_share(advantages: np.ndarray, ratio: np.ndarray, plan: Plan) -> float:
    """Share of tokens whose loss a bound decided. Verl's own figure is a mean of means over micro-batches."""
    plain, bounded = -advantages * ratio, -advantages * ratio.clip(1 - plan.clip, 1 + plan.clip)
    dual = (advantages < 0) & (np.maximum(plain, bounded) > -advantages * plan.dual_clip)
    return float(((bounded > plain) | dual).mean())


def _with_old(rows: Sequence[Row], old: Sequence[np.ndarray], importance: np.ndarray | None) -> list[Row]:
    done, start = [], 0
    for row, logprobs in zip(rows, old, strict=True):
        end = start + int(row.mask.sum())
        weights = None if importance is None else spread(row, importance[start:end])
        done.append(with_old(row, logprobs, weights))
        start = end
    return done
