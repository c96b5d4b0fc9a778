"""What the KV cache holds: the same rows however the text goes on, and how much memory they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.experts import one_row_at_a_time
from gptviz.lab.looking import family
from gptviz.lab.masking.basis import equal_shapes
from gptviz.lab.writing.cache_work import TOLERANCE
from gptviz.lab.writing.work import bytes_per_token

ELEMENT = {"float32": 4, "bfloat16": 2, "float16": 2}
MAX_BATCH = 4096
MAX_CONTEXT = 10_000_000


# Why the cache is right


@dataclass(frozen=True)
class Kept:
    """K and V of a prefix in one layer, for three texts that begin alike.

    `alone` is the largest |Δ| between the whole text's rows and those of the prefix run by itself, `edited` against
    a text of equal length whose later tokens are all others; each over K [h_kv, keep, d_k] and V [h_kv, keep, d_v].
    """

    layer: int
    keep: int
    alone: float
    edited: float
    tolerance: float
    numbers: int  # how many were compared each time
    sample: dict[str, list[float]]  # the first numbers of the last kept position's key, text by text

    @property
    def equal(self) -> bool:
        """True when no row moved by more than rounding."""
        return max(self.alone, self.edited) <= self.tolerance


def kept_rows(decoder: Decoder, ids: Sequence[int], keep: int, layer: int = 5) -> Kept:
    """Compute K and V of the first `keep` tokens in one layer three times, and compare.

    A layer that is not there, or that reads another's rows, gives way to the one before that keeps its own. UserError
    for a prefix that is not shorter than the text.
    """
    ids = decoder.check_ids(ids)
    if not 1 <= keep < len(ids):
        raise UserError(f"keep is {keep}; it must be from 1 to {len(ids) - 1}, one less than the text has tokens.")
    keeping = [rows.layer for rows in decoder.kept]
    layer = max((number for number in keeping if number <= layer), default=keeping[0])
    other = [(i + 1) % decoder.shape.vocabulary for i in ids[keep:]]
    texts = {"whole": ids, "alone": ids[:keep], "edited": [*ids[:keep], *other]}
    rows = {name: [part[:, :keep] for part in rows_of(decoder, text, layer)] for name, text in texts.items()}
    return Kept(
        layer=layer,
        keep=keep,
        alone=_gap(rows["whole"], rows["alone"]),
        edited=_gap(rows["whole"], rows["edited"]),
        tolerance=TOLERANCE[decoder.dtype],
        numbers=sum(part.numel() for part in rows["whole"]),
        sample={name: key[0, -1, :6].tolist() for name, (key, _) in rows.items()},
    )


def _gap(some: Sequence[Tensor], other: Sequence[Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(some, other, strict=True))


def rows_of(decoder: Decoder, ids: Sequence[int], layer: int) -> tuple[Tensor, Tensor]:
    """K [h_kv, T, d_k] and V [h_kv, T, d_v] of every position in one layer, float32 on the CPU.

    They may differ in width. UserError for a layer that keeps none, because it reads those of another.
    """
    cache = DynamicCache()
    with one_row_at_a_time(equal_shapes(decoder).one_row):
        decoder.step(ids, cache)
    kept: Any = cache.layers[layer] if layer < len(cache.layers) else None
    if kept is None or kept.keys is None:
        raise UserError(f"layer is {layer}; that layer of {decoder.name} keeps no keys and values of its own.")
    return kept.keys[0].float().cpu(), kept.values[0].float().cpu()


def learned_positions(decoder: Decoder) -> bool:
    """True when the model keeps one learned vector per position, so that none exists past the context."""
    tokens = decoder.model.get_input_embeddings()
    tables = [m for m in decoder.model.modules() if isinstance(m, nn.Embedding) and m is not tokens]
    return any(table.num_embeddings >= decoder.shape.context for table in tables)


# How much memory


@dataclass(frozen=True)
class Memory:
    """A model's cache against its weights, in bytes, at one context, batch and number format."""

    name: str
    source: str
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    longest: int  # the model's own context, in tokens
    context: int
    batch: int
    dtype: str
    per_token: int
    cache: int
    weights: int
    crossing: int  # tokens, over the whole batch, at which the cache outweighs the weights
    per_token_multi_head: int  # with a K and a V for every query head
    cache_multi_head: int

    def as_json(self) -> dict[str, Any]:
        """Every field by name."""
        return dict(vars(self))


def memory(name: str, context: int, batch: int = 1, dtype: str = "bfloat16") -> Memory:
    """Cache and weights of a public model. UserError for a name, length, batch or format that is not offered."""
    if not isinstance(name, str) or name not in family.PUBLIC:
        raise UserError(f'model is "{str(name)[:60]}"; the calculator knows {", ".join(family.PUBLIC)}.')
    if not isinstance(dtype, str) or dtype not in ELEMENT:
        raise UserError(f'dtype is "{str(dtype)[:60]}"; it must be one of {", ".join(ELEMENT)}.')
    for what, value, most in (("context", context, MAX_CONTEXT), ("batch", batch, MAX_BATCH)):
        if not isinstance(value, int) or not 1 <= value <= most:
            raise UserError(f"{what} is {value}; it must be a whole number from 1 to {most:,}.")
    spec, element = family.PUBLIC[name], ELEMENT[dtype]
    per_token = bytes_per_token(spec.L, spec.kv_heads, spec.head_width, element)
    multi = bytes_per_token(spec.L, spec.h, spec.head_width, element)
    weights = family.count(spec).total * element
    return Memory(
        name=name,
        source=spec.source,
        layers=spec.L,
        heads=spec.h,
        kv_heads=spec.kv_heads,
        head_width=spec.head_width,
        longest=spec.C,
        context=context,
        batch=batch,
        dtype=dtype,
        per_token=per_token,
        cache=per_token * context * batch,
        weights=weights,
        crossing=-(-weights // per_token),
        per_token_multi_head=multi,
        cache_multi_head=multi * context * batch,
    )


def allocator(device: torch.device) -> dict[str, int] | None:
    """What CUDA's allocator says, in bytes: in use by tensors, the peak of that, and taken from the card.

    None on any other device, where there is no such figure.
    """
    if device.type != "cuda":
        return None
    free, total = torch.cuda.mem_get_info(device)
    return {
        "allocated": torch.cuda.memory_allocated(device),
        "peak": torch.cuda.max_memory_allocated(device),
        "reserved": torch.cuda.memory_reserved(device),
        "free": free,
        "total": total,
    }
