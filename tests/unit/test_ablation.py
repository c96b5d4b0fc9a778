"""Heads switched off, against the stock model with a zeroed slice of W_O; single edges, against a mask by hand."""

from __future__ import annotations

import copy

import pytest
import torch

from gptviz.decoder.edits import Edits
from gptviz.decoder.errors import UserError
from gptviz.lab.looking import ablation

IDS = [11, 257, 300, 11, 42, 9, 1000, 5]


@torch.inference_mode()
def stock(decoder, off: list[tuple[int, int]]) -> torch.Tensor:
    """The library's own model with the heads' slices of W_O set to 0: its last logits [V]."""
    before = decoder.model.config._attn_implementation
    model = copy.deepcopy(decoder.model)
    model.set_attn_implementation("sdpa")
    assert decoder.model.config._attn_implementation == before
    blocks = model.model.layers if hasattr(model, "model") else model.transformer.h
    width = decoder.shape.head_width
    for layer, head in off:
        block, rows = blocks[layer], slice(head * width, (head + 1) * width)
        if hasattr(block, "self_attn"):
            block.self_attn.o_proj.weight[:, rows] = 0
        else:
            block.attn.c_proj.weight[rows] = 0
    return model(torch.tensor([IDS])).logits[0, -1].float()


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama", "nano"])
@pytest.mark.parametrize("off", [[(0, 0)], [(1, 3), (3, 2)], [(2, h) for h in range(4)]])
def test_a_head_off_is_the_stock_model_with_a_zeroed_slice(request, name, off):
    decoder = request.getfixturevalue(name)
    edits = ablation.edits_of(decoder, len(IDS), [list(head) for head in off], [], "zero")
    found = decoder.run(IDS, edits=edits).logits[-1]
    expected = stock(decoder, off)
    assert (found - expected).abs().max() <= 1e-4
    assert (found - stock(decoder, [])).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama", "nano"])
def test_with_nothing_off_nothing_moves(request, name):
    decoder = request.getfixturevalue(name)
    found = ablation.ablate(decoder, IDS, Edits())
    assert torch.equal(found.before, found.after)
    assert found.kl == 0
    assert torch.equal(decoder.run(IDS, edits=Edits()).logits, decoder.run(IDS).logits)


def test_the_mean_replaces_a_head_by_its_average_over_the_positions(tiny_gpt2):
    projection = tiny_gpt2.projections[1]
    kept: list[torch.Tensor] = []
    handle = projection.register_forward_hook(lambda module, args, output: kept.append(args[0]))
    tiny_gpt2.run(IDS)
    tiny_gpt2.run(IDS, edits=Edits(frozenset({(1, 2)}), mode="mean"))
    handle.remove()
    plain, edited = (x[0].unflatten(-1, (4, 8)) for x in kept)  # [T, h, d_v]
    assert torch.allclose(edited[:, 2], plain[:, 2].mean(0).expand(len(IDS), -1), atol=1e-6)
    assert torch.equal(edited[:, [0, 1, 3]], plain[:, [0, 1, 3]])


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama"])
def test_a_blocked_edge_weighs_nothing_and_the_row_is_scaled_up(request, name):
    decoder = request.getfixturevalue(name)
    layer, head, query, key = 1, 3, 6, 2
    given = decoder.run(IDS, inputs=[layer]).inputs[layer]
    group = head // (len(given.query) // len(given.key))
    scores = (given.query[head, query].double() @ given.key[group].double().T) * given.scaling
    scores[query + 1 :] = float("-inf")
    scores[key] = float("-inf")
    expected = scores.softmax(-1) @ given.value[group].double()  # [d_v]
    kept: list[torch.Tensor] = []
    handle = decoder.projections[layer].register_forward_hook(lambda module, args, output: kept.append(args[0]))
    decoder.run(IDS)
    decoder.run(IDS, edits=Edits(edges=frozenset({(layer, head, query, key)})))
    handle.remove()
    plain, edited = (x[0].unflatten(-1, (4, 8)) for x in kept)  # [T, h, d_v]
    assert (edited[query, head].double() - expected).abs().max() <= 1e-5
    moved = (edited != plain).any(-1)  # [T, h]
    assert moved.nonzero().tolist() == [[query, head]]


def test_a_row_with_every_key_blocked_reads_nothing(tiny_gpt2):
    kept: list[torch.Tensor] = []
    handle = tiny_gpt2.projections[0].register_forward_hook(lambda module, args, output: kept.append(args[0]))
    tiny_gpt2.run(IDS, edits=Edits(edges=frozenset({(0, 1, 0, 0)})))
    handle.remove()
    assert torch.count_nonzero(kept[0][0, 0].unflatten(-1, (4, 8))[1]) == 0


def test_the_divergence_is_the_closed_form(nano):
    found = ablation.ablate(nano, IDS, Edits(frozenset({(0, 0), (1, 1)})))
    expected = (found.before * (found.before / found.after).log()).nansum()
    assert found.kl == pytest.approx(float(expected), abs=1e-9)
    assert found.kl > 0


@pytest.mark.parametrize(
    ("heads", "edges", "mode", "says"),
    [
        ([[9, 0]], [], "zero", "layer is 9"),
        ([[0, 4]], [], "zero", "head is 4"),
        ([[0]], [], "zero", "each entry must be"),
        ([], [[0, 0, 8, 0]], "zero", "tokens of the text, 0 to 7"),
        ([[0, 0]], [], "half", "mode"),
    ],
)
def test_what_is_not_there_is_refused(nano, heads, edges, mode, says):
    with pytest.raises(UserError, match=says):
        ablation.edits_of(nano, len(IDS), heads, edges, mode)
