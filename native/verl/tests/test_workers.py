"""A group that dies: what it held is gone, the next call begins a new one, and nothing of the old is used."""

import gc
import unittest

from steadfast_protocol.faults import TrainerFault
from steadfast_verl.workers import Lost, Workers


class Ranks:
    """Two ranks that note what they are asked, and fail when they are told to."""

    def __init__(self, log: list):
        self.log, self.broken, self.ended = log, False, False

    def start(self, base: str):
        return [{"process": rank} for rank in range(2)]

    def call(self, method: str, arguments):
        if self.broken:
            raise RuntimeError("a rank has gone")
        self.log.append((method, arguments[0]))
        return list(range(len(arguments)))

    def end(self):
        self.ended = True


class WorkersTest(unittest.TestCase):
    def setUp(self):
        self.lives, self.log = [], []

        def begin():
            self.lives.append(Ranks(self.log))
            return self.lives[-1]

        self.workers = Workers(begin, 2)

    def test_ranks_are_started_once(self):
        self.workers.start()
        self.assertEqual(self.workers.call("score", "v"), [0, 1])
        self.assertEqual(len(self.lives), 1)

    def test_a_lost_rank_is_the_end_of_all_and_of_what_they_held(self):
        self.workers.start()
        held = self.workers.new()
        self.assertTrue(self.workers.alive(held))
        self.lives[0].broken = True
        with self.assertRaisesRegex(Lost, "a rank has gone"):
            self.workers.call("learn")
        self.assertTrue(self.lives[0].ended)
        self.assertFalse(self.workers.alive(held))
        with self.assertRaises(TrainerFault) as caught:
            self.workers.require(held)
        self.assertEqual(caught.exception.code, "weights_unavailable")
        self.workers.require(self.workers.base())
        self.workers.call("score", "base")
        self.assertEqual(len(self.lives), 2)
        self.assertFalse(self.workers.alive(held))
        self.assertTrue(self.workers.alive(self.workers.new()))

    def test_weights_leave_the_ranks_with_their_last_reference(self):
        self.workers.start()
        held, other = self.workers.new(), self.workers.new()
        name = held.name
        del held
        gc.collect()
        self.workers.call("score", other.name)
        self.assertEqual(self.log, [("drop", ([name],)), ("score", (other.name,))])

    def test_ranks_that_cannot_start(self):
        def begin():
            raise OSError("no GPU")

        with self.assertRaisesRegex(Lost, "no GPU"):
            Workers(begin, 2).start()


if __name__ == "__main__":
    unittest.main()
