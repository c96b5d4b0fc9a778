"""Attribution against a hand-written sum in float64, and against the model itself."""

from __future__ import annotations

import pytest
import torch

from gptviz.decoder.decoder import Decoder
from gptviz.lab.looking.attribution import Attribution, attribution

IDS = [464, 3797, 3332, 319, 262, 2603, 13, 383, 3797]


def value(found: Attribution, kind: str, layer: int = -1, head: int = -1) -> float:
    return sum(p.value for p in found.parts if (p.kind, p.layer, p.head) == (kind, layer, head))


@pytest.mark.parametrize("name", ["nano", "tiny_gpt2", "tiny_llama"])
@pytest.mark.parametrize("against", [None, 257])
def test_the_parts_add_up_to_the_logit(name: str, against: int | None, request: pytest.FixtureRequest) -> None:
    decoder: Decoder = request.getfixturevalue(name)
    logits = decoder.run(IDS, last_only=True).logits[-1].double()
    found = attribution(decoder, IDS, against=against)
    assert found.target == int(logits.argmax())
    wanted = logits[found.target] - (0.0 if against is None else logits[against])
    assert found.sum == pytest.approx(float(wanted), abs=1e-3)
    assert found.sum == pytest.approx(sum(p.value for p in found.parts), abs=1e-12)
    heads = decoder.shape.layers * decoder.shape.heads
    assert sum(p.kind == "head" for p in found.parts) == heads
    assert sum(p.kind == "feed_forward" for p in found.parts) == decoder.shape.layers


def test_a_head_of_gpt2_equals_a_sum_by_hand(tiny_gpt2: Decoder) -> None:
    """Layer 2, head 1 of a GPT-2 shape: softmax(qk)·v·W_O·(gain/std)·(row of the head), all in float64."""
    model = tiny_gpt2.model.double()
    try:
        layer, head, target, d, h = 2, 1, 300, 32, 4
        inner = model.transformer
        stream = model(torch.tensor([IDS]), output_hidden_states=True).hidden_states
        block = inner.h[layer]
        qkv = block.attn.c_attn(block.ln_1(stream[layer][0]))  # [T, 3d]
        q, k, v = (part[:, head * d // h : (head + 1) * d // h] for part in qkv.split(d, dim=-1))
        weights = (q[-1] @ k.T / (d // h) ** 0.5).softmax(-1)
        added = weights @ v @ block.attn.c_proj.weight[head * d // h : (head + 1) * d // h]  # [d]
        x = _before_the_final_norm(model, IDS)
        held = (added - added.mean()) / (x.var(unbiased=False) + inner.ln_f.eps).sqrt() * inner.ln_f.weight
        by_hand = float(held @ model.lm_head.weight[target])
    finally:
        model.float()
    found = attribution(tiny_gpt2, IDS, target=target)
    assert value(found, "head", layer, head) == pytest.approx(by_hand, abs=1e-5)


def _before_the_final_norm(model: torch.nn.Module, ids: list[int]) -> torch.Tensor:
    kept: list[torch.Tensor] = []
    handle = model.transformer.ln_f.register_forward_hook(lambda _, args, __: kept.append(args[0][0, -1]))
    model(torch.tensor([ids]))
    handle.remove()
    return kept[0]


def test_a_head_that_writes_nothing_has_no_share(tiny_llama: Decoder) -> None:
    weight = tiny_llama.model.model.layers[1].self_attn.o_proj.weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight[:, 8:16] = 0.0  # head 1 of width 8
    try:
        found = attribution(tiny_llama, IDS)
    finally:
        with torch.no_grad():
            weight.copy_(kept)
    assert value(found, "head", 1, 1) == 0.0
    assert value(found, "head", 1, 0) != 0.0
