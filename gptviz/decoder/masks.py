"""What narrows a layer: asked of the mask function that the library itself uses, never of a configuration key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.masking_utils import causal_mask_function, sdpa_mask

FUNCTION = "gptviz_function"  # the name under which an explained mask carries its function
_explaining: ContextVar[bool] = ContextVar("explaining", default=False)


@dataclass(frozen=True)
class Reach:
    """How far back a layer reads within the model's context.

    `kind` is "all" (every earlier key), "window" (the nearest `size` keys, its own included), "chunks" (its own
    block of `size` only) or "other".
    """

    kind: str = "all"
    size: int | None = None

    def keys(self, query: int) -> int:
        """How many keys the query at this position reads; for "other" the most it could."""
        if self.size is None:
            return query + 1
        return min(query + 1, self.size) if self.kind == "window" else query % self.size + 1

    def mask(self, T: int) -> Tensor:
        """The causal mask it describes: bool [T, T]."""
        query = torch.arange(T)[:, None]  # [T, 1]
        count = torch.tensor([self.keys(q) for q in range(T)])[:, None]  # [T, 1]
        key = torch.arange(T)[None]  # [1, T]
        return (key <= query) & (key > query - count)

    def as_json(self) -> dict[str, Any]:
        """Its two fields by name."""
        return {"kind": self.kind, "size": self.size}

    def pairs(self, past: int, fresh: int) -> int:
        """Query-key pairs of `fresh` positions after `past` others, in closed form: they may be millions."""
        return self._first_pairs(past + fresh) - self._first_pairs(past)

    def _first_pairs(self, n: int) -> int:
        """Query-key pairs of the first n positions."""
        size = n if self.size is None else min(n, self.size)
        triangle = size * (size + 1) // 2
        if self.kind == "chunks" and size:
            whole, rest = divmod(n, size)
            return whole * triangle + rest * (rest + 1) // 2
        return triangle + (n - size) * size


def library_mask(*args: Any, **kwargs: Any) -> Tensor | None:
    """The library's own mask for its fast attention: bool [B, 1, Tq, Tk], or None where a triangle says the same.

    While it is being explained it is always made, and carries the function it was made by.
    """
    if not _explaining.get():
        return sdpa_mask(*args, **kwargs)
    made = sdpa_mask(*args, **{**kwargs, "allow_is_causal_skip": False})
    if made is not None:
        setattr(made, FUNCTION, kwargs.get("mask_function", causal_mask_function))
    return made


@contextmanager
def explained() -> Iterator[None]:
    """Inside, every mask says how it was made."""
    token = _explaining.set(True)
    try:
        yield
    finally:
        _explaining.reset(token)


def reach_of(mask: Tensor | None, context: int) -> Reach:
    """What an explained mask lets a query read, by asking its function for the last queries of the context."""
    function = getattr(mask, FUNCTION, None)
    if mask is None or function is None:
        return Reach("other")
    last = context - 1

    def read(query: int) -> int:
        return _keys_read(function, query, mask.device)

    count = read(last)
    if count == context:
        return Reach()
    if count == 0:
        return Reach("other")
    if count == read(last - 1):
        return Reach("window", count)
    size = read(last - count) if count <= last else count  # the query that ends the block before
    return Reach("chunks", size) if size and count == last % size + 1 else Reach("other")


def _keys_read(function: Callable[..., Tensor], query: int, device: torch.device) -> int:
    """How many keys up to itself a query reads; 0 where the function does not say."""
    zero = torch.tensor(0, device=device)
    try:
        seen = function(zero, zero, torch.tensor(query, device=device), torch.arange(query + 1, device=device))
    except (IndexError, RuntimeError):  # a mask for this very text, such as one of packed texts
        return 0
    return int(torch.as_tensor(seen).expand(query + 1).sum())


def reach_shown(seen: Tensor) -> Reach:
    """What narrows a causal mask [T, T] as far as this text shows it: a window longer than the text is not seen."""
    back = seen.tril()
    size = int(back.sum(-1).max())
    tried = (Reach(), Reach("window", size), Reach("chunks", size))
    return next((reach for reach in tried if torch.equal(back, reach.mask(len(seen)))), Reach("other"))
