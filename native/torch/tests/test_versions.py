"""Which weights stay samplable."""

import unittest

from steadfast_protocol.faults import TrainerFault
from steadfast_torch.versions import Versions


class VersionsTest(unittest.TestCase):
    def setUp(self):
        self.gone: list[str] = []
        self.versions: Versions[str] = Versions(3, self.gone.append)

    def test_what_is_not_here_is_said(self):
        self.versions.publish("a", "weights of a")
        self.assertEqual(self.versions["a"].weights, "weights of a")
        with self.assertRaises(TrainerFault) as caught:
            self.versions["b"]
        self.assertEqual(caught.exception.code, "weights_unavailable")
        self.assertIn("loaded: ['a']", str(caught.exception))

    def test_the_least_recently_used_leaves_first(self):
        for name in "abc":
            self.versions.publish(name, name)
        self.versions["a"]
        self.versions.publish("d", "d")
        self.assertEqual((self.versions.names(), self.gone), (["c", "a", "d"], ["b"]))

    def test_leased_running_and_published_ones_stay(self):
        self.versions.serve("leased", "")
        self.versions.publish("running", "")
        self.versions["running"].running += 1
        for name in "abc":
            self.versions.publish(name, name)
        self.assertEqual(self.versions.names(), ["leased", "running", "c"])
        self.versions.release("c")
        self.assertIn("c", self.versions.names())

    def test_a_release_counts_and_may_come_twice(self):
        self.versions.publish("now", "")
        self.versions.serve("x", "")
        self.versions.serve("x", "")
        self.versions.release("x")
        self.assertIn("x", self.versions.names())
        self.versions.release("x")
        self.versions.release("x")
        self.versions.release("never there")
        self.assertEqual(self.versions.names(), ["now"])
        self.assertEqual(self.gone, ["x"])

    def test_a_version_that_comes_again_has_its_newest_weights(self):
        self.versions.publish("a", "lost")
        self.versions.serve("a", "found")
        self.assertEqual(self.versions["a"].weights, "found")
        self.assertEqual(self.versions["a"].leases, 1)

    def test_when_all_are_in_use_one_more_is_kept(self):
        for name in "abcd":
            self.versions.serve(name, name)
            self.versions[name].running += 1
        self.assertEqual(len(self.versions.names()), 4)


if __name__ == "__main__":
    unittest.main()
