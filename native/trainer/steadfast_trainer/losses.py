"""Losses as value and gradient with respect to logits. Axes: N chosen positions, V tokens."""

from dataclasses import dataclass

import numpy as np

from steadfast_protocol.importance import importance_weights


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """[N, V], full softmax at temperature 1."""
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


@dataclass(frozen=True)
class Importance:
    """Truncated importance weights: min(exp(old - sampler), cap) a token, constants in the gradient."""

    sampler: np.ndarray
    cap: float

    def weights(self, old_logprobs: np.ndarray) -> np.ndarray:
        """[N]."""
        return importance_weights(old_logprobs, self.sampler, self.cap)


@dataclass(frozen=True)
class PolicyLoss:
    """Sums over the N positions; `d_logits` is the gradient of `loss`."""

    loss: float
    d_logits: np.ndarray
    logprobs: np.ndarray
    entropy: float
    clipped: int
    #: Importance weights [N]; None without.
    importance: np.ndarray | None


def policy_gradient(
    logits: np.ndarray,
    targets: np.ndarray,
    advantages: np.ndarray,
    old_logprobs: np.ndarray | None,
    clip: float,
    dual_clip: float,
    denominator: float,
    importance: Importance | None = None,
) -> PolicyLoss:
    """Clipped policy gradient (PPO's clip, and the dual clip of Ye et al. 2020 for negative advantages).

    Per token: max(-A r, -A clamp(r, 1-clip, 1+clip)), for A < 0 at most -A dual_clip; r = exp(new - old).
    `old_logprobs[N]` None: the old policy is this one (r = 1). The sum is divided by `denominator`. With `importance`
    each token's loss is multiplied by its weight, by which the old policy stands in for the one that sampled.
    """
    logs = log_softmax(logits)
    probabilities = np.exp(logs)
    rows = np.arange(len(targets))
    logprobs = logs[rows, targets]
    old = logprobs if old_logprobs is None else old_logprobs
    ratio = np.exp(logprobs - old)
    plain, bounded = -advantages * ratio, -advantages * np.clip(ratio, 1 - clip, 1 + clip)
    loss = np.maximum(plain, bounded)
    cut = bounded > plain
    dual = (advantages < 0) & (loss > -advantages * np.float32(dual_clip))
    loss = np.where(dual, -advantages * np.float32(dual_clip), loss)
    cut |= dual
    factors = None if importance is None else importance.weights(old)
    if factors is not None:
        loss, plain = loss * factors, plain * factors
    # d loss / d logprob is -A r where nothing was cut; d logprob / d logits is onehot - probabilities.
    weight = np.where(cut, np.float32(0), plain) / np.float32(denominator)
    d_logits = probabilities * -weight[:, None]
    d_logits[rows, targets] += weight
    entropy = -float(np.einsum("nv,nv->", probabilities, logs, dtype=np.float64))
    return PolicyLoss(
        float(loss.sum(dtype=np.float64) / denominator), d_logits, logprobs, entropy, int(cut.sum()), factors
    )


def next_token(logits: np.ndarray, targets: np.ndarray, denominator: float) -> tuple[float, np.ndarray]:
    """Cross-entropy over `denominator`: (loss, d_logits)."""
    logs = log_softmax(logits)
    rows = np.arange(len(targets))
    d_logits = np.exp(logs)
    d_logits[rows, targets] -= 1
    d_logits /= np.float32(denominator)
    return -float(logs[rows, targets].sum(dtype=np.float64) / denominator), d_logits
