"""Why a cache is right, seen in all layers: keys and values of a prefix, however the text goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.writing.cache_work import TOLERANCE


@dataclass(frozen=True)
class Moved:
    """How far keys and values move when a text's tokens from `keep` on are replaced, or are not there at all.

    Each entry is the largest |Δ| over K and V, all key-value heads and entries. `sample` is one head's key of the last
    kept position in the middle layer: as it is, with another ending, cut off.
    """

    keep: int
    other: list[int]  # the tokens that replaced the ending
    edited: Tensor  # [L, T]
    cut: Tensor  # [L, keep]
    sample: Tensor  # [3, d_k]
    sample_layer: int
    numbers: int  # of the kept rows, K and V, all layers together
    typical: float  # median |entry| of the kept rows
    tolerance: float

    @property
    def equal(self) -> bool:
        """True when no kept row moved by more than rounding."""
        return max(float(self.edited[:, : self.keep].max()), float(self.cut.max())) <= self.tolerance


def moved(decoder: Decoder, ids: Sequence[int], keep: int) -> Moved:
    """Run the text, the text with every token from `keep` on replaced, and its first `keep` tokens alone.

    UserError for a prefix that is not shorter than the text.
    """
    ids = decoder.check_ids(ids)
    if not 1 <= keep < len(ids):
        raise UserError(f"keep is {keep}; it must be from 1 to {len(ids) - 1}, one less than the text has tokens.")
    other = [(i + 1) % decoder.shape.vocabulary for i in ids[keep:]]
    whole, edited, alone = (all_rows(decoder, text) for text in (ids, [*ids[:keep], *other], ids[:keep]))
    middle = len(whole) // 2
    kept = torch.cat([rows[:, :, :keep].flatten() for rows in whole])
    samples = [rows[middle][0, 0, keep - 1] for rows in (whole, edited, alone)]  # each [d_k]
    return Moved(
        keep=keep,
        other=other,
        edited=torch.stack([_gap(a, b) for a, b in zip(whole, edited, strict=True)]),
        cut=torch.stack([_gap(a[:, :, :keep], b) for a, b in zip(whole, alone, strict=True)]),
        sample=torch.stack(samples),
        sample_layer=middle,
        numbers=kept.numel(),
        typical=float(kept.abs().median()),
        tolerance=TOLERANCE[decoder.dtype],
    )


def all_rows(decoder: Decoder, ids: Sequence[int]) -> list[Tensor]:
    """K and V of every layer, as a cache keeps them: each [2, h_kv, T, d_k], float32 on the CPU."""
    cache = DynamicCache()
    decoder.step(ids, cache)
    layers: list[Any] = list(cache.layers)
    return [torch.stack([layer.keys[0], layer.values[0]]).float().cpu() for layer in layers]


def _gap(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).abs().amax(dim=(0, 1, 3))  # [T]
