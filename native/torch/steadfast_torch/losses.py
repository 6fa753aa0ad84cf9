"""The policy loss in PyTorch: the same numbers as `steadfast_trainer.losses` (tests/test_losses.py), gradient by autograd."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class PolicyLoss:
    """Of N sampled tokens: `loss` is the sum over them by the denominator, with its gradient; the rest is measured."""

    loss: torch.Tensor
    logprobs: torch.Tensor
    entropy: float
    clipped: int
    #: Importance weights [N]; None without.
    importance: torch.Tensor | None


def policy_loss(
    logits: torch.Tensor,
    targets: torch.Tensor,
    advantages: torch.Tensor,
    old_logprobs: torch.Tensor | None,
    clip: float,
    dual_clip: float,
    denominator: float,
    sampler: torch.Tensor | None = None,
    cap: float | None = None,
) -> PolicyLoss:
    """Clipped policy gradient with dual clip of logits[N, V] (full softmax at temperature 1).

    Per token: max(-A r, -A clamp(r, 1-clip, 1+clip)), for A < 0 at most -A dual_clip; r = exp(new - old).
    `old_logprobs[N]` None: the old policy is this one (r = 1). With `cap` each token's loss is multiplied by
    min(exp(old - sampler), cap), a constant in the gradient.
    """
    logs = torch.log_softmax(logits, -1)
    logprobs = logs.gather(-1, targets[:, None])[:, 0]
    old = logprobs.detach() if old_logprobs is None else old_logprobs
    ratio = torch.exp(logprobs - old)
    plain = -advantages * ratio
    bounded = -advantages * ratio.clamp(1 - clip, 1 + clip)
    loss, limit = torch.maximum(plain, bounded), -advantages * dual_clip
    dual = (advantages < 0) & (loss > limit)
    loss = torch.where(dual, limit, loss)
    factors = None
    if cap is not None and sampler is not None:
        # The exponent is cut first, so that no difference overflows.
        limit = torch.log(torch.tensor(cap, dtype=old.dtype, device=old.device))
        factors = torch.exp(torch.minimum(old - sampler, limit)).clamp(max=cap)
        loss = loss * factors
    with torch.no_grad():
        entropy = -(logs.exp() * logs).sum(-1).sum(dtype=torch.float64)
        clipped = int(((bounded > plain) | dual).sum())
    return PolicyLoss(loss.sum() / denominator, logprobs.detach(), float(entropy), clipped, factors)
