"""Batches that refer to token records: they say what batches that hold the tokens say, and a bad record is named."""

import os
import tempfile
import unittest

import numpy as np

from steadfast_protocol.batch import Episode, read_batch
from steadfast_protocol.faults import TrainerFault
from steadfast_protocol.tensors import decode_safetensors

from .fixtures import small_base, write_batch, write_file, write_index


class BatchIndexTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self.base = small_base(os.path.join(self.folder, "base"))
        self.limits = self.base.config.vocab, self.base.config.context
        path, digest = write_batch(self.folder, self.base, 1)
        self.episodes = read_batch(path, digest, *self.limits)

    def tearDown(self):
        self._folder.cleanup()

    def refused(self, path: str, digest: str, records: dict[str, str] | None) -> str:
        with self.assertRaises(TrainerFault) as caught:
            read_batch(path, digest, *self.limits, records)
        self.assertEqual(caught.exception.code, "bad_batch")
        return str(caught.exception)

    def changed(self, change) -> tuple[str, str]:
        """The index after `change(tensors, metadata)`."""
        path, _, _ = write_index(self.folder, self.episodes)
        return write_file(self.folder, *altered(path, change))

    def test_an_index_says_the_same_whatever_the_format_of_its_records_and_the_order(self):
        for version in ("1", "2"):
            path, digest, records = write_index(self.folder, self.episodes[::-1], version)
            found = read_batch(path, digest, *self.limits, records)
            for one, other in zip(found, self.episodes, strict=True):
                self.assertEqual((one.key, one.advantage), (other.key, other.advantage))
                for name in ("ids", "sampled", "logprobs"):
                    np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
                    self.assertEqual(getattr(one, name).dtype, getattr(other, name).dtype)

    def test_two_episodes_may_have_one_record(self):
        first = self.episodes[0]
        twins = [first, Episode("twin", first.ids, first.sampled, first.logprobs, -1.0)]
        path, digest, records = write_index(self.folder, twins)
        self.assertEqual(len(records), 1)
        self.assertEqual(len(read_batch(path, digest, *self.limits, records)), 2)

    def test_a_record_that_is_not_there_or_not_its_digest_is_named_with_its_episode(self):
        path, digest, records = write_index(self.folder, self.episodes)
        victim = self.episodes[2].key
        record = list(records)[2]
        gone = os.path.join(self.folder, "gone")
        for others, words in (
            ({**records, record: gone}, ("cannot be read", gone)),
            ({**records, record: self.folder}, ("cannot be read", self.folder)),
            ({**records, record: "with\0zero"}, ("cannot be read",)),
            ({**records, record: records[list(records)[0]]}, (f"expected {record}, found",)),
            ({name: place for name, place in records.items() if name != record}, ("does not say where",)),
            (None, ("does not say where",)),
        ):
            message = self.refused(path, digest, others)
            if others is not None:
                self.assertIn(f"episode {victim}: token record {record}", message)
            for word in words:
                self.assertIn(word, message)
        with open(records[record], "rb") as file:
            whole = file.read()
        for damaged in (whole[:-1], whole[: len(whole) // 2], b"", bytes(reversed(whole))):
            with open(records[record], "wb") as file:
                file.write(damaged)
            self.assertIn(f"episode {victim}", self.refused(path, digest, records))
        with open(records[record], "wb") as file:
            file.write(whole)
        self.assertEqual(len(read_batch(path, digest, *self.limits, records)), len(self.episodes))

    def test_a_record_that_is_its_digest_and_malformed_is_named_with_its_episode(self):
        path, _, records = write_index(self.folder, self.episodes)
        record = list(records)[2]

        def entry(name, index, value):
            def change(tensors, _):
                tensors[name][index] = value

            return change

        cases = {
            "tensor ids: expected 0 to": entry("ids", 3, self.base.config.vocab),
            "tensor ids: expected one axis": lambda tensors, _: tensors.pop("ids") is None,
            "at least 2 tokens": lambda tensors, _: tensors.update(ids=tensors["ids"][:0]),
            "tensor bits: expected one axis": lambda tensors, _: tensors.pop("bits") is None,
            "bytes": lambda tensors, _: tensors.update(bits=tensors["bits"][:-1]),
            "entries": lambda tensors, _: tensors.update(logprobs=tensors["logprobs"][:-1]),
            "finite": entry("logprobs", 0, np.nan),
            "metadata format": lambda _, metadata: metadata.update(format="3"),
            "first token": first_sampled,
        }
        for word, change in cases.items():
            place, digest = write_file(self.folder, *altered(records[record], change))

            def points_there(_, metadata, digest=digest):
                metadata["records"] = metadata["records"].replace(record, digest)

            def counts_one_more(tensors, metadata, digest=digest):
                points_there(tensors, metadata, digest)
                tensors["sampled"][2] += 1

            index = self.changed(counts_one_more if word == "first token" else points_there)
            message = self.refused(*index, records | {digest: place})
            self.assertIn(f"episode {self.episodes[2].key}", message)
            self.assertIn(word, message)

    def test_lengths_and_counts_that_are_not_those_of_the_records_are_refused(self):
        _, _, records = write_index(self.folder, self.episodes)
        for name in ("lengths", "sampled"):

            def more(tensors, _, name=name):
                tensors[name][1] += 1

            message = self.refused(*self.changed(more), records)
            self.assertIn(f"episode {self.episodes[1].key}", message)
            self.assertIn("of them sampled", message)
        with self.assertRaisesRegex(TrainerFault, "at most 10 tokens"):
            path, digest, _ = write_index(self.folder, self.episodes)
            read_batch(path, digest, self.limits[0], 10, records)

    def test_a_malformed_index_is_refused(self):
        _, _, records = write_index(self.folder, self.episodes)
        cases = {
            "tensor sampled": lambda tensors, _: tensors.pop("sampled") is None,
            "a record and a count": lambda tensors, _: tensors.update(sampled=tensors["sampled"][:-1]),
            "metadata records": lambda _, metadata: metadata.update(records="[1]"),
            "metadata keys": lambda _, metadata: metadata.update(keys='[["a"]]'),
            "different keys": lambda _, metadata: metadata.update(keys='["a"]'),
            "advantages": lambda tensors, _: tensors.update(advantages=tensors["advantages"] * np.nan),
        }
        for word, change in cases.items():
            self.assertIn(word, self.refused(*self.changed(change), records))


def altered(path: str, change) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    with open(path, "rb") as file:
        tensors, metadata = decode_safetensors(file.read(), path)
    tensors = {name: tensor.copy() for name, tensor in tensors.items()}
    change(tensors, metadata)
    return tensors, metadata


def first_sampled(tensors, _):
    tensors["bits"][0] |= 1
    tensors["logprobs"] = np.append(tensors["logprobs"], np.float32(-1))


if __name__ == "__main__":
    unittest.main()
