"""Turns at shared GPUs: none beside another, none that waits for ever, and none that begins twice."""

import threading
import time
import unittest

from steadfast_verl.turns import RANKS, Left, Turns

LIMIT_S = 60


class TurnsTest(unittest.TestCase):
    def setUp(self):
        self.turns = Turns()
        #: Turns that began, in order.
        self.begun: list[str] = []
        self.threads: list[threading.Thread] = []

    def tearDown(self):
        for thread in self.threads:
            thread.join(LIMIT_S)
            self.assertFalse(thread.is_alive())

    def taking(self, turn: str, inside=lambda: None) -> threading.Event:
        """Set once a thread of its own is in that turn; it stays as long as `inside` takes."""
        entered = threading.Event()

        def take():
            with self.turns.of(turn, lambda: self.begun.append(turn)):
                entered.set()
                inside()

        self.threads.append(threading.Thread(target=take))
        self.threads[-1].start()
        return entered

    def waiting(self, turn: str, count: int) -> None:
        until(lambda: self.turns._waiting.get(turn, 0) == count)

    def test_any_number_is_in_a_turn_that_began_once(self):
        done = threading.Event()
        entered = [self.taking("a", done.wait) for _ in range(3)]
        self.assertTrue(all(event.wait(LIMIT_S) for event in entered))
        done.set()
        self.assertEqual(self.begun, ["a"])

    def test_who_waits_for_another_turn_gets_it_before_those_who_come_later(self):
        first, second = threading.Event(), threading.Event()
        self.assertTrue(self.taking("a", first.wait).wait(LIMIT_S))
        ranks = self.taking(RANKS, second.wait)
        self.waiting(RANKS, 1)
        later = [self.taking("a") for _ in range(2)]
        self.waiting("a", 2)
        self.assertFalse(ranks.is_set())
        first.set()
        self.assertTrue(ranks.wait(LIMIT_S))
        self.assertFalse(any(event.is_set() for event in later))
        second.set()
        self.assertTrue(all(event.wait(LIMIT_S) for event in later))
        self.assertEqual(self.begun, ["a", RANKS, "a"])

    def test_a_turn_that_cannot_begin_is_told_to_who_asked_and_begun_anew_by_the_next(self):
        def broken():
            raise OSError("no GPU")

        with self.assertRaisesRegex(OSError, "no GPU"), self.turns.of("a", broken):
            self.fail("it did not begin")
        self.assertTrue(self.taking("a").wait(LIMIT_S))
        self.assertEqual(self.begun, ["a"])

    def test_nobody_begins_while_another_turn_is_still_beginning(self):
        begins, done = threading.Event(), threading.Event()

        def begin():
            begins.set()
            done.wait(LIMIT_S)
            self.begun.append("a")

        def take():
            with self.turns.of("a", begin):
                pass

        self.threads.append(threading.Thread(target=take))
        self.threads[-1].start()
        self.assertTrue(begins.wait(LIMIT_S))
        other = self.taking(RANKS)
        self.waiting(RANKS, 1)
        self.assertFalse(other.is_set())
        done.set()
        self.assertTrue(other.wait(LIMIT_S))
        self.assertEqual(self.begun, ["a", RANKS])

    def test_a_turn_that_was_forgotten_begins_anew_when_its_last_has_left(self):
        done = threading.Event()
        self.assertTrue(self.taking("a", done.wait).wait(LIMIT_S))
        self.turns.forget()
        again = self.taking("a")
        self.waiting("a", 1)
        self.assertFalse(again.is_set())
        done.set()
        self.assertTrue(again.wait(LIMIT_S))
        self.assertEqual(self.begun, ["a", "a"])

    def test_what_dies_while_it_begins_is_begun_again(self):
        def begin():
            self.begun.append("a")
            if len(self.begun) == 1:
                self.turns.forget()

        with self.turns.of("a", begin):
            self.assertEqual(self.begun, ["a", "a"])

    def test_who_has_gone_away_waits_no_longer(self):
        done, gone, left = threading.Event(), threading.Event(), threading.Event()
        self.assertTrue(self.taking("a", done.wait).wait(LIMIT_S))

        def wait():
            try:
                with self.turns.of("b", lambda: self.begun.append("b"), gone.is_set):
                    self.begun.append("inside")
            except Left:
                left.set()

        self.threads.append(threading.Thread(target=wait))
        self.threads[-1].start()
        self.waiting("b", 1)
        gone.set()
        self.turns.look_again()
        self.assertTrue(left.wait(LIMIT_S))
        # Nobody waits any more: the turn that runs takes others in at once.
        self.assertTrue(self.taking("a").wait(LIMIT_S))
        done.set()
        self.assertEqual(self.begun, ["a"])


def until(holds) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError("it never came to it")
        time.sleep(0.01)


if __name__ == "__main__":
    unittest.main()
