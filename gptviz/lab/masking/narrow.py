"""What narrows an opened layer still: a sliding window stays a window, whatever its mask lets through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gptviz.decoder.attention import MaskRule
from gptviz.decoder.masks import Reach
from gptviz.lab.masking.leak import opened


@dataclass(frozen=True)
class Narrow:
    """How many of the opened layers (`of`) keep a narrower reach than this text, and the shortest one, in tokens."""

    layers: int
    of: int
    size: int


def narrow_when_open(reaches: Sequence[Reach], rule: MaskRule, T: int) -> Narrow:
    """The opened layers in which this text of T tokens still cannot be read whole, and the shortest reach of those.

    Opened, a layer reads as far ahead as it reads back, so a window stays a window.
    """
    open_layers = opened(rule, len(reaches))
    found = [reaches[layer] for layer in open_layers if reaches[layer].keys(T - 1) < T]
    return Narrow(len(found), len(open_layers), min((reach.size or 0 for reach in found), default=0))
