"""The neurons of a feed-forward layer, against the family's own formula written out in float64."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.looking.neurons import neurons
from tests import tiny

IDS = [464, 3797, 3332, 319, 262, 2603, 13, 383, 3797]
LAYER, PLACE = 2, 5


def middle(decoder: Decoder, layer: int) -> Tensor:
    """What enters the norm before a block's feed-forward part, from a hook on that norm: [T, d]."""
    model: Any = decoder.model
    block = model.transformer.h[layer] if hasattr(model, "transformer") else model.model.layers[layer]
    norm = block.ln_2 if hasattr(block, "ln_2") else block.post_attention_layernorm
    kept: list[Tensor] = []
    handle = norm.register_forward_pre_hook(lambda _, args: kept.append(args[0][0]))
    decoder.run(IDS)
    handle.remove()
    return kept[0].double()


def by_hand(decoder: Decoder, layer: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Before the curve [T, m], activations [T, m], rows written [m, d] and bias [d], in float64."""
    x, model = middle(decoder, layer), decoder.model
    if hasattr(model, "transformer"):
        block: Any = model.transformer.h[layer]
        centred = x - x.mean(-1, keepdim=True)
        normed = centred / (centred.pow(2).mean(-1, keepdim=True) + block.ln_2.eps).sqrt()
        normed = normed * block.ln_2.weight.double() + block.ln_2.bias.double()
        before = normed @ block.mlp.c_fc.weight.double() + block.mlp.c_fc.bias.double()
        curve = 0.5 * before * (1 + torch.tanh(math.sqrt(2 / math.pi) * (before + 0.044715 * before**3)))
        return before, curve, block.mlp.c_proj.weight.double(), block.mlp.c_proj.bias.double()
    block = model.model.layers[layer]
    norm = block.post_attention_layernorm
    normed = x / (x.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon).sqrt() * norm.weight.double()
    before = normed @ block.mlp.gate_proj.weight.double().T
    active = before / (1 + torch.exp(-before)) * (normed @ block.mlp.up_proj.weight.double().T)
    return before, active, block.mlp.down_proj.weight.double().T, torch.zeros_like(x[0])


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama", "nano", "smollm2"])
@pytest.mark.parametrize("place", [PLACE, -1])
def test_activations_and_shares_are_the_formulas(name: str, place: int, request: Any) -> None:
    decoder: Decoder = request.getfixturevalue(name)
    found = neurons(decoder, IDS, LAYER, place)
    with torch.inference_mode():
        before, active, rows, bias = by_hand(decoder, LAYER)
    scale = float(active[place].abs().max())
    assert found.before.double() == pytest.approx(before[place], abs=1e-4 * float(before[place].abs().max()))
    assert found.activations.double() == pytest.approx(active[place], abs=1e-4 * scale)
    written = active[place] @ rows + bias
    shares = (active[place][:, None] * rows) @ written / written.pow(2).sum()
    assert found.shares.double() == pytest.approx(shares, abs=1e-4)
    assert found.length == pytest.approx(float(written.norm()), rel=1e-4)
    assert float(found.shares.double().sum()) + found.bias_share == pytest.approx(1.0, abs=1e-5)
    assert found.gated == (name != "tiny_gpt2" and hasattr(decoder.model, "model"))
    strongest = sorted(range(len(shares)), key=lambda i: -abs(float(shares[i])))[0]
    assert found.neurons[0].index == strongest


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama"])
def test_the_tokens_a_neuron_pushes_are_those_whose_logits_it_moves(name: str, request: Any) -> None:
    """By hand: what the neuron writes, through the final norm with its scale held, against every row of the head."""
    decoder: Decoder = request.getfixturevalue(name)
    found = neurons(decoder, IDS, LAYER, -1).neurons[0]
    model: Any = decoder.model
    with torch.inference_mode():
        _, active, rows, _ = by_hand(decoder, LAYER)
        x = decoder.run(IDS, residual=True).residual[-1, -1].double()
        written = active[-1, found.index] * rows[found.index]
        if hasattr(model, "transformer"):
            norm = model.transformer.ln_f
            held = (written - written.mean()) / (x.var(unbiased=False) + norm.eps).sqrt() * norm.weight.double()
        else:
            norm = model.model.norm
            held = written / (x.pow(2).mean() + norm.variance_epsilon).sqrt() * norm.weight.double()
        pushed = model.lm_head.weight.double() @ held
    assert found.pushes_up == pushed.topk(5).indices.tolist()
    assert found.pushes_down == (-pushed).topk(5).indices.tolist()
    assert found.up == pytest.approx(pushed.topk(5).values.tolist(), rel=1e-3)


def test_the_curve_is_the_activation_function(tiny_gpt2: Decoder) -> None:
    x, y = neurons(tiny_gpt2, IDS, LAYER).curve
    by_formula = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    assert torch.allclose(y, by_formula, atol=1e-5)


@pytest.mark.parametrize("kind", ["mixtral", "olmo2"])
def test_a_family_without_one_list_of_neurons_says_so(kind: str) -> None:
    sizes = tiny.MIXTRAL if kind == "mixtral" else {}
    decoder = Decoder.from_model(tiny.model(kind, **sizes), Tokenizer.gpt2(), name="odd")
    with pytest.raises(UserError, match="odd"):
        neurons(decoder, tiny.ids(6), 1)


def test_what_is_not_there_is_one_sentence(tiny_gpt2: Decoder) -> None:
    bad = (({"layer": 9}, "layer"), ({"layer": 1, "position": 9}, "position is 9"), ({"layer": 1, "count": 0}, "is 0"))
    for given, said in bad:
        with pytest.raises(UserError, match=said):
            neurons(tiny_gpt2, IDS, **given)
