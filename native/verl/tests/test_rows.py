"""Rows: every sampled token is in exactly one, fillers weigh nothing, and answers come back in the batch's order."""

import unittest

import numpy as np

from steadfast_verl.rows import FILLER, joined, row_of, sampled, scoring_row, split, spread

from .episodes import episodes


class RowsTest(unittest.TestCase):
    def test_a_row_holds_what_its_episode_sampled(self):
        for episode in episodes(20):
            row = row_of(episode)
            self.assertFalse(episode.sampled[: row.prompt].any())
            self.assertTrue(row.mask[0] and row.mask[-1])
            np.testing.assert_array_equal(row.ids, episode.ids[: len(row.ids)])
            np.testing.assert_array_equal(row.ids[row.prompt :][row.mask], episode.ids[episode.sampled])
            self.assertFalse(episode.sampled[len(row.ids) :].any())

    def test_a_scoring_row_asks_for_every_token_after_the_first(self):
        row = scoring_row(np.array([4, 5, 6], np.int32))
        self.assertEqual((row.prompt, row.mask.tolist()), (1, [True, True]))

    def test_every_rank_gets_as_many_rows_and_every_row_is_with_one(self):
        for ranks in (1, 2, 3, 8):
            rows = [row_of(episode) for episode in episodes(7, seed=ranks)]
            parts, places = split(rows, ranks)
            self.assertEqual({len(part) for part in parts}, {-(-7 // ranks)})
            self.assertEqual(sorted(place for mine in places for place in mine if place >= 0), list(range(7)))
            for part, mine in zip(parts, places, strict=True):
                for row, place in zip(part, mine, strict=True):
                    self.assertIs(row, FILLER if place < 0 else rows[place])

    def test_long_rows_are_spread(self):
        rows = [scoring_row(np.zeros(n, np.int32)) for n in (10, 30, 20)]
        self.assertEqual(split(rows, 2)[1], [[1, -1], [0, 2]])

    def test_fillers_sample_nothing(self):
        self.assertEqual(int(FILLER.mask.sum()), 0)
        self.assertEqual((FILLER.prompt, FILLER.response), (1, 1))

    def test_answers_come_back_in_order(self):
        rows = [row_of(episode) for episode in episodes(7)]
        for ranks in (1, 2, 3, 8):
            parts, places = split(rows, ranks)
            answers = [
                [part_row.ids[part_row.prompt :].astype(np.float32) for part_row in part] for part in parts
            ]
            back = joined(answers, places, len(rows))
            for row, answer in zip(rows, back, strict=True):
                np.testing.assert_array_equal(answer, row.ids[row.prompt :])

    def test_a_row_without_answer_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "1"):
            joined([[np.zeros(1)]], [[0]], 2)

    def test_values_of_sampled_tokens_there_and_back(self):
        rows = [row_of(episode) for episode in episodes()]
        values = [np.arange(row.response, dtype=np.float32) for row in rows]
        flat, start = sampled(rows, values), 0
        for row, value in zip(rows, values, strict=True):
            count = int(row.mask.sum())
            np.testing.assert_array_equal(
                spread(row, flat[start : start + count]), np.where(row.mask, value, 0)
            )
            start += count
        self.assertEqual(start, len(flat))


if __name__ == "__main__":
    unittest.main()
