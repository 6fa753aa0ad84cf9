"""Compare-and-swap, updates that repeat byte for byte, and checkpoints that verify."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest

from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.session import Trainer
from steadfast_trainer.learner import EmbeddedLearner, build_name

from .fixtures import PLAN, small_base, write_batch

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class SessionTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self.base = small_base(os.path.join(self.folder, "base"))
        self.trainer = Trainer(EmbeddedLearner(self.base, build_name(self.base, "1")))
        self.trainer.open("run", None)
        self.batches = [write_batch(self.folder, self.base, seed) for seed in range(4)]

    def tearDown(self):
        self._folder.cleanup()

    def update(self, number: int, batch: int, base: str | None = None, plan: dict | None = None) -> dict:
        path, digest = self.batches[batch]
        base = base or self.trainer.session.weight_digest
        return self.trainer.update("run", f"op-{number}", base, digest, path, plan or PLAN)

    def refused(self, code: str, function, *arguments, **named) -> str:
        before = self.trainer.state()
        with self.assertRaises(TrainerFault) as caught:
            function(*arguments, **named)
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        self.assertEqual(self.trainer.state(), before)
        return str(caught.exception)

    def test_an_operation_is_applied_once(self):
        start = self.trainer.session.weight_digest
        report = self.update(1, 0)
        after = self.trainer.state()
        self.assertNotEqual(report["weightDigest"], start)
        self.assertEqual(after["weightDigest"], report["weightDigest"])
        self.assertEqual(self.update(1, 0, base=start), report)
        self.assertEqual(self.trainer.state(), after)
        self.assertEqual(self.trainer.status("run", "op-1"), {"state": "done", "report": report})
        self.refused("conflict", self.update, 1, 1, base=start)
        self.refused("conflict", self.update, 1, 0, base=start, plan=PLAN | {"learningRate": 2e-3})
        self.refused("stale_base", self.update, 2, 1, base=start)
        self.refused("not_open", self.trainer.update, "other", "op-2", start, *self.batches[1][::-1], PLAN)
        self.assertEqual(self.trainer.status("run", "op-9"), {"state": "unknown"})

    def test_zero_advantages_skip_the_update(self):
        self.batches[0] = write_batch(self.folder, self.base, 9, zero=True)
        start = self.trainer.state()
        report = self.update(1, 0)
        self.assertTrue(report["skipped"])
        self.assertEqual(report["weightDigest"], start["weightDigest"])
        self.assertEqual(report["optimizerDigest"], start["optimizerDigest"])
        self.assertEqual(self.trainer.state()["step"], 1)
        self.assertGreater(report["entropy"], 0)

    def test_bad_batches_are_refused(self):
        path, digest = self.batches[0]
        start = self.trainer.session.weight_digest
        with open(path, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"\xff")
        message = self.refused("bad_batch", self.trainer.update, "run", "op-1", start, digest, path, PLAN)
        self.assertIn(path, message)
        self.assertEqual(self.trainer.status("run", "op-1")["state"], "failed")
        self.refused("bad_batch", self.trainer.update, "run", "op-1", start, digest, path + ".gone", PLAN)

    def test_bad_plans_are_refused(self):
        for change in (
            {"clip": -1},
            {"learningRate": "0.1"},
            {"normalisation": "sum"},
            {"dualClip": None},
            {"importance": "truncated"},
            {"importance": {"kind": "masked", "cap": 2}},
            {"importance": {"kind": "truncated", "cap": 0}},
            {"mismatch": 0.1},
            {"mismatch": {"meanAbove": 0.1}},
        ):
            self.refused("bad_request", self.update, 1, 0, plan=PLAN | change)

    def test_a_batch_too_far_off_policy_changes_nothing(self):
        bound = {"meanAbove": 0.1, "shareAbove": 1}
        message = self.refused("off_policy", self.update, 1, 0, plan=PLAN | {"mismatch": bound})
        self.assertIn("bound 0.1", message)
        self.assertEqual(self.trainer.status("run", "op-1")["state"], "failed")
        free = self.update(1, 0, plan=PLAN | {"mismatch": {"meanAbove": 1000, "shareAbove": 1}})
        self.trainer.open("run", None)
        plain = self.update(1, 0)
        self.assertEqual(_without_time(free), _without_time(plain))

    def test_importance_weights_change_the_update_and_are_reported(self):
        plain = self.update(1, 0)
        self.assertNotIn("importanceMean", plain)
        self.trainer.open("run", None)
        weighed = self.update(1, 0, plan=PLAN | {"importance": {"kind": "truncated", "cap": 2.0}})
        self.assertNotEqual(weighed["weightDigest"], plain["weightDigest"])
        # The invented log-probabilities lie above those of random weights: every ratio is far below 1.
        self.assertLess(weighed["importanceMean"], 0.5)
        self.assertEqual(weighed["importanceCapped"], 0)

    def test_a_checkpoint_restores_everything_and_updates_repeat(self):
        self.update(1, 0)
        saved = self.trainer.checkpoint("run", self.folder)
        self.assertEqual(self.trainer.checkpoint("run", self.folder), saved)
        straight = [self.update(2, 1), self.update(3, 2)]
        again = Trainer(self.trainer.learner)
        again.open("run", saved["path"])
        self.assertEqual(again.state()["appliedOps"], ["op-1"])
        self.trainer = again
        for expected, number in zip(straight, (2, 3), strict=True):
            found = self.update(number, number - 1)
            self.assertEqual(_without_time(found), _without_time(expected))

    def test_another_process_comes_to_the_same_bytes(self):
        expected = [self.update(1, 0)["weightDigest"], self.update(2, 1)["optimizerDigest"]]
        program = (
            "import sys, json; sys.path.insert(0, sys.argv[1])\n"
            "from steadfast_trainer.base import load_base\n"
            "from steadfast_protocol.session import Trainer\n"
            "from steadfast_trainer.learner import EmbeddedLearner\n"
            "base = load_base(sys.argv[2]); t = Trainer(EmbeddedLearner(base, 'b')); t.open('other', None)\n"
            "plan, out = json.loads(sys.argv[3]), []\n"
            "for i, name in ((4, 'weightDigest'), (6, 'optimizerDigest')):\n"
            "    r = t.update('other', f'x{i}', t.session.weight_digest, sys.argv[i + 1], sys.argv[i], plan)\n"
            "    out.append(r[name])\n"
            "print(json.dumps(out))\n"
        )
        batches = [part for batch in self.batches[:2] for part in batch]
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                program,
                ROOT,
                os.path.join(self.folder, "base"),
                json.dumps(PLAN),
                *batches,
            ],
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(json.loads(done.stdout), expected)

    def test_damaged_checkpoints_are_refused(self):
        self.update(1, 0)
        path = self.trainer.checkpoint("run", self.folder)["path"]
        for name in (*self.trainer.learner.stored.names(), "session.json", "manifest.json"):
            file_path = os.path.join(path, name)
            with open(file_path, "rb") as file:
                good = file.read()
            middle = len(good) // 2
            for bad in (
                good[:middle],
                b"",
                good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :],
                None,
            ):
                os.remove(file_path)
                if bad is not None:
                    with open(file_path, "wb") as file:
                        file.write(bad)
                if name != "manifest.json" or bad is None or len(bad) < middle + 1:
                    self.assertIn(path, self.refused("bad_checkpoint", self.trainer.open, "run", path))
                with open(file_path, "wb") as file:
                    file.write(good)
        self.trainer.open("run", path)

    def test_a_changed_manifest_is_refused(self):
        self.update(1, 0)
        path = self.trainer.checkpoint("run", self.folder)["path"]
        name = os.path.join(path, "manifest.json")
        with open(name, encoding="utf-8") as file:
            good = json.load(file)
        for change in (
            {"weightDigest": "sha256:0"},
            {"step": 7},
            {"appliedOps": []},
            {"trainerBuild": "embedded-1 v9"},
            {"format": 2},
            {"files": good["files"][:2]},
            {"run": "other"},
        ):
            with open(name, "w", encoding="utf-8") as file:
                json.dump(good | change, file)
            self.refused("bad_checkpoint", self.trainer.open, "run", path)

    def test_a_checkpoint_of_another_base_shape_is_refused(self):
        self.update(1, 0)
        path = self.trainer.checkpoint("run", self.folder)["path"]
        foreign = Trainer(EmbeddedLearner(self.base, build_name(self.base, "2")))
        with self.assertRaises(TrainerFault) as caught:
            foreign.open("run", path)
        self.assertIn("build", str(caught.exception))

    def test_a_fork_counts_its_own_steps(self):
        report = self.update(1, 0)
        path = self.trainer.checkpoint("run", self.folder)["path"]
        self.trainer.open("fork", path)
        state = self.trainer.state()
        self.assertEqual((state["run"], state["step"], state["appliedOps"]), ("fork", 0, []))
        self.assertEqual(state["weightDigest"], report["weightDigest"])
        self.assertEqual(state["optimizerDigest"], report["optimizerDigest"])

    def test_a_damaged_checkpoint_is_written_again(self):
        self.update(1, 0)
        saved = self.trainer.checkpoint("run", self.folder)
        with open(os.path.join(saved["path"], "model.safetensors"), "r+b") as file:
            file.truncate(100)
        again = self.trainer.checkpoint("run", self.folder)
        self.assertEqual(again["manifest"]["files"], saved["manifest"]["files"])
        self.trainer.open("run", again["path"])

    def test_a_full_disk_leaves_nothing_visible(self):
        """The file system refuses large files here; a full disk takes the same way out."""
        report = self.update(1, 0)
        folder = os.path.join(self.folder, "checkpoints")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        try:
            message = self.refused("disk", self.trainer.checkpoint, "run", folder)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertIn(folder, message)
        self.assertEqual(os.listdir(folder), [])
        os.mkdir(os.path.join(folder, ".step-0001.writing-1"))
        self.assertEqual(
            self.trainer.checkpoint("run", folder)["manifest"]["weightDigest"], report["weightDigest"]
        )
        self.assertEqual(os.listdir(folder), ["step-0001"])

    def test_another_lineage_does_not_overwrite_a_checkpoint(self):
        self.update(1, 0)
        self.trainer.checkpoint("run", self.folder)
        self.trainer.open("run", None)
        self.update(1, 1)
        self.refused("conflict", self.trainer.checkpoint, "run", self.folder)


def _without_time(report: dict) -> dict:
    return {name: value for name, value in report.items() if name != "seconds"}


if __name__ == "__main__":
    unittest.main()
