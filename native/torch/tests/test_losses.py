"""The loss in PyTorch, on the vectors that every trainer is held to, and beside the embedded trainer's."""

import json
import os
import unittest

import numpy as np
import torch

from steadfast_torch.losses import PolicyLoss, policy_loss
from steadfast_trainer.losses import Importance, policy_gradient

VECTORS = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "trainer", "tests", "vectors", "loss.json"
)


def computed(case: dict, dtype: torch.dtype) -> tuple[PolicyLoss, torch.Tensor]:
    """(loss, gradient of the logits)."""

    def tensor(values: list | None) -> torch.Tensor | None:
        return None if values is None else torch.tensor(values, dtype=dtype)

    logits = tensor(case["logits"]).requires_grad_(True)
    found = policy_loss(
        logits,
        torch.tensor(case["targets"]),
        tensor(case["advantages"]),
        tensor(case["old"]),
        case["clip"],
        case["dualClip"],
        case["denominator"],
        tensor(case["sampler"]),
        case["cap"],
    )
    found.loss.backward()
    return found, logits.grad


class LossTest(unittest.TestCase):
    def setUp(self):
        with open(VECTORS, encoding="utf-8") as file:
            self.cases = json.load(file)

    def test_loss_and_gradient_are_those_of_the_definition(self):
        for dtype in (torch.float32, torch.float64):
            for name, case in self.cases.items():
                with self.subTest(name, dtype=str(dtype)):
                    found, gradient = computed(case, dtype)
                    expected = case["expected"]
                    self.assertAlmostEqual(float(found.loss.detach()), expected["loss"], delta=1e-6)
                    self.assertAlmostEqual(found.entropy, expected["entropy"], delta=1e-4)
                    self.assertEqual(found.clipped, expected["clipped"])
                    np.testing.assert_allclose(gradient.numpy(), expected["gradient"], atol=1e-6)
                    np.testing.assert_allclose(found.logprobs.numpy(), expected["logprobs"], atol=1e-6)
                    if case["cap"] is not None:
                        np.testing.assert_allclose(
                            found.importance.numpy(), expected["importance"], atol=2e-6
                        )

    def test_both_trainers_compute_the_same_loss(self):
        """A whole vocabulary, thousands of tokens; prints the largest differences, which docs/torch.md quotes."""
        rng = np.random.default_rng(7)
        tokens, vocabulary = 2_000, 1_000
        logits = (rng.standard_normal((tokens, vocabulary)) * 3).astype(np.float32)
        targets = rng.integers(0, vocabulary, tokens)
        advantages = rng.standard_normal(tokens).astype(np.float32)
        top = logits.max(-1)
        logprobs = logits[np.arange(tokens), targets] - top - np.log(np.exp(logits - top[:, None]).sum(-1))
        old = (logprobs + rng.uniform(-1.5, 1.5, tokens)).astype(np.float32)
        sampler = (old + rng.uniform(-1, 1, tokens)).astype(np.float32)
        theirs = policy_gradient(
            logits, targets, advantages, old, 0.2, 3.0, float(tokens), Importance(sampler, 2.0)
        )
        case = {
            "logits": logits,
            "targets": targets,
            "advantages": advantages,
            "old": old,
            "sampler": sampler,
            "cap": 2.0,
            "clip": 0.2,
            "dualClip": 3.0,
            "denominator": float(tokens),
        }
        ours, gradient = computed(case, torch.float32)
        loss = abs(float(ours.loss.detach()) - theirs.loss)
        largest = float(np.abs(gradient.numpy() - theirs.d_logits).max())
        print(f"loss differs by {loss:.2e}, its gradient by {largest:.2e} at most")
        self.assertLess(loss, 1e-6)
        self.assertLess(largest, 1e-6)
        self.assertEqual(ours.clipped, theirs.clipped)


if __name__ == "__main__":
    unittest.main()
