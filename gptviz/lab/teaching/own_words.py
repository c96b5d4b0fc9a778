"""Does a model stumble over its own words? A fair test: the same ending after true, own, and other true words.

Pricing a true ending after the model's own words proves nothing by itself: a perfect model would be surprised too,
because the story has changed. So equally many tokens of *other true text* are put in the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import torch

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.surprise import surprisal

TAIL = 4  # tokens of the ending that are scored
LONGEST = 96  # tokens of the text that take part, from its end
ROWS = 8  # texts in one pass
CLEAR = 2.0  # standard errors between two means that count as a difference


@dataclass(frozen=True)
class Replaced:
    """The tokens that stood before the ending, and the ending's mean loss after them, in nats."""

    ids: list[int]
    loss: float


@dataclass(frozen=True)
class Compared:
    """`kept` + (one of true, own, other) + `tail`; the loss is the tail's."""

    kept: list[int]
    tail: list[int]
    true: Replaced
    own: list[Replaced]
    other: list[Replaced]

    @property
    def own_mean(self) -> float:
        return _mean([each.loss for each in self.own])

    @property
    def other_mean(self) -> float:
        return _mean([each.loss for each in self.other])

    @property
    def verdict(self) -> int:
        """1: own words cost clearly more than other true ones; −1: clearly less; 0: these few draws cannot tell."""
        errors = [_variance([each.loss for each in some]) / len(some) for some in (self.own, self.other)]
        difference = self.own_mean - self.other_mean
        return 0 if abs(difference) <= CLEAR * sqrt(sum(errors)) else 1 if difference > 0 else -1


def compare(
    decoder: Decoder, ids: Sequence[int], count: int, others: Sequence[Sequence[int]], seed: int = 0
) -> Compared:
    """Replace the `count` tokens before the ending by the model's own draws and by `others`, as many as there are.

    The model draws at temperature 1 after what is kept. UserError where the text is too short, or others do not fit.
    """
    ids = decoder.check_ids(ids)[-LONGEST:]
    tail = min(TAIL, max(1, len(ids) // 3))
    most = len(ids) - tail - 1  # one token must be kept
    if most < 1:
        raise UserError("too_short_to_replace", n=len(ids))
    if not 1 <= count <= most:
        raise UserError("count_for_text", value=count, high=most)
    if len(others) < 2 or any(len(each) != count for each in others):
        raise UserError("others", n=len(others), count=count)
    begin = len(ids) - tail
    kept, ending = ids[: begin - count], ids[begin:]
    own = draw(decoder, kept, count, len(others), seed)
    middles = [ids[begin - count : begin], *own, *map(list, others)]
    scored = [
        Replaced(middle, loss) for middle, loss in zip(middles, _price(decoder, kept, middles, ending), strict=True)
    ]
    n = len(own)
    return Compared(kept, ending, scored[0], scored[1 : n + 1], scored[n + 1 :])


def draw(decoder: Decoder, kept: Sequence[int], count: int, rows: int, seed: int) -> list[list[int]]:
    """`rows` continuations of `count` tokens each, drawn at temperature 1."""
    generator = torch.Generator().manual_seed(seed)
    texts = []
    for _ in range(rows):

        def choose(logits: torch.Tensor) -> int:
            return int(torch.multinomial(logits.double().softmax(-1), 1, generator=generator))

        steps = decoder.stream(kept, choose, max_new_tokens=count, keep_logits=False)
        texts.append([step.id for step in steps])
    return texts


def _price(decoder: Decoder, kept: list[int], middles: list[list[int]], tail: list[int]) -> list[float]:
    begin = len(kept) + len(middles[0])
    out: list[float] = []
    for start in range(0, len(middles), ROWS):
        rows = [kept + middle + tail for middle in middles[start : start + ROWS]]
        out += [float(surprisal(run.logits[begin - 1 : -1], tail).mean()) for run in decoder.batch(rows)]
    return out


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return sum((x - mean) ** 2 for x in values) / (len(values) - 1)
