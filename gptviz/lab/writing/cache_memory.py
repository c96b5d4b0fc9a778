"""How much memory a KV cache takes, and what can be asked of the device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.looking import family
from gptviz.lab.writing.work import bytes_per_token

ELEMENT = {"float32": 4, "bfloat16": 2, "float16": 2}
MAX_BATCH = 4096
MAX_CONTEXT = 10_000_000


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
    window: int  # tokens that a layer keeps at most; 0: all of them
    per_token_multi_head: int  # with a K and a V for every query head
    cache_multi_head: int


def memory(name: str, context: int, batch: int = 1, dtype: str = "bfloat16") -> Memory:
    """Cache and weights of a public model. UserError for a name, length, batch or format that is not offered."""
    if not isinstance(name, str) or name not in family.PUBLIC:
        raise UserError("one_of", name="model", value=name, allowed=list(family.PUBLIC))
    if not isinstance(dtype, str) or dtype not in ELEMENT:
        raise UserError("one_of", name="dtype", value=dtype, allowed=list(ELEMENT))
    for what, value, most in (("context", context, MAX_CONTEXT), ("batch", batch, MAX_BATCH)):
        if not isinstance(value, int) or not 1 <= value <= most:
            raise UserError("whole_between", name=what, value=value, low=1, high=most)
    spec, element = family.PUBLIC[name], ELEMENT[dtype]
    per_token = bytes_per_token(spec.L, spec.kv_heads, spec.head_width, element)
    multi = bytes_per_token(spec.L, spec.h, spec.head_width, element)
    weights = family.count(spec).total * element
    kept = min(context, spec.window or context) * batch  # a layer with a window drops what has left it
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
        cache=per_token * kept,
        weights=weights,
        crossing=-(-weights // per_token),
        window=spec.window,
        per_token_multi_head=multi,
        cache_multi_head=multi * kept,
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
