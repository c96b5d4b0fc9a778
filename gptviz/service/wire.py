"""Values on their way out: one writer to plain JSON, one to the packed form that the page's scripts read."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def as_json(value: Any) -> Any:
    """Dataclasses, dicts, lists, tensors and tokens as JSON values; a number that is not finite becomes null."""
    return _walk(value, lambda tensor: _walk(tensor.tolist(), None))


def as_packed(value: Any) -> Any:
    """Like `as_json`, with each tensor as {"$f32" | "$i32" | "$u8": base64, "shape": […]}, little-endian."""
    return _walk(value, _pack)


def _walk(value: Any, tensor: Callable[[Tensor], Any] | None) -> Any:
    if isinstance(value, Tensor) and tensor is not None:
        return tensor(value)
    if hasattr(value, "as_json"):
        return value.as_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _walk(getattr(value, f.name), tensor) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _walk(item, tensor) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_walk(item, tensor) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _pack(tensor: Tensor) -> dict[str, Any]:
    kind = "$u8" if tensor.dtype in (torch.uint8, torch.bool) else "$f32" if tensor.is_floating_point() else "$i32"
    dtype = {"$u8": torch.uint8, "$f32": torch.float32, "$i32": torch.int32}[kind]
    data = tensor.detach().cpu().to(dtype).contiguous().numpy().tobytes()
    return {kind: base64.b64encode(data).decode(), "shape": list(tensor.shape)}
