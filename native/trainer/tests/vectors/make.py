"""`python make.py > loss.json` (then `npx biome check --write` of it): the policy loss of a few tokens, from its definition in plain Python floats (64 bits).

Nothing of the trainers is used: the loss is written down a second time, its gradient comes from central differences,
and the old policy is far enough from the new one that every branch of clip and dual clip is met.
"""

import json
import math
import random

TOKENS, VOCABULARY = 24, 6
CLIP, DUAL_CLIP, CAP = 0.2, 3.0, 2.0
STEP = 1e-5


def log_softmax(row: list[float]) -> list[float]:
    top = max(row)
    total = math.log(sum(math.exp(x - top) for x in row)) + top
    return [x - total for x in row]


def token_loss(
    row: list[float], target: int, advantage: float, old: float, weight: float
) -> tuple[float, bool]:
    """(loss, clipped) of one token."""
    ratio = math.exp(log_softmax(row)[target] - old)
    plain, bounded = -advantage * ratio, -advantage * min(max(ratio, 1 - CLIP), 1 + CLIP)
    loss, clipped = max(plain, bounded), bounded > plain
    if advantage < 0 and loss > -advantage * DUAL_CLIP:
        loss, clipped = -advantage * DUAL_CLIP, True
    return weight * loss, clipped


def case(rng: random.Random, moved: float, importance: bool) -> dict:
    """`moved`: how far the old policy is from this one, nats; 0: it is this one."""
    logits = [[rng.gauss(0, 1.5) for _ in range(VOCABULARY)] for _ in range(TOKENS)]
    targets = [rng.randrange(VOCABULARY) for _ in range(TOKENS)]
    advantages = [rng.choice((-2.0, -0.5, 0.0, 0.75, 1.5)) for _ in range(TOKENS)]
    logprobs = [log_softmax(row)[target] for row, target in zip(logits, targets, strict=True)]
    old = [value + rng.uniform(-moved, moved) for value in logprobs]
    sampler = [value + rng.uniform(-1.5, 1.5) for value in old]
    weights = [min(math.exp(a - b), CAP) if importance else 1.0 for a, b in zip(old, sampler, strict=True)]
    denominator = 2.0 * TOKENS
    losses, gradient = [], []
    for row, target, advantage, before, weight in zip(logits, targets, advantages, old, weights, strict=True):
        losses.append(token_loss(row, target, advantage, before, weight))
        # With the old policy as it was: its log-probability is a constant of the gradient.
        gradient.append([])
        for index in range(VOCABULARY):
            sides = []
            for step in (STEP, -STEP):
                near = list(row)
                near[index] += step
                sides.append(token_loss(near, target, advantage, before, weight)[0])
            gradient[-1].append((sides[0] - sides[1]) / (2 * STEP) / denominator)
    return {
        "logits": logits,
        "targets": targets,
        "advantages": advantages,
        "old": None if moved == 0 else old,
        "sampler": sampler,
        "cap": CAP if importance else None,
        "clip": CLIP,
        "dualClip": DUAL_CLIP,
        "denominator": denominator,
        "expected": {
            "loss": sum(loss for loss, _ in losses) / denominator,
            "gradient": gradient,
            "logprobs": logprobs,
            "entropy": -sum(math.exp(x) * x for row in logits for x in log_softmax(row)),
            "clipped": sum(clipped for _, clipped in losses),
            "importance": weights if importance else None,
        },
    }


def main() -> None:
    rng = random.Random(20261130)
    cases = {
        "the old policy is this one": case(rng, 0, False),
        "the old policy is this one, with importance weights": case(rng, 0, True),
        "an old policy that is far away": case(rng, 1.6, False),
        "an old policy that is far away, with importance weights": case(rng, 1.6, True),
    }
    print(json.dumps(cases))


if __name__ == "__main__":
    main()
