"""The hand-written backward pass against finite differences, in float64 steps of the float32 forward pass."""

import unittest

import numpy as np

from steadfast_trainer.gradient import TrainingPass
from steadfast_trainer.losses import Importance, next_token, policy_gradient
from steadfast_trainer.model import ModelConfig, Parameters

CONFIG = ModelConfig(vocab=11, width=16, layers=2, heads=2, feed=32, context=16)


def setting(seed: int):
    rng = np.random.default_rng(seed)
    weights = Parameters.random(CONFIG, seed)
    ids = rng.integers(0, CONFIG.vocab, (3, 9)).astype(np.int32)
    chosen = np.array([0, 3, 7, 10, 12, 17, 20, 25])
    targets = rng.integers(0, CONFIG.vocab, len(chosen))
    return rng, weights, ids, chosen, targets


class GradientTest(unittest.TestCase):
    def check(self, loss_of):
        self.check_at(setting(3), loss_of)

    def check_at(self, place, loss_of):
        """Directional derivatives along random directions, per tensor."""
        rng, weights, ids, chosen, targets = place
        training = TrainingPass(weights)
        trace = training.forward(weights, ids, chosen)
        _, d_logits = loss_of(trace.logits, targets)
        gradient = Parameters(CONFIG)
        training.backward(weights, trace, d_logits, gradient)
        for name, tensor in weights.tensors.items():
            direction = rng.standard_normal(tensor.shape).astype(np.float32)
            direction /= np.sqrt(np.sum(direction**2))
            exact = float(np.sum(gradient[name] * direction, dtype=np.float64))
            step, kept, values = 3e-3, tensor.copy(), []
            for sign in (1, -1):
                tensor[...] = kept + np.float32(sign * step) * direction
                values.append(loss_of(training.forward(weights, ids, chosen).logits, targets)[0])
            tensor[...] = kept
            measured = (values[0] - values[1]) / (2 * step)
            self.assertAlmostEqual(exact, measured, delta=2e-3 * max(abs(exact), 0.05), msg=name)

    def test_next_token(self):
        self.check(lambda logits, targets: next_token(logits, targets, 5.0))

    def test_policy_gradient_off_policy(self):
        rng, weights, ids, chosen, targets = setting(3)
        advantages = rng.standard_normal(len(chosen)).astype(np.float32)
        training = TrainingPass(weights)
        start = policy_gradient(
            training.forward(weights, ids, chosen).logits, targets, advantages, None, 0.2, 3.0, 4.0
        )
        # Old log-probabilities off by -2 .. 2: ratios on both sides of both clips, none close to an edge.
        old = start.logprobs + np.array([0.05, -0.05, 1.0, -1.0, 2.0, -2.0, 0.1, -0.1], np.float32)

        def loss_of(logits, targets):
            result = policy_gradient(logits, targets, advantages, old, 0.2, 3.0, 4.0)
            return result.loss, result.d_logits

        self.assertGreater(
            policy_gradient(
                training.forward(weights, ids, chosen).logits, targets, advantages, old, 0.2, 3.0, 4.0
            ).clipped,
            0,
        )
        self.check(loss_of)

    def test_on_policy_ratio_is_one(self):
        _, weights, ids, chosen, targets = setting(4)
        training = TrainingPass(weights)
        logits = training.forward(weights, ids, chosen).logits
        advantages = np.ones(len(chosen), np.float32)
        result = policy_gradient(logits, targets, advantages, None, 0.2, 3.0, float(len(chosen)))
        self.assertAlmostEqual(result.loss, -1, places=6)
        self.assertEqual(result.clipped, 0)

    def test_importance_weights_are_constants(self):
        rng, weights, ids, chosen, targets = setting(6)
        training = TrainingPass(weights)
        advantages = rng.standard_normal(len(chosen)).astype(np.float32)
        logits = training.forward(weights, ids, chosen).logits
        old = policy_gradient(logits, targets, advantages, None, 0.2, 3.0, 4.0).logprobs
        # Differences on both sides of the cap, one so large that its exponential overflows.
        sampler = old - np.array([0.1, -0.1, 0.5, -0.5, 3.0, -3.0, 0.0, 200.0], np.float32)
        importance = Importance(sampler, 2.0)
        factors = importance.weights(old)
        np.testing.assert_allclose(factors[:4], np.exp([0.1, -0.1, 0.5, -0.5]), rtol=1e-5)
        self.assertEqual(factors[[4, 7]].tolist(), [2.0, 2.0])

        def loss_of(logits, targets):
            result = policy_gradient(logits, targets, advantages, old, 0.2, 3.0, 4.0, importance)
            return result.loss, result.d_logits

        expected = -float((advantages * factors).sum() / 4)
        self.assertAlmostEqual(loss_of(logits, targets)[0], expected, places=5)
        self.check_at(setting(6), loss_of)

    def test_padding_changes_no_logit(self):
        _, weights, ids, _, _ = setting(5)
        training = TrainingPass(weights)
        wide = np.concatenate((ids, np.full((3, 5), 7, np.int32)), axis=1)
        chosen = np.arange(9)
        np.testing.assert_allclose(
            training.forward(weights, ids, chosen).logits,
            training.forward(weights, wide, chosen).logits,
            atol=1e-5,
        )


if __name__ == "__main__":
    unittest.main()
