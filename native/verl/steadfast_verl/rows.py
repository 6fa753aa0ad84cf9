"""The batch as the ranks get it: one row an episode, as many rows for each data-parallel rank as for the others.

Verl splits a batch by rows, so there must be as many for each rank. Rows that fill up are two tokens of which none
counts: they add nothing to loss, gradient or denominator.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steadfast_protocol.batch import Episode


@dataclass(frozen=True)
class Row:
    """ids[n] begin with `prompt` tokens that nobody sampled; mask[n - prompt] true where the policy chose the token.

    The rest is of the response, too: old log-probabilities and importance weights are absent before they are known.
    """

    ids: np.ndarray
    prompt: int
    mask: np.ndarray
    advantage: float
    old_logprobs: np.ndarray | None = None
    importance: np.ndarray | None = None

    @property
    def response(self) -> int:
        return len(self.ids) - self.prompt


FILLER = Row(np.zeros(2, np.int32), 1, np.zeros(1, bool), 0.0)


def row_of(episode: Episode) -> Row:
    """Without what follows the last sampled token, since nothing depends on it."""
    at = np.flatnonzero(episode.sampled)
    first, end = int(at[0]), int(at[-1]) + 1
    return Row(episode.ids[:end], first, episode.sampled[first:end].astype(bool), episode.advantage)


def scoring_row(ids: np.ndarray) -> Row:
    """A sequence of which every token from the second on is asked for."""
    return Row(ids, 1, np.ones(len(ids) - 1, bool), 0.0)


def split(rows: Sequence[Row], ranks: int) -> tuple[list[list[Row]], list[list[int]]]:
    """(rows, their places in the batch) of each rank: equally many, long ones spread. A place of -1 is a filler.

    The longest row goes to the rank with the fewest tokens that still has room; ties to the first. So it depends on
    nothing but the rows.
    """
    room = -(-len(rows) // ranks)
    places: list[list[int]] = [[] for _ in range(ranks)]
    tokens = [0] * ranks
    for place in sorted(range(len(rows)), key=lambda index: (-len(rows[index].ids), index)):
        rank = min((r for r in range(ranks) if len(places[r]) < room), key=lambda r: (tokens[r], r))
        places[rank].append(place)
        tokens[rank] += len(rows[place].ids)
    for mine in places:
        mine.sort()
        mine.extend([-1] * (room - len(mine)))
    return [[FILLER if place < 0 else rows[place] for place in mine] for mine in places], places


def joined(
    results: Sequence[Sequence[np.ndarray]], places: Sequence[Sequence[int]], count: int
) -> list[np.ndarray]:
    """What the ranks answered, a row each, in the order of the batch; fillers are left out."""
    found: list[np.ndarray | None] = [None] * count
    for answers, mine in zip(results, places, strict=True):
        for answer, place in zip(answers, mine, strict=True):
            if place >= 0:
                found[place] = answer
    missing = [place for place, answer in enumerate(found) if answer is None]
    if missing:
        raise ValueError(f"no rank answered for the rows {missing[:5]}")
    return found


def sampled(rows: Sequence[Row], responses: Sequence[np.ndarray]) -> np.ndarray:
    """Of values of whole responses those of the sampled tokens, all rows after each other."""
    return np.concatenate([values[row.mask] for row, values in zip(rows, responses, strict=True)])


def spread(row: Row, values: np.ndarray) -> np.ndarray:
    """Values of the sampled tokens at their places in the response; 0 elsewhere."""
    full = np.zeros(row.response, np.float32)
    full[row.mask] = values
    return full


def with_old(row: Row, old: np.ndarray, importance: np.ndarray | None) -> Row:
    return replace(row, old_logprobs=old, importance=importance)
