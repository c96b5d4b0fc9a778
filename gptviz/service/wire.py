"""How a result leaves the program: one writer for JSON, one for the form in which a browser gets typed arrays.

A result is a dataclass of numbers, texts, tokens and tensors. Its fields are written under their own names, and after
them the properties that its class lists as `DERIVED`. A field that starts with an underscore stays here. A text by key
is said in the visitor's language.
"""

from __future__ import annotations

import base64
import math
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy
import torch
from torch import Tensor

from gptviz.words import Said, spoken

INT32 = 2**31 - 1


def as_json(value: Any, *, digits: int | None = None) -> Any:
    """The value as plain JSON: a tensor becomes nested lists; what is not finite becomes null.

    With `digits`, tensors and floats keep so many significant ones; nothing but zero becomes zero. TypeError for
    what has no form in JSON.
    """
    return _written(value, digits, lambda tensor: _nested(tensor, digits))


def as_packed(value: Any, *, digits: int | None = None) -> Any:
    """The same, but each tensor is its bytes in base64, little-endian, with its shape, and keeps NaN and ±∞.

    Floats become {"$f32": …, "shape": […]}, bytes and truth values "$u8", other whole numbers "$i32". ValueError for
    a whole number beyond 32 bits. `digits` is for the floats outside tensors.
    """
    return _written(value, digits, _packed)


def _written(value: Any, digits: int | None, tensor: Callable[[Tensor], Any]) -> Any:
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, Said):
        return value.text(spoken.get())
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _finite(value, digits)
    if isinstance(value, numpy.ndarray):
        value = torch.from_numpy(value)
    if isinstance(value, Tensor):
        return tensor(value.detach().cpu())
    if isinstance(value, torch.dtype | torch.device):
        return str(value).removeprefix("torch.")
    return _composed(value, lambda part: _written(part, digits, tensor))


def _composed(value: Any, write: Callable[[Any], Any]) -> Any:
    if callable(form := getattr(value, "as_json", None)):  # tokens, and what else has a form of its own
        return write(form())
    if isinstance(value, dict):
        return {str(key): write(part) for key, part in value.items()}
    if isinstance(value, list | tuple | range):
        return [write(part) for part in value]
    if isinstance(value, set | frozenset):
        return [write(part) for part in sorted(value)]
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if not field.name.startswith("_")]
        return {name: write(getattr(value, name)) for name in (*names, *getattr(value, "DERIVED", ()))}
    raise TypeError(f"no form for a value of type {type(value).__name__}")  # not words: a mistake in code


def _finite(value: float, digits: int | None) -> float | None:
    if not math.isfinite(value):
        return None
    short = value if digits is None else float(f"{value:.{digits}g}")
    return short if math.isfinite(short) else value  # the largest floats would round up to infinity


def _nested(tensor: Tensor, digits: int | None) -> Any:
    if tensor.dim() > 1:
        return [_nested(row, digits) for row in tensor]
    found: Any = tensor.tolist()
    if not tensor.is_floating_point():
        return found
    return [_finite(x, digits) for x in found] if tensor.dim() else _finite(found, digits)


def _packed(tensor: Tensor) -> dict[str, Any]:
    if tensor.is_floating_point():
        kind, numbers = "$f32", tensor.to(torch.float32)
    elif tensor.dtype in (torch.uint8, torch.bool):
        kind, numbers = "$u8", tensor.to(torch.uint8)
    else:
        if tensor.numel() and not -INT32 <= int(tensor.min()) <= int(tensor.max()) <= INT32:
            raise ValueError("a whole number beyond 32 bits")  # not words: a mistake in code
        kind, numbers = "$i32", tensor.to(torch.int32)
    array = numbers.contiguous().numpy()
    if sys.byteorder == "big":
        array = array.byteswap()
    return {kind: base64.b64encode(array.tobytes()).decode(), "shape": list(tensor.shape)}
