"""One update: forward, backward and optimizer step over one batch, as a pure function of its inputs.

Episodes are cut into micro-batches by length; the loss of every sampled token is divided by the number of sampled
tokens of the whole batch. The old policy is the weights at the start, recomputed here; the sampler's
log-probabilities serve the mismatch figures only.
"""

from dataclasses import dataclass

import numpy as np

from .adamw import OptimizerState, adamw_step, clip_by_norm
from .batch import Episode
from .faults import TrainerFault
from .gradient import TrainingPass
from .losses import log_softmax, policy_gradient
from .model import Parameters
from .packing import micro_batches, pad


@dataclass(frozen=True)
class Plan:
    """`UpdatePlan` of core/trainer.ts."""

    learning_rate: float
    weight_decay: float
    clip: float
    dual_clip: float
    max_grad_norm: float

    @classmethod
    def parse(cls, plan: object) -> "Plan":
        """Raises `bad_request` naming the field."""
        if not isinstance(plan, dict):
            raise TrainerFault("bad_request", f"plan: expected an object, found {type(plan).__name__}")
        if plan.get("normalisation") != "token-mean":
            raise TrainerFault(
                "bad_request", f"plan.normalisation: expected token-mean, found {plan.get('normalisation')}"
            )
        values = []
        for name, least in (
            ("learningRate", 0),
            ("weightDecay", 0),
            ("clip", 0),
            ("dualClip", 1),
            ("maxGradNorm", 0),
        ):
            value = plan.get(name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value < 1e9:
                raise TrainerFault(
                    "bad_request", f"plan.{name}: expected a number from {least}, found {value!r}"
                )
            values.append(float(value))
        return cls(*values)


@dataclass(frozen=True)
class Chunk:
    """One micro-batch: ids[B, L], flattened positions `chosen[N]`, what was sampled there, and whose advantage."""

    ids: np.ndarray
    chosen: np.ndarray
    targets: np.ndarray
    advantages: np.ndarray
    sampler: np.ndarray


@dataclass(frozen=True)
class UpdateResult:
    weights: Parameters
    optimizer: OptimizerState
    #: The numbers of `UpdateReport`, by its names.
    metrics: dict[str, float | int | bool]


def compute_update(
    weights: Parameters, optimizer: OptimizerState, base: Parameters, episodes: list[Episode], plan: Plan
) -> UpdateResult:
    """New weights and optimizer state; with all advantages zero, the old ones and `skipped`."""
    training, chunks = TrainingPass(weights), cut(episodes)
    tokens = sum(len(chunk.targets) for chunk in chunks)
    skipped = all(episode.advantage == 0 for episode in episodes)
    gradient = Parameters(weights.config)
    loss, entropy, clipped, logprobs = 0.0, 0.0, 0, []
    for chunk in chunks:
        trace = training.forward(weights, chunk.ids, chunk.chosen)
        part = policy_gradient(
            trace.logits, chunk.targets, chunk.advantages, None, plan.clip, plan.dual_clip, float(tokens)
        )
        if not skipped:
            training.backward(weights, trace, part.d_logits, gradient)
        loss, entropy, clipped = loss + part.loss, entropy + part.entropy, clipped + part.clipped
        logprobs.append(part.logprobs)
    norm = clip_by_norm(gradient, plan.max_grad_norm)
    if not np.isfinite(norm):
        raise TrainerFault("bad_batch", f"the gradient's norm is {norm}: nothing was changed")
    new, state = (
        (weights, optimizer)
        if skipped
        else adamw_step(weights, gradient, optimizer, plan.learning_rate, plan.weight_decay)
    )
    sampler = np.concatenate([chunk.sampler for chunk in chunks])
    mismatch = (np.concatenate(logprobs) - sampler).astype(np.float64)
    ratio = np.exp(mismatch)
    metrics: dict[str, float | int | bool] = {
        "skipped": skipped,
        "loss": 0.0 if skipped else loss,
        "gradNorm": norm,
        "clipFraction": clipped / tokens,
        "entropy": entropy / tokens,
        "klToBase": mean_kl(training, base, chunks, logprobs),
        "mismatchMean": float(np.abs(mismatch).mean()),
        "mismatchMax": float(np.abs(mismatch).max()),
        "mismatchShare": float(((ratio < 0.9) | (ratio > 1.1)).mean()),
        "tokens": tokens,
    }
    return UpdateResult(new, state, metrics)


def cut(episodes: list[Episode]) -> list[Chunk]:
    """Micro-batches; what follows an episode's last sampled token is left out, since nothing depends on it."""
    ends = [int(np.flatnonzero(episode.sampled)[-1]) for episode in episodes]
    chunks = []
    for group in micro_batches(ends):
        ids = pad([episodes[i].ids[: ends[i]] for i in group])
        chosen, targets, advantages, sampler = [], [], [], []
        for row, i in enumerate(group):
            at = np.flatnonzero(episodes[i].sampled)
            chosen.append(row * ids.shape[1] + at - 1)
            targets.append(episodes[i].ids[at])
            advantages.append(np.full(len(at), episodes[i].advantage, np.float32))
            sampler.append(episodes[i].logprobs[at])
        chunks.append(
            Chunk(ids, *(np.concatenate(parts) for parts in (chosen, targets, advantages, sampler)))
        )
    return chunks


def mean_kl(
    training: TrainingPass, base: Parameters, chunks: list[Chunk], logprobs: list[np.ndarray]
) -> float:
    """Nats per token from the policy that sampled the batch to `base`: Schulman's k3, exp(d) - d - 1, d = base - ours.

    `logprobs[c]` are ours. The weights after the update would be measured on tokens that they did not sample, where
    the estimator's tail has no bound.
    """
    total, tokens = 0.0, 0
    for chunk, ours in zip(chunks, logprobs, strict=True):
        logs = log_softmax(training.forward(base, chunk.ids, chunk.chosen).logits)
        difference = (logs[np.arange(len(ours)), chunk.targets] - ours).astype(np.float64)
        total += float((np.exp(difference) - difference - 1).sum())
        tokens += len(ours)
    return total / tokens


def sequence_logprobs(weights: Parameters, sequences: list[np.ndarray]) -> list[list[float]]:
    """Log-probabilities of each sequence's tokens from the second on, by the training pass."""
    training, results = TrainingPass(weights), []
    for ids in sequences:
        positions = np.arange(len(ids) - 1)
        logs = log_softmax(training.forward(weights, ids[None, :-1], positions).logits)
        results.append(logs[positions, ids[1:]].tolist())
    return results
