"""One update: forward, backward and optimizer step over one batch, as a pure function of its inputs.

Episodes are cut into micro-batches by length; the loss of every sampled token is divided by the number of sampled
tokens of the whole batch. The old policy is the weights at the start, recomputed here; the sampler's
log-probabilities serve the mismatch figures, the bound on them, and importance weights where the plan asks for some.
"""

from dataclasses import dataclass

import numpy as np

from steadfast_protocol.batch import Episode
from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.importance import importance_metrics
from steadfast_protocol.learner import UpdateResult
from steadfast_protocol.mismatch import Mismatch
from steadfast_protocol.plan import Plan

from .adamw import OptimizerState, adamw_step, clip_by_norm
from .gradient import TrainingPass
from .losses import Importance, log_softmax, policy_gradient
from .model import Parameters
from .packing import micro_batches, pad


@dataclass(frozen=True)
class Chunk:
    """One micro-batch: ids[B, L], flattened positions `chosen[N]`, what was sampled there, and whose advantage."""

    ids: np.ndarray
    chosen: np.ndarray
    targets: np.ndarray
    advantages: np.ndarray
    sampler: np.ndarray


def compute_update(
    weights: Parameters, optimizer: OptimizerState, base: Parameters, episodes: list[Episode], plan: Plan
) -> UpdateResult[Parameters, OptimizerState]:
    """New weights and optimizer state; with all advantages zero, the old ones and `skipped`.

    Raises `off_policy` when sampler and trainer differ by more than the plan allows.
    """
    training, chunks = TrainingPass(weights), cut(episodes)
    tokens = sum(len(chunk.targets) for chunk in chunks)
    skipped = all(episode.advantage == 0 for episode in episodes)
    gradient = Parameters(weights.config)
    loss, entropy, clipped, logprobs, weighed = 0.0, 0.0, 0, [], []
    for chunk in chunks:
        trace = training.forward(weights, chunk.ids, chunk.chosen)
        importance = None if plan.importance_cap is None else Importance(chunk.sampler, plan.importance_cap)
        part = policy_gradient(
            trace.logits,
            chunk.targets,
            chunk.advantages,
            None,
            plan.clip,
            plan.dual_clip,
            float(tokens),
            importance,
        )
        if not skipped:
            training.backward(weights, trace, part.d_logits, gradient)
        loss, entropy, clipped = loss + part.loss, entropy + part.entropy, clipped + part.clipped
        logprobs.append(part.logprobs)
        weighed.append(part.importance)
    mismatch = Mismatch.between(np.concatenate(logprobs), np.concatenate([chunk.sampler for chunk in chunks]))
    mismatch.require(plan.mismatch)
    norm = clip_by_norm(gradient, plan.max_grad_norm)
    if not np.isfinite(norm):
        raise TrainerFault("bad_batch", f"the gradient's norm is {norm}: nothing was changed")
    new, state = (
        (weights, optimizer)
        if skipped
        else adamw_step(weights, gradient, optimizer, plan.learning_rate, plan.weight_decay)
    )
    metrics: dict[str, float | int | bool] = {
        "skipped": skipped,
        "loss": 0.0 if skipped else loss,
        "gradNorm": norm,
        "clipFraction": clipped / tokens,
        "entropy": entropy / tokens,
        "klToBase": mean_kl(training, base, chunks, logprobs),
        **mismatch.metrics(),
        "tokens": tokens,
    }
    if plan.importance_cap is not None:
        metrics |= importance_metrics(np.concatenate(weighed), plan.importance_cap)
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
