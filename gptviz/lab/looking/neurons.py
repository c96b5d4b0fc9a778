"""The neurons of one feed-forward layer at one token: how far each fires, what it writes, which tokens that pushes.

A feed-forward layer is a sum over its neurons: neuron i has an activation, and adds activation × its row of the last
matrix to the stream. Where it sits on the curve (GELU, SiLU) is its value before the activation function; in a gated
layer (SwiGLU) what comes out of the curve is multiplied with a second value, the gate's partner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.replay import NEAR, Replay
from gptviz.lab.looking.attribution import HeldNorm

CURVE = 121  # points of the curve that is drawn
TOKENS = 5  # pushed up and down by a neuron


@dataclass(frozen=True)
class Neuron:
    """One neuron: its activation, and its share of what the layer writes, in the direction of all of it."""

    index: int
    before: float  # on the curve
    activation: float
    share: float
    pushes_up: list[int]
    pushes_down: list[int]
    up: list[float]  # logits that it adds to each, the final norm's scale held as it is
    down: list[float]


@dataclass(frozen=True)
class Neurons:
    """One layer at one token. `shares` of all neurons and `bias_share` add up to 1."""

    layer: int
    position: int
    gated: bool
    before: Tensor  # [m] before the activation function
    activations: Tensor  # [m]
    shares: Tensor  # [m]
    bias_share: float
    length: float  # of what the layer writes
    curve: Tensor  # [2, n] the activation function: x and y
    neurons: list[Neuron]  # the strongest first, by the size of the share


@torch.inference_mode()
def neurons(decoder: Decoder, ids: list[int], layer: int, position: int = -1, count: int = 10) -> Neurons:
    """The neurons of one layer at one position, `count` of them with the tokens they push.

    UserError for a layer or position that is not there, and for families without one list of neurons a layer.
    """
    decoder.check_layer(layer)
    T = len(ids)
    if not -T <= position < T:
        raise UserError("whole_between", name="position", value=position, low=-T, high=T - 1)
    replay = Replay(decoder, ids)
    inside = _inside(decoder, replay, layer)
    down, act, given = _matrix(decoder, replay, layer, inside)
    position %= T
    a = given[position].double()  # [m]
    if not 1 <= count <= len(a):
        raise UserError("whole_between", name="count", value=count, low=1, high=len(a))
    rows, bias = _rows(down)  # [m, d]
    before, after = (x[position].double() for x in act[1])
    whole = a @ rows + bias  # [d]
    shares = a * (rows @ whole) / (whole @ whole)  # [m]
    best = shares.abs().topk(count).indices.tolist()
    norm = HeldNorm(decoder, replay.stream[-1, position].float().cpu())
    table = decoder.model.get_output_embeddings().weight  # [V, d]
    found = [_neuron(i, before, a, shares, norm((a[i] * rows[i]).cpu()), table) for i in best]
    gated = not torch.allclose(a, after, rtol=1e-3, atol=1e-5)
    curve = _curve(act[0], before, decoder)
    return Neurons(
        layer, position, gated, before.float().cpu(), a.float().cpu(), shares.float().cpu(),
        float(bias @ whole / (whole @ whole)), float(whole.norm()), curve, found,
    )  # fmt: skip


def _neuron(i: int, before: Tensor, a: Tensor, shares: Tensor, written: Tensor, table: Tensor) -> Neuron:
    pushed = (table.float() @ written.to(table.device).float()).cpu()  # [V]
    up, down = pushed.topk(TOKENS), (-pushed).topk(TOKENS)
    return Neuron(
        i, float(before[i]), float(a[i]), float(shares[i]), up.indices.tolist(), down.indices.tolist(),
        up.values.tolist(), (-down.values).tolist(),
    )  # fmt: skip


Seen = dict[nn.Module, tuple[Tensor, Tensor]]  # module: (its input, its output), of one block


def _inside(decoder: Decoder, replay: Replay, layer: int) -> Seen:
    """What went into and came out of every module of one block, from the block called once more."""
    seen: Seen = {}
    block = decoder.layers[layer]

    def note(module: nn.Module, args: Any, out: Any) -> None:
        if args and isinstance(args[0], Tensor) and isinstance(out, Tensor):
            seen.setdefault(module, (args[0].clone(), out.clone()))

    handles = [module.register_forward_hook(note) for module in block.modules() if module is not block]
    try:
        replay.block(replay.stream[layer][None], layer)
    finally:
        for handle in handles:
            handle.remove()
    return seen


def _matrix(
    decoder: Decoder, replay: Replay, layer: int, inside: Seen
) -> tuple[nn.Module, tuple[nn.Module, tuple[Tensor, Tensor]], Tensor]:
    """The last matrix of the feed-forward part, its activation function with input and output, and what it is given."""
    fed, T = replay.fed(layer), len(replay.ids)
    near = NEAR.get(decoder.dtype, 1e-4) * max(float(fed.abs().max()), float(replay.stream[layer].abs().max()))
    for module, (given, gave) in inside.items():
        weight = getattr(module, "weight", None)
        if weight is None or weight.dim() != 2 or gave.numel() != fed.numel() or given.numel() == gave.numel():
            continue
        if float((gave.reshape(T, -1) - fed).abs().max()) > near:
            continue
        wide = given.reshape(T, -1)  # [T, m]
        for function, (x, y) in inside.items():
            same = x.shape == y.shape and x.numel() == wide.numel() and not list(function.parameters())
            if same and not torch.equal(x, y):
                return module, (function, (x.reshape(T, -1), y.reshape(T, -1))), wide
    raise UserError("no_neurons", model=decoder.name)


def _rows(down: Any) -> tuple[Tensor, Tensor]:
    """What each neuron writes per unit of activation [m, d], and what is written anyway [d]: float64."""
    rows = down.weight.double()
    rows = rows if type(down).__name__ == "Conv1D" else rows.t()
    bias = getattr(down, "bias", None)
    return rows, torch.zeros_like(rows[0]) if bias is None else bias.double()


def _curve(function: nn.Module, before: Tensor, decoder: Decoder) -> Tensor:
    reach = max(4.0, float(before.abs().max()))
    x = torch.linspace(-reach, reach, CURVE, dtype=decoder.dtype, device=decoder.device)
    return torch.stack([x, function(x)]).float().cpu()
