"""One update: forward and backward one episode at a time, then the optimizer step.

Every episode is a micro-batch of its own: no padding, and the loss of every sampled token is divided by the number of
sampled tokens of the whole batch, so how episodes are cut or ordered does not enter. Logits exist in blocks: the
gradient with respect to the hidden states is collected from all of them before it goes through the layers once.
"""

from dataclasses import dataclass

import numpy as np
import torch

from steadfast_protocol.batch import Episode
from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.importance import importance_metrics
from steadfast_protocol.learner import UpdateResult
from steadfast_protocol.mismatch import Mismatch
from steadfast_protocol.plan import Plan

from .adamw import Moments, adamw_step, norm_of
from .losses import policy_loss
from .model import LanguageModel
from .weights import Weights


@dataclass
class _Sums:
    loss: float = 0.0
    entropy: float = 0.0
    clipped: int = 0


def compute_update(
    model: LanguageModel, weights: Weights, moments: Moments, episodes: list[Episode], plan: Plan
) -> UpdateResult[Weights, Moments]:
    """New weights; `moments` move in place. With all advantages zero both stay, and `skipped` says so.

    Raises `off_policy` or `bad_batch` and has then changed nothing, or `HalfDone`.
    """
    tokens = sum(int(episode.sampled.sum()) for episode in episodes)
    skipped = all(episode.advantage == 0 for episode in episodes)
    sums, logprobs, weighed = _Sums(), [], []
    model.take_gradient()
    try:
        for episode in episodes:
            with model.using(weights, training=True), torch.set_grad_enabled(not skipped):
                ours, factors = _episode(model, episode, plan, tokens, sums)
            logprobs.append(ours)
            weighed.append(factors)
    finally:
        gradient = model.take_gradient()
    sampler = np.concatenate([episode.logprobs[episode.sampled] for episode in episodes])
    mismatch = Mismatch.between(np.concatenate(logprobs), sampler)
    mismatch.require(plan.mismatch)
    norm = norm_of(gradient)
    if not np.isfinite(norm):
        raise TrainerFault("bad_batch", f"the gradient's norm is {norm}: nothing was changed")
    metrics: dict[str, float | int | bool] = {
        "skipped": skipped,
        "loss": 0.0 if skipped else sums.loss,
        "gradNorm": norm,
        "clipFraction": sums.clipped / tokens,
        "entropy": sums.entropy / tokens,
        "klToBase": mean_kl(model, episodes, logprobs),
        **mismatch.metrics(),
        "tokens": tokens,
    }
    if plan.importance_cap is not None:
        metrics |= importance_metrics(np.concatenate(weighed), plan.importance_cap)
    if skipped:
        return UpdateResult(weights, moments, metrics)
    scale = plan.max_grad_norm / norm if norm > plan.max_grad_norm else 1.0
    new = adamw_step(weights, gradient, moments, scale, plan.learning_rate, plan.weight_decay)
    return UpdateResult(new, moments, metrics)


def _episode(
    model: LanguageModel, episode: Episode, plan: Plan, tokens: int, sums: _Sums
) -> tuple[np.ndarray, np.ndarray]:
    """(log-probabilities, importance weights) of the episode's sampled tokens; leaves its gradient in the model."""
    at = np.flatnonzero(episode.sampled)
    # What follows the last sampled token is left out, since nothing depends on it.
    hidden = model.hidden(episode.ids[: at[-1]])[torch.from_numpy(at - 1).to(model.options.device)]
    leaf = hidden.detach().requires_grad_(hidden.requires_grad)
    targets = model.tokens(episode.ids[at])
    sampler = torch.from_numpy(episode.logprobs[at]).to(leaf.device)
    advantage = torch.tensor(episode.advantage, dtype=torch.float32, device=leaf.device)
    logprobs, weighed = [], []
    for block in model.blocks(len(at)):
        part = policy_loss(
            model.logits(leaf[block]),
            targets[block],
            advantage.expand(len(targets[block])),
            None,
            plan.clip,
            plan.dual_clip,
            float(tokens),
            sampler[block],
            plan.importance_cap,
        )
        if part.loss.requires_grad:
            part.loss.backward()
        sums.loss += float(part.loss.detach())
        sums.entropy += part.entropy
        sums.clipped += part.clipped
        logprobs.append(part.logprobs)
        if part.importance is not None:
            weighed.append(part.importance)
    if hidden.requires_grad:
        hidden.backward(leaf.grad)
    factors = torch.cat(weighed).cpu().numpy() if weighed else np.empty(0, np.float32)
    return torch.cat(logprobs).cpu().numpy(), factors


def mean_kl(model: LanguageModel, episodes: list[Episode], logprobs: list[np.ndarray]) -> float:
    """Nats per token from the policy that sampled the batch to the base: Schulman's k3, exp(d) - d - 1, d = base - ours."""
    total, tokens = 0.0, 0
    for episode, ours in zip(episodes, logprobs, strict=True):
        at = np.flatnonzero(episode.sampled)
        with torch.no_grad(), model.using(model.base):
            base = model.sequence_logprobs(episode.ids[: at[-1] + 1], at)
        difference = (base - ours).astype(np.float64)
        total += float((np.exp(difference) - difference - 1).sum())
        tokens += len(ours)
    return total / tokens
