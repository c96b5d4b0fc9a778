"""What the KV cache holds: the same rows however the text goes on, and how much memory they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Run, Runs
from gptviz.lab.looking import family
from gptviz.lab.writing.cache_work import TOLERANCE, bytes_per_token

ELEMENT = {"float32": 4, "bfloat16": 2, "float16": 2}
MAX_BATCH = 4096
MAX_CONTEXT = 10_000_000


# Why the cache is right


@dataclass(frozen=True)
class Kept:
    """K and V of a prefix in one layer, for three texts that begin alike.

    `alone` is the largest |Δ| between the whole text's rows and those of the prefix run by itself, `edited` against
    a text of equal length whose later tokens are all others; each over K and V, [h_kv, keep, d_k].
    """

    DERIVED: ClassVar = ("equal",)

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


def kept_rows(
    decoder: Decoder,
    ids: Sequence[int],
    keep: int,
    layer: int = 5,
    *,
    other: Sequence[int] | None = None,
    runs: Runs | None = None,
) -> Kept:
    """Compute K and V of the first `keep` tokens in one layer three times, and compare.

    `other` is a text of equal length that begins with the same `keep` tokens; without it each later token becomes the
    next of the vocabulary. A model with fewer layers shows its last. UserError for a prefix that is not shorter than
    the text.
    """
    ids = decoder.check_ids(ids)
    if not 1 <= keep < len(ids):
        raise UserError(f"keep is {keep}; it must be from 1 to {len(ids) - 1}, one less than the text has tokens.")
    layer = shown_layer(decoder, layer)
    if other is None:
        other = [*ids[:keep], *((i + 1) % decoder.shape.vocabulary for i in ids[keep:])]
    texts = {"whole": ids, "alone": ids[:keep], "edited": list(other)}
    runs = runs or decoder.run
    found = {  # only the two of equal length can be compared exactly
        name: runs(text, inputs=[layer], last_only=True, exact=name != "alone") for name, text in texts.items()
    }
    rows = {name: given_rows(run, layer)[:, :, :keep] for name, run in found.items()}  # [2, h_kv, keep, d_k]
    return Kept(
        layer=layer,
        keep=keep,
        alone=float((rows["whole"] - rows["alone"]).abs().max()),
        edited=float((rows["whole"] - rows["edited"]).abs().max()),
        tolerance=TOLERANCE[decoder.dtype],
        numbers=rows["whole"].numel(),
        sample={name: r[0, 0, -1, :6].tolist() for name, r in rows.items()},
    )


def shown_layer(decoder: Decoder, layer: int = 5) -> int:
    """The layer whose rows are shown: the one asked for, or the last there is."""
    return min(layer, decoder.shape.layers - 1)


def given_rows(run: Run, layer: int) -> Tensor:
    """K and V that one layer's attention was given, [2, h_kv, T, d_k], float32 on the CPU: what a cache would keep."""
    given = run.inputs[layer]
    return torch.stack([given.key, given.value]).float().cpu()


def rows_of(decoder: Decoder, ids: Sequence[int], layer: int) -> Tensor:
    """K and V of every position in one layer, as a cache keeps them: [2, h_kv, T, d_k], float32 on the CPU."""
    cache = DynamicCache()
    decoder.step(ids, cache)
    kept: Any = cache.layers[layer]
    return torch.stack([kept.keys[0], kept.values[0]]).float().cpu()


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
