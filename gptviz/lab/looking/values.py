"""What one head carries: each key's value, weighted, through W_O, added to the stream of the query."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Runs


@dataclass(frozen=True)
class Carried:
    """One head at one query. All tensors are float32 on the CPU, lengths are Euclidean.

    `contributions[k]` is the length of weights[k] · value[k] · W_O, which is what key k adds; as vectors they sum to
    the head's output, of length `output_norm`. `stream_norm` is the stream it is added to, as it enters the layer, and
    `cosine` the angle between the two. `longest` is the sum of the lengths: what the output's would be if all pieces
    pointed the same way.
    """

    layer: int
    head: int
    position: int
    weights: Tensor  # [T]
    value_norms: Tensor  # [T]
    contributions: Tensor  # [T]
    pieces: Tensor  # [T, d], the vectors whose lengths `contributions` are
    output: Tensor  # [d]
    output_norm: float
    stream_norm: float
    cosine: float
    longest: float


@torch.inference_mode()
def carried(
    decoder: Decoder, ids: list[int], layer: int, head: int, position: int, *, runs: Runs | None = None
) -> Carried:
    """One head's row carried on. UserError for a head or position that is not there, or a family that has no W_O."""
    decoder.check_layer(layer)
    decoder.check_head(head)
    T = len(ids)
    if not -T <= position < T:
        raise UserError("position", value=position, n=T, last=T - 1)
    position %= T
    projection = splittable(decoder, layer)
    run = (runs or decoder.run)(ids, capture=[layer], inputs=[layer], residual=True, last_only=True)
    assert run.residual is not None
    value = run.inputs[layer].value  # [h_kv, T, d_v]
    value = value[head // (decoder.shape.heads // value.shape[0])]  # [T, d_v]
    weights = run.attention[layer].weights[head, position]  # [T]
    mixed = weights[:, None].to(value) * value  # [T, d_v]
    pieces = through(projection, mixed, head, decoder.shape.heads).float().cpu()  # [T, d]
    output = through(projection, mixed.sum(0, keepdim=True), head, decoder.shape.heads)[0].float().cpu()  # [d]
    stream = run.residual[layer, position].float()  # [d]
    norm = float(output.norm())
    length = float(stream.norm())
    return Carried(
        layer, head, position, weights, value.float().norm(dim=-1).cpu(), pieces.norm(dim=-1), pieces, output, norm,
        length, float(output @ stream) / max(norm * length, 1e-30), float(pieces.norm(dim=-1).sum()),
    )  # fmt: skip


def splittable(decoder: Decoder, layer: int) -> nn.Module:
    """W_O of a layer. UserError, in one sentence, for a family whose heads cannot be told apart behind it."""
    found = decoder.projections[layer]
    if found is None:
        raise UserError("heads_not_added", model=decoder.name)
    return found


def through(projection: nn.Module, mixed: Tensor, head: int, heads: int) -> Tensor:
    """One head's vectors [n, d_v] through its slice of W_O: [n, d]. A bias belongs to no head and is left out."""
    n, width = mixed.shape
    flat = mixed.new_zeros(n + 1, heads * width)  # the last row stays 0: its result is the bias
    flat[:n, head * width : (head + 1) * width] = mixed
    out: Tensor = projection(flat)  # [n + 1, d]
    return out[:n] - out[n]
