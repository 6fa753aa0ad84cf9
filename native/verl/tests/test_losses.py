"""Verl's own loss, as the ranks are started with it, on the vectors that every trainer is held to; and over ranks."""

import json
import os
import unittest

import numpy as np
import torch
from verl.utils import tensordict_utils as tu
from verl.utils.torch_functional import logprobs_from_logits
from verl.workers.config import FSDPActorConfig, FSDPOptimizerConfig
from verl.workers.utils.losses import ppo_loss

from steadfast_protocol.importance import importance_weights
from steadfast_protocol.plan import Plan
from steadfast_verl.data import to_tensordict
from steadfast_verl.learner import clipped_share
from steadfast_verl.rows import Row, row_of, split, spread, with_old

from .episodes import VOCABULARY, episodes

VECTORS = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "trainer", "tests", "vectors", "loss.json"
)


def actor(clip: float, dual_clip: float) -> FSDPActorConfig:
    return FSDPActorConfig(
        strategy="fsdp2",
        rollout_n=1,
        use_dynamic_bsz=True,
        ppo_mini_batch_size=1,
        clip_ratio=clip,
        clip_ratio_low=clip,
        clip_ratio_high=clip,
        clip_ratio_c=dual_clip,
        loss_agg_mode="token-mean",
        entropy_coeff=0.0,
        optim=FSDPOptimizerConfig(lr=1e-3),
    )


def loss_of(
    config: FSDPActorConfig, rows: list[Row], logprobs: list[torch.Tensor], tokens: float, ranks: int
):
    """Verl's loss of one micro-batch; `logprobs` are of each row's response."""
    data = to_tensordict(rows, entropy=False, loss=True)
    tu.assign_non_tensor(data, dp_size=ranks, batch_num_tokens=tokens)
    # Verl's model says at a position what it thinks of the next token.
    whole = [
        torch.cat([torch.zeros(row.prompt - 1), found, torch.zeros(1)])
        for row, found in zip(rows, logprobs, strict=True)
    ]
    output = {"log_probs": torch.nested.as_nested_tensor(whole, layout=torch.jagged)}
    return ppo_loss(config, output, data)[0]


class LossTest(unittest.TestCase):
    def test_loss_and_gradient_are_those_of_the_definition(self):
        with open(VECTORS, encoding="utf-8") as file:
            cases = json.load(file)
        self.assertGreater(len(cases), 3)
        for name, case in cases.items():
            with self.subTest(name):
                logits = torch.tensor(case["logits"], dtype=torch.float32).requires_grad_(True)
                targets = torch.tensor(case["targets"])
                logprobs = logprobs_from_logits(logits=logits, labels=targets, inplace_backward=False)
                ours = logprobs.detach().numpy()
                old = ours if case["old"] is None else np.array(case["old"], np.float32)
                weights = np.ones(len(old), np.float32)
                if case["cap"] is not None:
                    weights = importance_weights(old, np.array(case["sampler"], np.float32), case["cap"])
                    np.testing.assert_allclose(weights, case["expected"]["importance"], atol=2e-6)
                # Each token has an advantage of its own here, so each is a row of its own.
                rows = [
                    Row(
                        np.array([0, target], np.int32),
                        1,
                        np.ones(1, bool),
                        advantage,
                        old[i : i + 1],
                        weights[i : i + 1],
                    )
                    for i, (target, advantage) in enumerate(
                        zip(case["targets"], case["advantages"], strict=True)
                    )
                ]
                config = actor(case["clip"], case["dualClip"])
                loss = loss_of(config, rows, list(logprobs[:, None]), case["denominator"], 1)
                loss.backward()
                self.assertAlmostEqual(float(loss), case["expected"]["loss"], delta=1e-6)
                np.testing.assert_allclose(logits.grad.numpy(), case["expected"]["gradient"], atol=1e-6)
                plan = Plan(1e-3, 0.0, case["clip"], case["dualClip"], 1.0)
                share = clipped_share(
                    np.array(case["advantages"]), np.exp(ours.astype(np.float64) - old), plan
                )
                self.assertAlmostEqual(share * len(rows), case["expected"]["clipped"])

    def test_the_denominator_spans_all_ranks_and_micro_batches(self):
        made = episodes(7)
        rows = [row_of(episode) for episode in made]
        tokens = sum(int(row.mask.sum()) for row in rows)
        rng = np.random.default_rng(1)
        rows = [
            with_old(row, spread(row, rng.standard_normal(int(row.mask.sum())).astype(np.float32) / 9), None)
            for row in rows
        ]
        table = torch.tensor(rng.standard_normal((VOCABULARY, 1)), dtype=torch.float32) / 9

        def gradient(parts: list[list[Row]], size: int) -> torch.Tensor:
            weight = table.clone().requires_grad_(True)
            for part in parts:
                for start in range(0, len(part), size):
                    some = part[start : start + size]
                    found = [weight[torch.from_numpy(row.ids[row.prompt :]).long(), 0] for row in some]
                    loss = loss_of(actor(0.2, 3.0), some, found, tokens, len(parts))
                    # FSDP takes the mean over the ranks.
                    (loss / len(parts)).backward()
            return weight.grad

        whole = gradient([rows], len(rows))
        self.assertGreater(float(whole.abs().max()), 1e-3)
        for ranks in (1, 2, 3, 8):
            for size in (1, 2, 5):
                parts, _ = split(rows, ranks)
                np.testing.assert_allclose(gradient(parts, size), whole, atol=1e-7)


if __name__ == "__main__":
    unittest.main()
