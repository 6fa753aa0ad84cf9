"""Every malformed batch is named; order in the file does not matter."""

import hashlib
import os
import tempfile
import unittest

import numpy as np

from steadfast_protocol.batch import read_batch
from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.plan import Plan
from steadfast_protocol.tensors import decode_safetensors, digest_tensors, encode_safetensors
from steadfast_trainer.adamw import OptimizerState
from steadfast_trainer.update import compute_update

from .fixtures import PLAN, small_base, write_batch


class BatchTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self.base = small_base(os.path.join(self.folder, "base"))

    def tearDown(self):
        self._folder.cleanup()

    def changed(self, change) -> tuple[str, str]:
        path, _ = write_batch(self.folder, self.base, 1)
        with open(path, "rb") as file:
            tensors, metadata = decode_safetensors(file.read(), path)
        tensors = {name: tensor.copy() for name, tensor in tensors.items()}
        change(tensors, metadata)
        data = encode_safetensors(tensors, metadata)
        with open(path, "wb") as file:
            file.write(data)
        return path, "sha256:" + hashlib.sha256(data).hexdigest()

    def test_malformed_batches(self):
        config = self.base.config

        def set_entry(name, index, value):
            def change(tensors, _):
                tensors[name][index] = value

            return change

        def first_sampled(tensors, _):
            tensors["bits"][0] |= 1
            tensors["logprobs"] = np.append(tensors["logprobs"], np.float32(-1))

        def fewer_keys(_, metadata):
            metadata["keys"] = '["a"]'

        cases = {
            "ids": set_entry("ids", 0, config.vocab),
            "lengths": set_entry("lengths", 0, 1),
            "advantages": set_entry("advantages", 0, np.nan),
            "keys": fewer_keys,
            "first token": first_sampled,
            "format": lambda _, metadata: metadata.update(format="4"),
            "tensor logprobs": lambda tensors, _: tensors.pop("logprobs") is None,
            "tensor bits": lambda tensors, _: tensors.update(bits=tensors["bits"].astype(np.int32)),
            "bytes": lambda tensors, _: tensors.update(bits=tensors["bits"][:-1]),
            "entries": lambda tensors, _: tensors.update(logprobs=tensors["logprobs"][:-1]),
        }
        for word, change in cases.items():
            path, digest = self.changed(change)
            with self.assertRaises(TrainerFault) as caught:
                read_batch(path, digest, config.vocab, config.context)
            self.assertEqual(caught.exception.code, "bad_batch")
            self.assertIn(word, str(caught.exception))

    def test_the_order_of_episodes_changes_no_byte(self):
        def reverse(tensors, metadata):
            lengths = tensors["lengths"].tolist()
            parts = np.split(np.arange(sum(lengths)), np.cumsum(lengths)[:-1])
            order = np.concatenate(parts[::-1])
            sampled = np.unpackbits(tensors["bits"], count=len(order), bitorder="little")
            logprobs = np.zeros(len(order), np.float32)
            logprobs[sampled != 0] = tensors["logprobs"]
            tensors["ids"], sampled, logprobs = tensors["ids"][order], sampled[order], logprobs[order]
            tensors["bits"] = np.packbits(sampled, bitorder="little")
            tensors["logprobs"] = logprobs[sampled != 0]
            for name in ("lengths", "advantages"):
                tensors[name] = tensors[name][::-1]
            keys = metadata["keys"].strip("[]").split(",")
            metadata["keys"] = "[" + ",".join(keys[::-1]) + "]"

        config, digests = self.base.config, []
        for change in (lambda *_: None, reverse):
            path, digest = self.changed(change)
            episodes = read_batch(path, digest, config.vocab, config.context)
            result = compute_update(
                self.base.weights, OptimizerState.fresh(config), self.base.weights, episodes, Plan.parse(PLAN)
            )
            digests.append(digest_tensors(result.weights.tensors))
        self.assertEqual(*digests)

    def test_the_first_format_says_the_same(self):
        def first(tensors, metadata):
            sampled = np.unpackbits(tensors.pop("bits"), count=len(tensors["ids"]), bitorder="little")
            logprobs = np.zeros(len(sampled), np.float32)
            logprobs[sampled != 0] = tensors["logprobs"]
            tensors |= {"sampled": sampled, "logprobs": logprobs}
            metadata["format"] = "1"

        config = self.base.config
        for now, before in zip(
            read_batch(*self.changed(lambda *_: None), config.vocab, config.context),
            read_batch(*self.changed(first), config.vocab, config.context),
            strict=True,
        ):
            self.assertEqual((now.key, now.advantage), (before.key, before.advantage))
            for name in ("ids", "sampled", "logprobs"):
                np.testing.assert_array_equal(getattr(now, name), getattr(before, name))
            self.assertTrue((now.logprobs[~now.sampled] == 0).all())
            self.assertTrue((now.logprobs[now.sampled] < 0).all())

    def test_truncated_safetensors_are_refused(self):
        path, _ = write_batch(self.folder, self.base, 1)
        with open(path, "rb") as file:
            data = file.read()
        for size in (0, 7, 50, len(data) - 1):
            with self.assertRaises(ValueError):
                decode_safetensors(data[:size], path)


if __name__ == "__main__":
    unittest.main()
