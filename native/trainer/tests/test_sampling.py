"""Sampling: the distribution, the cuts, and randomness from seed and position alone."""

import unittest

import numpy as np

from steadfast_protocol.sampling import SamplingOptions, sample, uniform


class SamplingTest(unittest.TestCase):
    def draws(self, logits, options: dict, count: int) -> np.ndarray:
        rows = np.tile(np.array(logits, np.float32), (count, 1))
        chosen = [
            SamplingOptions(**({"temperature": 1.0, "top_k": 0, "top_p": 1.0} | options), seed=7)
            for _ in range(count)
        ]
        return sample(rows, chosen, list(range(count)))[0]

    def test_frequencies_follow_the_softmax(self):
        logits = np.log([0.5, 0.3, 0.15, 0.05])
        found = np.bincount(self.draws(logits, {}, 20_000), minlength=4) / 20_000
        np.testing.assert_allclose(found, [0.5, 0.3, 0.15, 0.05], atol=0.015)

    def test_temperature_sharpens(self):
        logits = np.log([0.5, 0.3, 0.15, 0.05])
        weights = np.array([0.5, 0.3, 0.15, 0.05]) ** 2
        found = np.bincount(self.draws(logits, {"temperature": 0.5}, 20_000), minlength=4) / 20_000
        np.testing.assert_allclose(found, weights / weights.sum(), atol=0.015)

    def test_top_k_and_top_p_cut_and_renormalise(self):
        logits = np.log([0.15, 0.5, 0.3, 0.05])
        self.assertEqual(set(self.draws(logits, {"top_k": 2}, 2_000)), {1, 2})
        self.assertEqual(set(self.draws(logits, {"top_p": 0.79}, 2_000)), {1, 2})
        self.assertEqual(set(self.draws(logits, {"top_p": 0.81}, 2_000)), {0, 1, 2})
        # Top-p is a share of what top-k left: 0.5 of 0.8 is 0.625, above 0.6.
        self.assertEqual(set(self.draws(logits, {"top_k": 2, "top_p": 0.6}, 2_000)), {1})

    def test_greedy_takes_the_first_of_equals(self):
        self.assertEqual(set(self.draws([1.0, 3.0, 3.0, 0.0], {"temperature": 0.0}, 5)), {1})

    def test_fast_and_full_paths_agree(self):
        rng = np.random.default_rng(0)
        logits = rng.standard_normal((200, 300), dtype=np.float32) * 3
        narrow = [SamplingOptions(0.8, 20, 0.9, i) for i in range(200)]
        mixed = narrow[:199] + [SamplingOptions(0.8, 0, 0.9, 199)]
        fast, slow = sample(logits, narrow, [3] * 200), sample(logits, mixed, [3] * 200)
        np.testing.assert_array_equal(fast[0][:199], slow[0][:199])
        np.testing.assert_array_equal(fast[1][:199], slow[1][:199])

    def test_logprobs_are_of_the_full_softmax_at_temperature_one(self):
        rng = np.random.default_rng(0)
        logits = rng.standard_normal((50, 300), dtype=np.float32)
        tokens, logprobs = sample(logits, [SamplingOptions(0.3, 5, 0.9, i) for i in range(50)], [0] * 50)
        wide = logits.astype(np.float64)
        expected = wide[np.arange(50), tokens] - np.log(np.exp(wide).sum(-1))
        np.testing.assert_allclose(logprobs, expected, atol=1e-5)

    def test_uniform_is_uniform_in_seed_and_position(self):
        by_position = np.array([uniform(11, position) for position in range(20_000)])
        by_seed = np.array([uniform(seed, 5) for seed in range(20_000)])
        for numbers in (by_position, by_seed):
            counts = np.histogram(numbers, 20, (0, 1))[0]
            self.assertLess(np.abs(counts - 1000).max(), 160)
            self.assertLess(abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]), 0.03)


if __name__ == "__main__":
    unittest.main()
