"""The same request gives the same ids and the same log-probability bytes, whatever runs beside it."""

import tempfile
import unittest

import numpy as np

from steadfast_protocol.samplers import Request
from steadfast_protocol.sampling import SamplingOptions
from steadfast_trainer.engine import Engine, product_shapes
from steadfast_trainer.invariant import Invariance, attend, prove
from steadfast_trainer.prefix_cache import PrefixCache
from steadfast_trainer.update import sequence_logprobs

from .fixtures import small_base

TURNS = 4


class EngineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.base = small_base(cls.folder.name)
        c = cls.base.config
        cls.way = prove(product_shapes(c), c.head_width, c.context)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def conversations(
        self,
        order: list[int],
        rows: int,
        cache: PrefixCache | None,
        way: Invariance | None = None,
        feed: int = 3,
    ):
        """Plays conversation k of every k in `order` in turns; returns k -> (ids, log-probability bytes)."""
        c = self.base.config
        engine = Engine("w", self.base.weights, way or self.way, cache, rows)
        owner, turns, bytes_so_far, results, pending = {}, {}, {}, {}, list(order)

        def ask(k: int, prompt: np.ndarray) -> None:
            turn = turns[k] = turns.get(k, 0) + 1
            options = SamplingOptions(1.0, 20 if k % 3 else 0, 0.95 if k % 2 else 1.0, 1000 * k + turn)
            request = Request(prompt, options, 6 + k % 5, frozenset({1}))
            owner[request] = k
            engine.submit(request)

        while len(results) < len(order):
            for _ in range(min(feed, len(pending))):
                k = pending.pop(0)
                ask(k, np.random.default_rng(k).integers(0, c.vocab, 5 + 9 * (k % 6)).astype(np.int32))
            for request in engine.step():
                k = owner.pop(request)
                ids = np.concatenate((request.prompt, np.array(request.tokens, np.int32)))
                bytes_so_far[k] = bytes_so_far.get(k, b"") + np.array(request.logprobs).tobytes()
                if turns[k] == TURNS:
                    results[k] = (ids.tobytes(), bytes_so_far[k])
                    continue
                observed = np.random.default_rng(k + turns[k] * 77).integers(0, c.vocab, 3 + 11 * (k % 4))
                ask(k, np.concatenate((ids, observed.astype(np.int32))))
        return results

    def test_concurrency_order_and_cache_change_no_byte(self):
        numbers = list(range(14))
        alone = self.conversations(numbers, 1, None, feed=1)
        self.assertEqual(sorted(alone), numbers)
        for rows, cache, order in (
            (14, None, numbers),
            (5, PrefixCache(1 << 20), numbers[::-1]),
            (14, PrefixCache(64 << 20), numbers[3:] + numbers[:3]),
        ):
            self.assertEqual(self.conversations(order, rows, cache, feed=rows), alone)

    def test_row_by_row_is_invariant_too(self):
        numbers, way = list(range(6)), Invariance(1, self.base.config.context)
        alone = self.conversations(numbers, 1, None, way, feed=1)
        self.assertEqual(self.conversations(numbers, 6, PrefixCache(1 << 20), way, feed=6), alone)

    def test_a_long_prompt_is_fed_in_chunks_with_the_same_bytes(self):
        """Scores of 500 positions: in chunks of the step's budget, alone or beside others."""
        ids = np.random.default_rng(1).integers(0, self.base.config.vocab, 500).astype(np.int32)
        scores = []
        for others in (0, 3):
            engine = Engine("w", self.base.weights, self.way, None, 8)
            greedy = SamplingOptions(0, 0, 1, 0)
            request = Request(ids, greedy, 1, frozenset(), score=True)
            for n in range(others):
                engine.submit(Request(ids[: 40 + n], greedy, 30, frozenset()))
            engine.submit(request)
            while request.finish is None:
                engine.step()
            scores.append(np.array(request.logprobs))
        self.assertEqual(len(scores[0]), 499)
        self.assertEqual(scores[0].tobytes(), scores[1].tobytes())
        trainer = np.array(sequence_logprobs(self.base.weights, [ids])[0])
        np.testing.assert_allclose(scores[0], trainer, atol=2e-4)

    def test_sampled_logprobs_are_those_of_the_prompt_scored_afterwards(self):
        engine = Engine("w", self.base.weights, self.way, None, 4)
        prompt = np.arange(20, dtype=np.int32)
        request = Request(prompt, SamplingOptions(1.0, 20, 0.95, 9), 30, frozenset())
        engine.submit(request)
        while request.finish is None:
            engine.step()
        full = np.concatenate((prompt, np.array(request.tokens, np.int32)))
        again = Request(full, SamplingOptions(0, 0, 1, 0), 1, frozenset(), score=True)
        engine.submit(again)
        while again.finish is None:
            engine.step()
        self.assertEqual(again.logprobs[19:], request.logprobs)

    def test_the_context_ends_a_sequence_with_length(self):
        context = self.base.config.context
        engine = Engine("w", self.base.weights, self.way, None, 2)
        request = Request(np.ones(context - 3, np.int32), SamplingOptions(1.0, 20, 0.95, 1), 100, frozenset())
        engine.submit(request)
        while request.finish is None:
            engine.step()
        self.assertEqual((request.finish, len(request.tokens)), ("length", 4))

    def test_a_cancelled_request_frees_its_row(self):
        engine = Engine("w", self.base.weights, self.way, None, 1)
        first, second = (
            Request(np.ones(5, np.int32), SamplingOptions(1, 20, 1, s), 40, frozenset()) for s in (1, 2)
        )
        engine.submit(first)
        engine.submit(second)
        engine.step()
        engine.cancel(first)
        while second.finish is None:
            engine.step()
        self.assertEqual((first.finish, second.finish), ("cancelled", "length"))
        self.assertFalse(engine.busy)


class InvarianceTest(unittest.TestCase):
    def test_padding_adds_exact_zeros(self):
        way = prove({(96, 96)}, 48, 512)
        rng = np.random.default_rng(0)
        keys, values = (rng.standard_normal((2, 2, 512, 48), dtype=np.float32) for _ in range(2))
        queries = rng.standard_normal((2, 2, 48), dtype=np.float32)
        mask = np.where(np.arange(512) < 90, np.float32(0), np.float32(-np.inf))
        short = way.attention_length(90, 512)
        cut = attend(queries, keys[:, :, :short], values[:, :, :short], mask[:short])
        self.assertEqual(cut.tobytes(), attend(queries, keys, values, mask).tobytes())


if __name__ == "__main__":
    unittest.main()
