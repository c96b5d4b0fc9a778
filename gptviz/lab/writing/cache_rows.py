"""Why a cache is right, seen in all layers: keys and values of a prefix, however the text goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from transformers import DynamicCache

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.experts import one_row_at_a_time
from gptviz.decoder.run import Runs
from gptviz.lab.masking.basis import equal_shapes
from gptviz.lab.writing.cache_work import TOLERANCE

Pair = tuple[Tensor, Tensor]  # K [h_kv, T, d_k] and V [h_kv, T, d_v]


@dataclass(frozen=True)
class Moved:
    """How far keys and values move when a text's tokens from `keep` on are replaced, or are not there at all.

    A row for each layer that keeps keys and values of its own, `layers` of them. Each entry is the largest |Δ| over K
    and V, all key-value heads and entries. `sample` is one head's key of the last kept position in a middle layer: as
    it is, with another ending, cut off.
    """

    DERIVED: ClassVar = ("equal",)

    keep: int
    layers: list[int]
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


def moved(decoder: Decoder, ids: Sequence[int], keep: int, *, runs: Runs | None = None) -> Moved:
    """Run the text, the text with every token from `keep` on replaced, and its first `keep` tokens alone.

    UserError for a prefix that is not shorter than the text.
    """
    ids = decoder.check_ids(ids)
    if not 1 <= keep < len(ids):
        raise UserError("keep", value=keep, n=len(ids), last=len(ids) - 1)
    other = [(i + 1) % decoder.shape.vocabulary for i in ids[keep:]]
    texts = (ids, [*ids[:keep], *other], ids[:keep])
    whole, edited, alone = (rows_of(decoder, text, runs=runs) for text in texts)
    layers = list(whole)
    middle = layers[len(layers) // 2]
    kept = torch.cat([part[:, :keep].flatten() for pair in whole.values() for part in pair])
    samples = [rows[middle][0][0, keep - 1] for rows in (whole, edited, alone)]  # each [d_k]
    beginning = {layer: (k[:, :keep], v[:, :keep]) for layer, (k, v) in whole.items()}
    return Moved(
        keep=keep,
        layers=layers,
        other=other,
        edited=torch.stack([gap(whole[layer], edited[layer]) for layer in layers]),
        cut=torch.stack([gap(beginning[layer], alone[layer]) for layer in layers]),
        sample=torch.stack(samples),
        sample_layer=middle,
        numbers=kept.numel(),
        typical=float(kept.abs().median()),
        tolerance=TOLERANCE[decoder.dtype],
    )


def rows_of(decoder: Decoder, ids: Sequence[int], *, runs: Runs | None = None) -> dict[int, Pair]:
    """What `all_rows` gives, from a run that others may share where a cache keeps just what attention is given.

    A family that keeps something smaller and widens it for each step (DeepSeek's latent vectors) fills a cache instead.
    """
    given = {rows.layer: decoder.facts[rows.layer] for rows in decoder.cache_rows}
    each = {n: f.kv_heads * (f.key_width + f.value_width) * decoder.dtype.itemsize for n, f in given.items()}
    if any(rows.bytes != each[rows.layer] for rows in decoder.cache_rows):
        return all_rows(decoder, ids)
    run = (runs or decoder.run)(ids, inputs=list(given), last_only=True, one_row=equal_shapes(decoder).one_row)
    return {n: (run.inputs[n].key.float().cpu(), run.inputs[n].value.float().cpu()) for n in given}


def all_rows(decoder: Decoder, ids: Sequence[int]) -> dict[int, Pair]:
    """K and V of every position in each layer that keeps its own, float32 on the CPU; the two may differ in width."""
    cache = DynamicCache()
    with one_row_at_a_time(equal_shapes(decoder).one_row):
        decoder.step(ids, cache)
    layers: list[Any] = list(cache.layers)
    return {
        number: (layer.keys[0].float().cpu(), layer.values[0].float().cpu())
        for number, layer in enumerate(layers)
        if layer.keys is not None
    }


def gap(some: Pair, other: Pair) -> Tensor:
    """The largest |Δ| of each position over K and V, heads and entries: [T]."""
    return torch.stack([(a - b).abs().amax(dim=(0, 2)) for a, b in zip(some, other, strict=True)]).amax(dim=0)
