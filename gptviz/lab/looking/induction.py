"""Two heads that continue a repetition together: found by measure, and proven by switching the first one off."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.edits import Edits
from gptviz.decoder.run import Runs
from gptviz.lab.looking.readable import column_habits
from gptviz.lab.looking.watch import watch

MOST_TRIED = 5  # previous-token heads that are switched off one by one
FIXED = 0.4  # a head that gives so much to the token just before, in the row that matters, may have passed it on


@dataclass(frozen=True)
class Pair:
    """A previous-token head and an induction head on a text whose last token stood there before.

    `copy` is where it stood, `target` = copy + 1 what followed. The induction head, in the last row, gives `weight` to
    `target`; the earlier head, in the row of `target`, gives `passed` to `copy`. With that head off `weight` is
    `without`; with all `tried` such heads off it is `without_all`.
    """

    copy: int
    target: int
    induction: tuple[int, int]
    weight: float
    previous: tuple[int, int] | None
    passed: float
    without: float
    without_all: float
    tried: list[tuple[int, int]]


def pair(decoder: Decoder, ids: list[int], *, runs: Runs | None = None) -> Pair | None:
    """The two heads of this text. None where the last token stood nowhere before, or nothing followed it."""
    T = len(ids)
    copies = [t for t in range(T - 2) if ids[t] == ids[-1]]
    if not copies:
        return None
    copy = copies[-1]
    target = copy + 1
    run_weights, usual = _rows(decoder, ids, None, (T - 1, target), runs=runs)  # [L, h, 2, T], [L, h, T-1]
    last = run_weights[:, :, 0, target]  # [L, h]
    heads = decoder.shape.heads
    layer, head = divmod(int((last - usual[:, :, target]).argmax()), heads)
    passed = run_weights[:layer, :, 1, copy].flatten()  # [layer * h]: only what comes before it can feed it
    order = [i for i in passed.argsort(descending=True).tolist() if float(passed[i]) >= FIXED][:MOST_TRIED]
    tried = [divmod(i, heads) for i in order]
    weight = float(last[layer, head])

    def left(off: list[tuple[int, int]]) -> float:
        edits = Edits(frozenset(off))
        return float(_rows(decoder, ids, edits, (T - 1,), layer, runs=runs)[0][layer, head, 0, target])

    each = [left([one]) for one in tried]
    if not tried:
        return Pair(copy, target, (layer, head), weight, None, 0.0, weight, weight, [])
    best = min(range(len(tried)), key=lambda i: each[i])
    previous = tried[best]
    return Pair(
        copy, target, (layer, head), weight, previous, float(passed[order[best]]), each[best], left(tried), tried
    )


def _rows(
    decoder: Decoder,
    ids: list[int],
    edits: Edits | None,
    rows: tuple[int, ...],
    only: int | None = None,
    *,
    runs: Runs | None = None,
) -> tuple[Tensor, Tensor]:
    """Some rows of every head's weights [L, h, rows, T], and what rows before the last give [L, h, T-1]."""
    usual = torch.zeros(decoder.shape.layers, decoder.shape.heads, len(ids) - 1)
    kept = torch.zeros(decoder.shape.layers, decoder.shape.heads, len(rows), len(ids))

    def look(layer: int, _: Tensor, weights: Tensor) -> None:
        if only is None or layer == only:
            kept[layer] = weights[:, list(rows)].cpu()
            usual[layer] = column_habits(weights).cpu()

    watch(decoder, ids, look, edits=edits, runs=runs)
    return kept, usual
