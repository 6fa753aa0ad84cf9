"""Which replica answers: the next turn of an episode goes where the turns before it are in the cache."""

import unittest

import numpy as np

from steadfast_protocol.samplers import Request
from steadfast_protocol.sampling import SamplingOptions
from steadfast_verl.placement import _MOST, Placement

OPTIONS = SamplingOptions(1, 0, 1, 0)


def request(ids: list[int], score: bool = False) -> Request:
    return Request(np.array(ids, np.int32), OPTIONS, 8, frozenset(), score)


class PlacementTest(unittest.TestCase):
    def sampled(self, placement: Placement, ids: list[int], tokens: list[int]) -> int:
        asked = request(ids)
        with placement.of(asked) as replica:
            asked.tokens = tokens
        return replica

    def test_those_that_run_are_spread(self):
        placement = Placement(3)
        with placement.of(request([1])) as first, placement.of(request([1])) as second:
            self.assertEqual(sorted([first, second, *self.next_of(placement)]), [0, 1, 2])

    def next_of(self, placement: Placement) -> list[int]:
        with placement.of(request([1])) as third:
            return [third]

    def test_the_next_turn_of_an_episode_goes_where_it_was_although_others_have_less_to_do(self):
        placement = Placement(2)
        with placement.of(request([9])):
            home = self.sampled(placement, [1, 2], [3, 4])
        self.assertEqual(home, 1)
        with placement.of(request([1, 2, 3, 4, 7])) as held:
            self.assertEqual(held, 1)
            self.assertEqual(self.sampled(placement, [1, 2, 3, 4, 5], [6]), 1)
            # The same first turn with another reply, and a beginning that was never sampled.
            self.assertEqual(self.sampled(placement, [1, 2, 3, 5], []), 0)
            self.assertEqual(self.sampled(placement, [1, 2], []), 0)

    def test_the_longest_beginning_decides(self):
        placement = Placement(2)
        self.assertEqual(self.sampled(placement, [7, 7, 7, 7], []), 0)
        self.assertEqual(self.sampled(placement, [1], [2]), 0)
        with placement.of(request([5])):
            self.assertEqual(self.sampled(placement, [1, 3], []), 1)
        with placement.of(request([6])):
            self.assertEqual(self.sampled(placement, [4], [4]), 1)
        self.assertEqual(self.sampled(placement, [1, 2, 8, 8, 8], [9]), 0)
        self.assertEqual(self.sampled(placement, [4, 4, 8, 8, 8], [9]), 1)

    def test_a_request_that_failed_is_not_remembered_and_no_longer_counted(self):
        placement = Placement(2)
        with self.assertRaises(OSError), placement.of(request([1])):
            raise OSError
        self.assertEqual(placement._running, [0, 0])
        self.assertEqual(len(placement._known), 0)

    def test_the_oldest_are_forgotten(self):
        placement = Placement(2)
        self.sampled(placement, [1] * 100, [])
        for number in range(_MOST + 10):
            self.sampled(placement, [number], list(range(number % 7)))
        self.assertEqual(len(placement._known), _MOST)
        self.assertEqual(sum(placement._lengths.values()), _MOST)
        self.assertEqual(len(placement._lengths), 7)


if __name__ == "__main__":
    unittest.main()
