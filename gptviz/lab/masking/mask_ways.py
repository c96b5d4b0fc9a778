"""The causal mask written three ways, on the query, key and value that one layer of the model really has."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gptviz.decoder.attention import Inputs
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.run import Runs


def additive(given: Inputs, key: Tensor, value: Tensor) -> Tensor:
    """softmax(S + M) V with M = −∞ wherever the layer's mask hides a key; [h, T, d_v]."""
    scores = scored(given, key)  # [h, T, T]
    mask = torch.zeros_like(scores[0]).masked_fill(~given.seen, float("-inf"))  # [T, T]
    return (scores + mask).softmax(-1) @ value


def boolean(given: Inputs, key: Tensor, value: Tensor) -> Tensor:
    """softmax of the scores with −∞ filled in wherever the mask is False; [h, T, d_v]."""
    return scored(given, key).masked_fill(~given.seen, float("-inf")).softmax(-1) @ value


def flag(given: Inputs, key: Tensor, value: Tensor) -> Tensor:
    """PyTorch's fused attention, told only `is_causal`; [h, T, d_v]. It knows the triangle and nothing narrower."""
    return F.scaled_dot_product_attention(
        given.query.float()[None], key[None], value[None], is_causal=True, scale=given.scaling
    )[0]


def scored(given: Inputs, key: Tensor) -> Tensor:
    """The scores [h, T, T] as the model makes them, in float32: in 16 bits a large one would be infinite."""
    scores = given.query.float() @ key.transpose(-2, -1) * given.scaling
    return scores if given.softcap is None else given.softcap * torch.tanh(scores / given.softcap)


WAYS = {"additive": additive, "boolean": boolean, "is_causal": flag}


def code(way: Callable[..., Tensor]) -> str:
    """The lines of a function as they run here, without its head and its description."""
    body = inspect.getsource(way).split('"""', 2)[2]
    return textwrap.dedent(body.strip("\n")).rstrip()


@torch.inference_mode()
def outputs(given: Inputs) -> dict[str, Tensor]:
    """The attention output [h, T, d_v] of each way on one layer's inputs, in float32."""
    groups = given.query.shape[0] // given.key.shape[0]  # grouped-query heads share keys and values
    key = given.key.float().repeat_interleave(groups, dim=0)  # [h, T, d_k]
    value = given.value.float().repeat_interleave(groups, dim=0)  # [h, T, d_v]
    return {name: way(given, key, value) for name, way in WAYS.items()}


def flag_says_it(given: Inputs) -> bool:
    """Whether `is_causal` alone describes this layer: its mask is the whole triangle, and its scores have no bound."""
    return given.softcap is None and torch.equal(given.seen, torch.ones_like(given.seen).tril())


@torch.inference_mode()
def flag_and_mask(given: Inputs) -> str:
    """What this PyTorch does when given `is_causal` and an attn_mask at once: "refused", "both" or "one".

    Its documentation says it refuses; some of its kernels quietly apply both.
    """
    q = given.query[None]  # [1, h, T, d_k]
    T = q.shape[-2]
    upper = torch.ones(T, T, dtype=torch.bool, device=q.device).triu()  # with the flag, only the diagonal is left
    try:
        out = F.scaled_dot_product_attention(q, q, q, attn_mask=upper, is_causal=True)
    except RuntimeError:
        return "refused"
    return "both" if torch.allclose(out, q, atol=1e-2) else "one"


@dataclass(frozen=True)
class Difference:
    """The largest |Δ| between two ways, over every head and position."""

    a: str
    b: str
    max_delta: float


@dataclass(frozen=True)
class Ways:
    """One layer's attention written three ways, as code and as numbers: how far apart they are.

    `size` is the largest output; `flag_says_it` whether `is_causal` alone describes this layer.
    """

    layer: int
    heads: int
    dtype: str
    code: dict[str, str]
    differences: list[Difference]
    size: float
    flag_and_mask: str
    flag_says_it: bool


def compare_ways(decoder: Decoder, ids: list[int], layer: int, *, runs: Runs | None = None) -> Ways:
    """Largest difference between each two ways, over every head and position of one layer."""
    layer = decoder.check_layer(layer)
    given = (runs or decoder.run)(ids, inputs=[layer], last_only=True).inputs[layer]
    made = outputs(given)
    names = list(WAYS)
    pairs = [(a, b) for n, a in enumerate(names) for b in names[n + 1 :]]
    return Ways(
        layer=layer,
        heads=given.query.shape[0],
        dtype="float32",  # whatever the model's own: see `scored`
        code={"scored": code(scored)} | {name: code(way) for name, way in WAYS.items()},
        differences=[Difference(a, b, float((made[a] - made[b]).abs().max())) for a, b in pairs],
        size=float(made["additive"].abs().max()),
        flag_and_mask=flag_and_mask(given),
        flag_says_it=flag_says_it(given),
    )
