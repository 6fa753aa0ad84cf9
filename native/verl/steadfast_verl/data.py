"""Rows as Verl's workers take them, and their answers as rows again.

Verl's engine wants sequences without padding: nested tensors whose tokens lie one after the other. `prompts` and
`responses` are there for their lengths, by which its loss finds the response in the model's output.
"""

from collections.abc import Sequence

import numpy as np
import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.dataset_utils import DatasetPadMode

from .rows import Row


def to_tensordict(rows: Sequence[Row], entropy: bool, loss: bool) -> TensorDict:
    """`loss`: with advantages, old log-probabilities and, where there are any, importance weights."""
    fields = {
        "input_ids": _nested([row.ids for row in rows], torch.int64),
        "position_ids": _nested([np.arange(len(row.ids)) for row in rows], torch.int64),
        "prompts": _nested([row.ids[: row.prompt] for row in rows], torch.int64),
        "responses": _nested([row.ids[row.prompt :] for row in rows], torch.int64),
        # Verl counts the tokens of the loss by the one, and weighs them by the other.
        "loss_mask": _nested([row.mask for row in rows], torch.bool),
        "response_mask": _nested([row.mask for row in rows], torch.bool),
    }
    if loss:
        fields["advantages"] = _nested([np.full(row.response, row.advantage) for row in rows], torch.float32)
        fields["old_log_probs"] = _nested([_old(row) for row in rows], torch.float32)
        if any(row.importance is not None for row in rows):
            weights = [_ones(row) if row.importance is None else row.importance for row in rows]
            fields["rollout_is_weights"] = _nested(weights, torch.float32)
    data = TensorDict(fields, batch_size=[len(rows)])
    tu.assign_non_tensor(
        data,
        temperature=1.0,
        calculate_entropy=entropy,
        compute_loss=loss,
        pad_mode=DatasetPadMode.NO_PADDING,
        # Asked for by the loss, and of no effect on a mean over tokens.
        global_batch_size=len(rows),
    )
    return data


def responses_of(output: TensorDict, name: str, rows: Sequence[Row]) -> list[np.ndarray]:
    """float32 values of each row's response: the model's answer at a position is about the token after it."""
    values = output[name]
    parts = values.unbind()
    if len(parts) != len(rows) or any(
        len(part) != len(row.ids) for part, row in zip(parts, rows, strict=True)
    ):
        raise ValueError(f"{name}: expected a value for each token of {len(rows)} rows")
    return [
        part[row.prompt - 1 : -1].detach().float().cpu().numpy()
        for part, row in zip(parts, rows, strict=True)
    ]


def _old(row: Row) -> np.ndarray:
    # Only a filler has none.
    return np.zeros(row.response, np.float32) if row.old_logprobs is None else row.old_logprobs


def _ones(row: Row) -> np.ndarray:
    return np.ones(row.response, np.float32)


def _nested(parts: Sequence[np.ndarray], dtype: torch.dtype) -> torch.Tensor:
    tensors = [torch.tensor(np.asarray(part), dtype=dtype) for part in parts]
    return torch.nested.as_nested_tensor(tensors, layout=torch.jagged)
