"""Rows to Verl's tensors and its answers back, exactly."""

import unittest

import numpy as np
import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu

from steadfast_verl.data import responses_of, to_tensordict
from steadfast_verl.rows import FILLER, row_of, scoring_row, spread, with_old

from .episodes import episodes


class DataTest(unittest.TestCase):
    def setUp(self):
        self.rows = [*(row_of(episode) for episode in episodes()), FILLER]

    def test_every_token_and_every_mask_is_there(self):
        data = to_tensordict(self.rows, entropy=True, loss=False)
        self.assertEqual(data.batch_size, torch.Size([len(self.rows)]))
        for i, row in enumerate(self.rows):
            np.testing.assert_array_equal(data["input_ids"][i].numpy(), row.ids)
            np.testing.assert_array_equal(data["position_ids"][i].numpy(), np.arange(len(row.ids)))
            np.testing.assert_array_equal(
                torch.cat([data["prompts"][i], data["responses"][i]]).numpy(), row.ids
            )
            np.testing.assert_array_equal(data["loss_mask"][i].numpy(), row.mask)
        self.assertEqual(int(data["loss_mask"].sum()), sum(int(row.mask.sum()) for row in self.rows))
        self.assertNotIn("advantages", data)
        self.assertTrue(tu.get_non_tensor_data(data, "calculate_entropy", None))

    def test_what_the_loss_needs(self):
        rng = np.random.default_rng(5)
        rows, weighed = [], []
        for row in self.rows:
            old = spread(row, rng.standard_normal(int(row.mask.sum())).astype(np.float32))
            weight = spread(row, rng.random(int(row.mask.sum())).astype(np.float32))
            rows.append(with_old(row, old, None))
            weighed.append(with_old(row, old, weight))
        data = to_tensordict(rows, entropy=False, loss=True)
        self.assertNotIn("rollout_is_weights", data)
        weights = to_tensordict(weighed, entropy=False, loss=True)["rollout_is_weights"]
        for i, row in enumerate(weighed):
            np.testing.assert_array_equal(data["old_log_probs"][i].numpy(), row.old_logprobs)
            np.testing.assert_array_equal(weights[i].numpy(), row.importance)
            np.testing.assert_array_equal(
                data["advantages"][i].numpy(), np.full(row.response, np.float32(row.advantage))
            )

    def test_an_answer_at_a_position_is_about_the_next_token(self):
        for rows in (self.rows, [scoring_row(np.arange(9, dtype=np.int32))]):
            # What a model that counts would say: at each position the number of the next token.
            answers = [torch.arange(1, len(row.ids) + 1, dtype=torch.float32) for row in rows]
            values = torch.nested.as_nested_tensor(answers, layout=torch.jagged)
            output = TensorDict({"log_probs": values}, batch_size=[len(rows)])
            for row, found in zip(rows, responses_of(output, "log_probs", rows), strict=True):
                np.testing.assert_array_equal(found, np.arange(row.prompt, len(row.ids)))

    def test_answers_of_another_batch_are_refused(self):
        values = torch.nested.as_nested_tensor([torch.zeros(3)], layout=torch.jagged)
        output = TensorDict({"log_probs": values}, batch_size=[1])
        with self.assertRaisesRegex(ValueError, "log_probs"):
            responses_of(output, "log_probs", self.rows[:1])


if __name__ == "__main__":
    unittest.main()
