"""Which head a beginner can read: one whose last row singles out one earlier word, beyond the head's own habits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.tokens import Tokenizer

SHORT = 5  # tokens; in a text so short even the token just before is something to look back at
REST_ROWS = 3  # a column is a resting place only if at least so many rows, and a third of all, may rest on it


@dataclass(frozen=True)
class Reading:
    """What heads do that their row averages do not tell; all tensors [h] of one layer.

    `singled` is how far the last row's weight on one earlier token exceeds the head's habits, `at` that token.
    `rests` is the largest mean share that one token gets from all rows after it, the first token left out. `parked` is
    large where the last row rests on the first token, and still has one clear reading once that is left out.
    """

    singled: Tensor
    at: Tensor
    rests: Tensor
    rests_on: Tensor
    parked: Tensor

    def of(self, head: int) -> OneReading:
        """The same of one head."""
        return OneReading(
            float(self.singled[head]),
            int(self.at[head]),
            float(self.rests[head]),
            int(self.rests_on[head]),
            float(self.parked[head]),
        )


@dataclass(frozen=True)
class OneReading:
    """A Reading of one head."""

    singled: float
    at: int
    rests: float
    rests_on: int
    parked: float


NOTHING = OneReading(0.0, 0, 0.0, 0, 0.0)


def reading(weights: Tensor, candidates: Tensor) -> Reading:
    """What the heads of one layer do, from their weights [h, T, T]; `candidates` [T] marks the tokens that count.

    A habit is what the head's other rows give to the same token, or to the token at the same distance: a head that
    reads the token before itself in every row, or rests on one column, has singled nothing out.
    """
    h, T, _ = weights.shape
    zeros = torch.zeros(h, dtype=torch.long)
    rests, rests_on = resting(weights)
    if T < 2:
        return Reading(torch.zeros(h), zeros, rests, rests_on, torch.zeros(h))
    last = weights[:, -1, :-1]  # [h, T-1]
    singled = (last - habits(weights)).masked_fill(~candidates[:-1].to(weights.device), -1.0)  # [h, T-1]
    if T > 2:
        singled[:, 0] = -1.0
    if T > SHORT:
        singled[:, -1] = -1.0  # the token just before: near, but no looking back
    best, at = singled.max(-1)
    return Reading(best.cpu(), at.cpu(), rests, rests_on, parked(weights[:, -1]).cpu())


def parked(last: Tensor) -> Tensor:
    """How well a last row [h, T] shows resting: its weight on the first token times the clearest of the rest."""
    first = last[:, 0]  # [h]
    if last.shape[1] < 3:
        return first
    rest = last[:, 1:-1].amax(-1) / (1 - first).clamp(min=1e-6)  # [h]
    return first.clamp(max=0.9) * rest * (first < 0.97)  # of almost nothing no reading is left


def content(ids: list[int], shown: list[str]) -> Tensor:
    """The rarer half of a text's words, as bool [T]: a vocabulary's ids grow as its tokens get rarer.

    No list of little words is needed, and any language will do. Where no token has a letter, all count.
    """
    words = [i for i, token in zip(ids, shown, strict=True) if any(c.isalpha() for c in token)]
    if not words:
        return torch.ones(len(ids), dtype=torch.bool)
    median = sorted(words)[len(words) // 2]
    return torch.tensor([i >= median and any(c.isalpha() for c in t) for i, t in zip(ids, shown, strict=True)])


def habits(weights: Tensor) -> Tensor:
    """For each earlier token: the larger of what other rows give to it, and to the token at that distance: [h, T-1]."""
    h, T, _ = weights.shape
    earlier = weights[:, :-1]  # [h, T-1, T]
    column = column_habits(weights)
    skewed = torch.zeros(h, T - 1, device=weights.device)
    for key in range(max(0, T - 1 - MOST_DISTANCE), T - 1):
        distance = T - 1 - key
        if T - 1 - distance > 1:
            skewed[:, key] = earlier.diagonal(-distance, 1, 2)[:, 1:].mean(-1)  # row `distance` only sees the first
    return torch.maximum(column, skewed)


def words_of(decoder: Decoder, ids: list[int]) -> Tensor:
    """`content` of a decoder's own ids: bool [T]; all of them for a model that came without a tokenizer."""
    tokenizer: Tokenizer | None = decoder.tokenizer
    if tokenizer is None:
        return torch.ones(len(ids), dtype=torch.bool)
    return content(ids, [token.shown for token in tokenizer.tokens(ids)])


def column_habits(weights: Tensor) -> Tensor:
    """For each earlier token what the rows before the last give to it on average: [h, T-1]."""
    T = weights.shape[-1]
    rows = torch.arange(T - 1, device=weights.device)
    after = rows[:, None] > rows[None]  # [row, key]: key is earlier than row
    return (weights[:, :-1, :-1] * after).sum(1) / after.sum(0).clamp(min=1)


MOST_DISTANCE = 32  # a head's habit of reading at a fixed distance; further back none is known


def resting(weights: Tensor) -> tuple[Tensor, Tensor]:
    """The largest mean share of one column over all rows after it, the first column left out, and which: [h] each."""
    h, T, _ = weights.shape
    most = T - max(REST_ROWS, -(-T // 3))  # columns 1 … most - 1 have rows enough
    if most <= 1:
        return torch.zeros(h), torch.zeros(h, dtype=torch.long)
    rows = torch.arange(T, device=weights.device)
    after = rows[:, None] > rows[None, 1:most]  # [T, C]
    share = (weights[:, :, 1:most] * after).sum(1) / after.sum(0)  # [h, C]
    best, at = share.max(-1)
    return best.cpu(), (at + 1).cpu()
