"""Verl's real workers and FSDP engine in one process on the CPU: what outside of the contract cannot be seen."""

import contextlib
import hashlib
import io
import json
import os
import resource
import tempfile
import unittest

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from steadfast_protocol.faults import TrainerFault, UsageError
from steadfast_protocol.session import Trainer
from steadfast_protocol.tensors import encode_safetensors
from steadfast_verl.command import main
from steadfast_verl.configuration import Configuration
from steadfast_verl.learner import VerlLearner
from steadfast_verl.local_ranks import LocalRanks
from steadfast_verl.worker import BridgeWorker
from steadfast_verl.workers import Workers

from .episodes import episodes
from .tiny_model import replica_settings, settings, write_model

PLAN = {
    "learningRate": 1e-3,
    "weightDecay": 0.0,
    "clip": 0.2,
    "dualClip": 3.0,
    "maxGradNorm": 1.0,
    "normalisation": "token-mean",
}


class Breaking(BridgeWorker):
    """Breaks in its next step, after the optimizer has moved."""

    next_step = False

    def _step(self, step):
        found = super()._step(step)
        if Breaking.next_step:
            Breaking.next_step = False
            raise RuntimeError("the GPU fell off the bus")
        return found


class RanksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        model = write_model(os.path.join(cls.scratch.name, "model"))
        configuration = Configuration(settings(model), "cpu")
        config = configuration.actor_rollout_ref
        cls.workers = Workers(lambda: LocalRanks(lambda: Breaking(config=config, role="actor")), 1)
        cls.learner = VerlLearner(cls.workers, configuration, "0" * 64, {"by": "trainer"})

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.trainer = Trainer(self.learner)
        self.trainer.open("run", None)

    def batch(self, seed: int) -> tuple[str, str]:
        """(path, digest)."""
        made = episodes(5, seed)
        data = encode_safetensors(
            {
                "ids": np.concatenate([episode.ids for episode in made]),
                "bits": np.packbits(np.concatenate([episode.sampled for episode in made]), bitorder="little"),
                "logprobs": np.concatenate([episode.logprobs[episode.sampled] for episode in made]),
                "lengths": np.array([len(episode.ids) for episode in made], np.int32),
                "advantages": np.array([episode.advantage for episode in made], np.float32),
            },
            {"format": "2", "keys": json.dumps([episode.key for episode in made])},
        )
        path = os.path.join(self.folder, f"batch-{seed}")
        with open(path, "wb") as file:
            file.write(data)
        return path, "sha256:" + hashlib.sha256(data).hexdigest()

    def update(self, op: str, seed: int, plan: dict | None = None) -> dict:
        path, digest = self.batch(seed)
        base = self.trainer.current("run").weight_digest
        return self.trainer.update("run", op, base, digest, path, PLAN | (plan or {}))

    def refused(self, code: str, call) -> str:
        with self.assertRaises(TrainerFault) as caught:
            call()
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        return str(caught.exception)

    def test_verl_itself_reads_our_checkpoints(self):
        report = self.update("1", 1)
        path = self.trainer.checkpoint("run", self.folder)["path"]
        # The ranks are somewhere else when Verl's own code loads the folder.
        self.update("2", 2)
        worker = self.workers._ranks._worker
        worker._shards.moved()
        worker.load_checkpoint(path)
        worker._shards.keep("loaded")
        stored = self.learner.stored
        loaded = self.workers.new()
        loaded.name = "loaded"
        self.assertEqual(stored.weight_digest(loaded), report["weightDigest"])
        self.assertEqual(stored.optimizer_digest(None), report["optimizerDigest"])

    def test_a_rank_that_breaks_in_a_step_closes_the_session_and_the_checkpoint_brings_it_back(self):
        self.update("1", 1)
        saved = self.trainer.checkpoint("run", self.folder)
        expected = self.update("2", 2)
        held = self.trainer.current("run").weights
        self.trainer.open("run", saved["path"])
        Breaking.next_step = True
        said = self.refused("not_open", lambda: self.update("2", 2))
        self.assertIn("fell off the bus", said)
        self.assertNotIn("run", self.trainer.state())
        self.assertEqual(self.trainer.status("run", "1"), {"state": "unknown"})
        self.refused("not_open", lambda: self.trainer.checkpoint("run", self.folder))
        self.refused("weights_unavailable", lambda: self.workers.require(held))
        self.trainer.open("run", saved["path"])
        self.assertEqual(self.trainer.state()["appliedOps"], ["1"])
        again = self.update("2", 2)
        self.assertEqual(
            (again["weightDigest"], again["optimizerDigest"]),
            (expected["weightDigest"], expected["optimizerDigest"]),
        )

    def test_a_full_disk_changes_nothing(self):
        self.update("1", 1)
        before = self.trainer.state()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        try:
            self.refused("disk", lambda: self.trainer.checkpoint("run", os.path.join(self.folder, "full")))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertEqual(os.listdir(os.path.join(self.folder, "full")), [])
        self.assertEqual(self.trainer.state(), before)
        self.update("2", 2)

    def test_a_gradient_that_is_no_number_changes_nothing(self):
        self.update("1", 1)
        before = self.trainer.state()
        path, digest = self.batch(2)
        with open(path, "rb") as file:
            data = bytearray(file.read())
        # An advantage near the largest number that a float32 has.
        at = data.find(np.float32(episodes(5, 2)[0].advantage).tobytes())
        data[at : at + 4] = np.float32(3e38).tobytes()
        with open(path, "wb") as file:
            file.write(data)
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.refused(
            "bad_batch",
            lambda: self.trainer.update("run", "2", before["weightDigest"], digest, path, PLAN),
        )
        self.assertEqual(self.trainer.state(), before)
        self.update("2", 3)

    def test_an_exported_folder_is_a_model_of_the_weights(self):
        self.update("1", 1)
        weights, out = self.trainer.current("run").weights, os.path.join(self.folder, "out")
        self.learner.export(weights, out)
        model = AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32)
        ids = episodes(1, 7)[0].ids
        with torch.no_grad():
            logs = torch.log_softmax(model(torch.tensor(ids[None].astype(np.int64))).logits[0], -1).numpy()
        theirs = logs[np.arange(len(ids) - 1), ids[1:]]
        np.testing.assert_allclose(self.learner.sequence_logprobs(weights, [ids])[0], theirs, atol=1e-5)
        base = self.learner.sequence_logprobs(self.learner.base, [ids])[0]
        self.assertGreater(float(np.abs(np.array(base) - theirs).max()), 1e-3)
        self.assertIn("tokenizer.json", os.listdir(out))

    def test_another_clip_than_the_ranks_have_is_refused(self):
        self.assertIn("0.2", self.refused("bad_request", lambda: self.update("1", 1, {"clip": 0.1})))

    def test_settings_that_train_something_else_are_refused(self):
        model = os.path.join(self.scratch.name, "model")
        for setting, place in (
            ("actor_rollout_ref.actor.strategy=fsdp", "actor.strategy: expected fsdp2"),
            (
                "actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-mean",
                "loss_agg_mode: expected token-mean",
            ),
            ("actor_rollout_ref.model.lora_rank=8", "lora_rank: expected 0"),
            ("actor_rollout_ref.actor.no_such_thing=1", "no_such_thing"),
        ):
            with self.assertRaisesRegex(UsageError, place):
                Configuration([*settings(model), setting], "cpu")

    def test_settings_that_replicas_cannot_sample_with_are_refused(self):
        model = os.path.join(self.scratch.name, "model")
        rollout = "actor_rollout_ref.rollout"
        of_two = [*settings(model, 2), *replica_settings(2)]
        self.assertEqual(Configuration(of_two, "cpu", replicas=True).longest, 1024)
        for setting, place in (
            (f"{rollout}.logprobs_mode=processed_logprobs", "logprobs_mode: expected raw_logprobs"),
            (f"{rollout}.free_cache_engine=False", "free_cache_engine: expected True"),
            (f"{rollout}.checkpoint_engine.backend=nccl", "backend: expected naive"),
            (f"{rollout}.tensor_model_parallel_size=4", "hosts of 2 GPUs, 2 in all, found replicas of 4"),
        ):
            with self.assertRaisesRegex(UsageError, place):
                Configuration([*of_two, setting], "cpu", replicas=True)
            # Of no concern where the ranks sample.
            Configuration([*of_two, setting], "cpu")

    def test_who_samples_must_be_one_that_can(self):
        command = os.path.join(self.folder, "command")
        with open(command, "w", encoding="utf-8") as file:
            file.write("python -m verl.trainer.main_ppo " + " ".join(settings("none")))
        serve = ["serve", "--port", "0", "--home", self.folder, "--command", command, "--device", "cpu"]
        for options, said in (
            (["--ranks", "local", "--rollout", "replicas"], "replicas are actors of Ray"),
            (["--vllm", "http://127.0.0.1:1", "--rollout", "ranks"], "expected none with --vllm"),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                self.assertEqual(main([*serve, *options]), 2)
            self.assertIn(said, errors.getvalue())


if __name__ == "__main__":
    unittest.main()
