"""One update: the numbers of a plain computation, however it is cut; and what a failure in the middle leaves."""

import hashlib
import json
import os
import tempfile
import unittest
from dataclasses import replace

import numpy as np
import torch

from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.session import Trainer
from steadfast_protocol.tensors import digest_tensors, encode_safetensors
from steadfast_torch import model as model_module
from steadfast_torch.adamw import Moments
from steadfast_torch.learner import TorchLearner
from steadfast_torch.lora import Lora
from steadfast_torch.update import compute_update

from .fixtures import PLAN, VOCABULARY, episodes, load, write_model


class UpdateTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self.path = write_model(self.folder)

    def tearDown(self):
        self._folder.cleanup()

    def updated(self, model, batch=None, plan=PLAN):
        """(digest of the new weights, metrics)."""
        result = compute_update(model, model.base, Moments.fresh(model.base), batch or episodes(), plan)
        arrays = {name: tensor.numpy() for name, tensor in result.weights.items()}
        return digest_tensors(arrays), result.metrics

    def close(self, found: dict, expected: dict, places: int = 6):
        for name in ("loss", "gradNorm", "entropy", "klToBase", "mismatchMean"):
            self.assertAlmostEqual(found[name], expected[name], places, name)

    def test_the_numbers_are_those_of_a_plain_computation(self):
        for tied in (True, False):
            model, batch = load(write_model(self.folder, tied)), episodes()
            tokens = sum(int(e.sampled.sum()) for e in batch)
            total, entropy = 0.0, 0.0
            for e in batch:
                at = np.flatnonzero(e.sampled)
                logits = model.module(input_ids=torch.from_numpy(e.ids.astype(np.int64))[None]).logits[0]
                logs = torch.log_softmax(logits, -1)[at - 1]
                chosen = logs[range(len(at)), e.ids[at].astype(np.int64)]
                # At ratio 1 the gradient of the clipped loss is that of -advantage × log-probability.
                total = total + (-e.advantage * (chosen - chosen.detach() + 1)).sum() / tokens
                entropy += float(-(logs.exp() * logs).sum().detach())
            names, parameters = zip(*model.module.named_parameters(), strict=True)
            gradient = torch.autograd.grad(total, parameters)
            norm = float(torch.cat([g.flatten() for g in gradient]).double().norm())
            _, metrics = self.updated(model, batch)
            self.assertAlmostEqual(metrics["loss"], float(total.detach()), delta=1e-6)
            self.assertAlmostEqual(metrics["gradNorm"], norm, delta=1e-5)
            self.assertAlmostEqual(metrics["entropy"], entropy / tokens, delta=1e-5)
            self.assertEqual(metrics["klToBase"], 0)
            self.assertEqual(metrics["tokens"], tokens)
            self.assertEqual(len(names), len(model.base))

    def test_blocks_and_checkpointing_change_nothing(self):
        whole, metrics = self.updated(load(self.path))
        again, _ = self.updated(load(self.path))
        self.assertEqual(again, whole)
        self.close(self.updated(load(self.path, checkpointing=True))[1], metrics)
        size = model_module._BLOCK_NUMBERS
        model_module._BLOCK_NUMBERS = 3 * VOCABULARY
        try:
            self.close(self.updated(load(self.path))[1], metrics)
        finally:
            model_module._BLOCK_NUMBERS = size

    def test_the_order_of_episodes_changes_no_number(self):
        _, metrics = self.updated(load(self.path))
        self.close(self.updated(load(self.path), episodes()[::-1])[1], metrics)

    def test_adapters_start_as_the_base_and_leave_it_frozen(self):
        model = load(self.path, Lora(4, 8.0))
        plain = load(self.path)
        ids = np.arange(20, dtype=np.int32)
        with torch.no_grad(), model.using(model.base), plain.using(plain.base):
            np.testing.assert_array_equal(model.sequence_logprobs(ids), plain.sequence_logprobs(ids))
        frozen = {
            n: p.detach().clone()
            for n, p in model.module.named_parameters()
            if not model.options.lora.owns(n)
        }
        result = compute_update(model, model.base, Moments.fresh(model.base), episodes(), PLAN)
        with model.using(result.weights):
            for name, parameter in model.module.named_parameters():
                if name in frozen:
                    self.assertTrue(torch.equal(parameter, frozen[name]), name)
        self.assertTrue(torch.equal(result.weights["base"], model.base["base"]))
        self.assertNotEqual(model.base_digest, load(self.path, Lora(4, 8.0, seed=1)).base_digest)
        self.assertEqual(model.base_digest, load(self.path, Lora(4, 8.0)).base_digest)

    def test_an_optimizer_step_that_fails_half_way_closes_the_session(self):
        model = load(self.path)
        trainer = Trainer(TorchLearner(model, "0" * 64, {"by": "trainer"}))
        trainer.open("run", None)
        moments = trainer.session.optimizer
        last = list(moments.second)[-1]
        moments.second[last] = torch.zeros(3, 3, 3)
        path, digest = self.write(episodes())
        plan = {
            "learningRate": 1e-3,
            "weightDecay": 0,
            "clip": 0.2,
            "dualClip": 3,
            "maxGradNorm": 1,
            "normalisation": "token-mean",
        }
        start = trainer.session.weight_digest
        with self.assertRaises(TrainerFault) as caught:
            trainer.update("run", "op", start, digest, path, plan)
        self.assertEqual(caught.exception.code, "not_open")
        self.assertIsNone(trainer.session)
        trainer.open("run", None)
        self.assertEqual(trainer.session.weight_digest, start)
        report = trainer.update("run", "op", start, digest, path, plan)
        self.assertNotEqual(report["weightDigest"], start)

    def test_a_batch_that_is_refused_leaves_no_gradient(self):
        model = load(self.path)
        with self.assertRaises(TrainerFault):
            bound = replace(PLAN, mismatch=_bound(1e-9))
            compute_update(model, model.base, Moments.fresh(model.base), episodes(), bound)
        expected, _ = self.updated(load(self.path))
        self.assertEqual(self.updated(model)[0], expected)

    def write(self, batch) -> tuple[str, str]:
        data = encode_safetensors(
            {
                "ids": np.concatenate([e.ids for e in batch]),
                "sampled": np.concatenate([e.sampled for e in batch]).astype(np.uint8),
                "logprobs": np.concatenate([e.logprobs for e in batch]),
                "lengths": np.array([len(e.ids) for e in batch], np.int32),
                "advantages": np.array([e.advantage for e in batch], np.float32),
            },
            {"format": "1", "run": "run", "step": "1", "keys": json.dumps([e.key for e in batch])},
        )
        path = os.path.join(self.folder, "batch")
        with open(path, "wb") as file:
            file.write(data)
        return path, "sha256:" + hashlib.sha256(data).hexdigest()


def _bound(mean: float):
    from steadfast_protocol.plan import MismatchBound

    return MismatchBound(mean, 1.0)


if __name__ == "__main__":
    unittest.main()
