"""The loss on the vectors that every trainer is held to (tests/vectors/make.py)."""

import json
import os
import unittest

import numpy as np

from steadfast_trainer.losses import Importance, policy_gradient

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors", "loss.json")


def array(values: list | None) -> np.ndarray | None:
    return None if values is None else np.array(values, np.float32)


class LossVectorTest(unittest.TestCase):
    def test_loss_and_gradient_are_those_of_the_definition(self):
        with open(VECTORS, encoding="utf-8") as file:
            cases = json.load(file)
        clipped = 0
        for name, case in cases.items():
            with self.subTest(name):
                importance = None if case["cap"] is None else Importance(array(case["sampler"]), case["cap"])
                found = policy_gradient(
                    array(case["logits"]),
                    np.array(case["targets"]),
                    array(case["advantages"]),
                    array(case["old"]),
                    case["clip"],
                    case["dualClip"],
                    case["denominator"],
                    importance,
                )
                expected = case["expected"]
                self.assertAlmostEqual(found.loss, expected["loss"], delta=1e-6)
                self.assertAlmostEqual(found.entropy, expected["entropy"], delta=1e-4)
                self.assertEqual(found.clipped, expected["clipped"])
                np.testing.assert_allclose(found.d_logits, expected["gradient"], atol=1e-6)
                np.testing.assert_allclose(found.logprobs, expected["logprobs"], atol=1e-6)
                if importance is not None:
                    np.testing.assert_allclose(found.importance, expected["importance"], atol=2e-6)
                clipped += found.clipped
        self.assertGreater(clipped, 10)


if __name__ == "__main__":
    unittest.main()
