"""The causal mask written three ways, on the query, key and value that one layer of the model really has."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gptviz.decoder.attention import Inputs
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.run import Runs


def additive(q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
    """softmax(S + M) V with M = −∞ above the diagonal; [h, T, d_k]."""
    T = q.shape[-2]
    mask = torch.full((T, T), float("-inf"), dtype=q.dtype, device=q.device).triu(diagonal=1)  # [T, T]
    scores = q @ k.transpose(-2, -1) * scaling  # [h, T, T]
    return (scores + mask).softmax(-1) @ v


def boolean(q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
    """softmax of the scores with −∞ filled in wherever a lower triangle is False; [h, T, d_k]."""
    T = q.shape[-2]
    seen = torch.ones(T, T, dtype=torch.bool, device=q.device).tril()  # [T, T]
    scores = q @ k.transpose(-2, -1) * scaling  # [h, T, T]
    return scores.masked_fill(~seen, float("-inf")).softmax(-1) @ v


def flag(q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
    """PyTorch's fused attention, told only `is_causal`; [h, T, d_k]."""
    return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, scale=scaling)[0]


WAYS = {"additive": additive, "boolean": boolean, "is_causal": flag}


@torch.inference_mode()
def outputs(given: Inputs) -> dict[str, Tensor]:
    """The attention output [h, T, d_k] of each way on one layer's inputs."""
    groups = given.query.shape[0] // given.key.shape[0]  # grouped-query heads share keys and values
    key = given.key.repeat_interleave(groups, dim=0)  # [h, T, d_k]
    value = given.value.repeat_interleave(groups, dim=0)  # [h, T, d_k]
    return {name: way(given.query, key, value, given.scaling) for name, way in WAYS.items()}


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
    """One layer's attention written three ways, and how far apart they are; `size` is the largest output."""

    layer: int
    heads: int
    dtype: str
    differences: list[Difference]
    size: float
    flag_and_mask: str


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
        dtype=str(given.query.dtype).removeprefix("torch."),
        differences=[Difference(a, b, float((made[a] - made[b]).abs().max())) for a, b in pairs],
        size=float(made["additive"].abs().max()),
        flag_and_mask=flag_and_mask(given),
    )
