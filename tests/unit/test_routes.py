"""Routes: shares that add up to 1, against the sums of GPT-2 and Llama written out in float64."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.edits import Edits
from gptviz.decoder.errors import UserError
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.looking import ablation
from gptviz.lab.looking.attribution import attribution
from gptviz.lab.looking.routes import Halves, Place, routes
from tests import tiny

IDS = [464, 3797, 3332, 319, 262, 2603, 13, 383, 3797]


def halves(decoder: Decoder) -> Halves:
    layers = range(decoder.shape.layers)
    return Halves(decoder, decoder.run(IDS, capture=layers, inputs=layers, residual=True))


def share(part: Tensor, whole: Tensor) -> float:
    part, whole = part.detach(), whole.detach()
    left = sum(abs(float(w - p)) for w, p in zip(whole, part, strict=True))
    return max(0.0, sum(abs(float(x)) for x in whole) - left)


@torch.inference_mode()
def by_hand(decoder: Decoder, layer: int, query: int) -> tuple[dict[Any, float], dict[str, float]]:
    """The same shares from the model's own matrices in float64, no gptviz function used: both halves."""
    model: Any = copy.deepcopy(decoder.model).double()  # a copy: a weight made here cannot be trained or changed
    hidden = model(torch.tensor([IDS]), output_hidden_states=True).hidden_states
    x = hidden[layer][0]  # [T, d]
    heads, T = decoder.shape.heads, len(IDS)
    d = x.shape[-1] // heads
    if hasattr(model, "transformer"):
        block = model.transformer.h[layer]
        q, k, v = (part.view(T, heads, d) for part in block.attn.c_attn(block.ln_1(x)).split(heads * d, dim=-1))
        out, bias = block.attn.c_proj.weight, block.attn.c_proj.bias
        normed, mlp = block.ln_2, block.mlp
    else:
        block = model.model.layers[layer]
        y = block.input_layernorm(x)
        cos, sin = model.model.rotary_emb(x[None], torch.arange(T)[None])
        half = d // 2

        def turn(z: Tensor) -> Tensor:  # [T, n, d]
            return z * cos[0][:, None] + torch.cat((-z[..., half:], z[..., :half]), -1) * sin[0][:, None]

        groups = heads // decoder.shape.kv_heads
        q = turn(block.self_attn.q_proj(y).view(T, heads, d))
        k = turn(block.self_attn.k_proj(y).view(T, -1, d)).repeat_interleave(groups, 1)
        v = block.self_attn.v_proj(y).view(T, -1, d).repeat_interleave(groups, 1)
        out, bias = block.self_attn.o_proj.weight.T, torch.zeros(x.shape[-1], dtype=torch.float64)
        normed, mlp = block.post_attention_layernorm, block.mlp
    parts: dict[Any, Tensor] = {"stayed": x[query], "bias": bias}
    for head in range(heads):
        weights = (q[query, head] @ k[: query + 1, head].T / math.sqrt(d)).softmax(-1)
        for key in range(query + 1):
            parts[head, key] = weights[key] * v[key, head] @ out[head * d : (head + 1) * d]
    middle = torch.stack(list(parts.values())).sum(0)
    fed = mlp(normed(middle))
    first = {name: share(part, middle) for name, part in parts.items()}
    second = {"middle": share(middle, middle + fed), "feed_forward": share(fed, middle + fed)}
    return (
        {name: value / sum(first.values()) for name, value in first.items()},
        {name: value / sum(second.values()) for name, value in second.items()},
    )


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama"])
@pytest.mark.parametrize(("layer", "query"), [(0, 4), (2, 8)])
def test_shares_are_those_of_the_sums_written_out(name: str, layer: int, query: int, request: Any) -> None:
    decoder: Decoder = request.getfixturevalue(name)
    found = halves(decoder).place(layer, query)
    first, second = by_hand(decoder, layer, query)
    assert found.stayed == pytest.approx(first["stayed"], abs=1e-5)
    assert found.bias == pytest.approx(first["bias"], abs=1e-5)
    for head in range(4):
        for key in range(query + 1):
            assert float(found.edges[head, key]) == pytest.approx(first[head, key], abs=1e-5)
    assert found.middle == pytest.approx(second["middle"], abs=1e-5)
    assert found.feed_forward == pytest.approx(second["feed_forward"], abs=1e-5)
    assert float(found.edges.max()) > 0.01


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama", "nano", "smollm2"])
def test_the_shares_of_a_place_add_up_to_1(name: str, request: Any) -> None:
    decoder: Decoder = request.getfixturevalue(name)
    made = halves(decoder)
    for layer in range(0, decoder.shape.layers, 1 + decoder.shape.layers // 8):
        for query in (0, 3, len(IDS) - 1):
            place: Place = made.place(layer, query)
            assert place.stayed + place.bias + float(place.edges.sum()) == pytest.approx(1.0, abs=1e-12)
            assert place.middle + place.feed_forward == pytest.approx(1.0, abs=1e-12)
            assert float(place.edges.min()) >= 0


def test_only_edges_that_are_large_enough_and_reached_are_kept(tiny_gpt2: Decoder) -> None:
    """Against a search over all places, worked out beforehand."""
    made, least = halves(tiny_gpt2), 0.03
    every = {(layer, q): made.place(layer, q) for layer in range(4) for q in range(len(IDS))}
    on, wanted = {len(IDS) - 1}, set()
    for layer in (3, 2, 1, 0):
        below = set()
        for q in on:
            place = every[layer, q]
            kept = {(h, k) for h in range(4) for k in range(q + 1) if float(place.edges[h, k]) >= least}
            wanted |= {(layer, h, q, k) for h, k in kept}
            below |= {k for _, k in kept} | ({q} if place.stayed >= least else set())
        on = below
    found = routes(tiny_gpt2, IDS, least=least)
    assert {(e.layer, e.head, e.query, e.key) for e in found.edges} == wanted
    assert 0 < len(wanted) < sum(place.edges.numel() for place in every.values())
    assert min(e.share for e in found.edges) >= least


def test_a_larger_share_leaves_a_part_of_the_route(tiny_llama: Decoder) -> None:
    def kept(least: float) -> set[tuple[int, int, int, int]]:
        return {(e.layer, e.head, e.query, e.key) for e in routes(tiny_llama, IDS, least=least).edges}

    assert kept(0.1) < kept(0.03) < kept(0.01)


def test_an_earlier_token_is_made_of_what_stands_before_it(tiny_llama: Decoder) -> None:
    found = routes(tiny_llama, IDS, position=3, least=0.01)
    assert max(edge.query for edge in found.edges) == 3
    assert max(place.place for place in found.places) == 3


def test_pushing_looking_and_carrying_are_three_questions(smollm2: Decoder) -> None:
    """What the page says of SmolLM2 and the two names: each question has another head for an answer."""
    ids = smollm2.tokenizer.encode("When Mary and John went to the store, John gave a drink to")
    mary, john = ids[1], ids[3]
    found = attribution(smollm2, ids, target=mary, against=john)
    heads = [part for part in found.parts if part.kind == "head"]
    top = max(found.parts, key=lambda part: abs(part.value))
    assert (top.kind, top.layer, top.head, ids[int(found.reads[top.layer, top.head])]) == ("head", 23, 3, john)
    looking = [part for part in heads if ids[int(found.reads[part.layer, part.head])] == mary]
    reader = max(looking, key=lambda part: float(found.weight[part.layer, part.head]))
    assert (reader.layer, reader.head) == (24, 4)
    assert reader.value < -1  # it works against her
    off = ablation.ablate(smollm2, ids, Edits(frozenset({(24, 4)})))
    assert float(off.before[mary]) == pytest.approx(0.923, abs=0.005)
    assert float(off.after[mary]) == pytest.approx(0.978, abs=0.005)
    route = routes(smollm2, ids, least=0.03)
    assert not [edge for edge in route.edges if (edge.layer, edge.head, edge.query) == (23, 3, len(ids) - 1)]


def test_what_cannot_be_is_one_sentence(tiny_gpt2: Decoder) -> None:
    odd = Decoder.from_model(tiny.model("olmo2"), Tokenizer.gpt2(), name="odd")
    with pytest.raises(UserError, match="odd does more"):
        routes(odd, tiny.ids(5))
    with pytest.raises(UserError, match="least is 0"):
        routes(tiny_gpt2, IDS, least=0)
    with pytest.raises(UserError, match="position is 9"):
        routes(tiny_gpt2, IDS, position=9)
    with pytest.raises(UserError, match="up to 256"):
        routes(tiny_gpt2, [1] * 257)
