"""How far a guess moved, in probability: what people can read where a difference of logits tells them nothing."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

ROWS_AT_ONCE = 64  # the vocabulary is wide, and the probabilities are float64


@dataclass(frozen=True)
class Movement:
    """Two sets of guesses, position by position.

    `moved` [n]: the share of the probability that went to other tokens (total variation distance), 0 to 1, exactly 0
    for equal logits. `expected` [n]: the likeliest token of the first; `before`, `after` [n]: its probability in both.
    """

    moved: Tensor
    expected: Tensor
    before: Tensor
    after: Tensor


def between(first: Tensor, second: Tensor) -> Movement:
    """From logits [n, V] each; float64."""
    parts = [_rows(a, b) for a, b in zip(first.split(ROWS_AT_ONCE), second.split(ROWS_AT_ONCE), strict=True)]
    return Movement(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _rows(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    p, q = first.double().softmax(-1), second.double().softmax(-1)  # [n, V]
    expected = first.argmax(-1)  # [n]
    at = expected[:, None]
    return (p - q).abs().sum(-1) / 2, expected, p.gather(-1, at)[:, 0], q.gather(-1, at)[:, 0]
