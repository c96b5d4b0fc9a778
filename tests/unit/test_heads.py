"""Kinds of heads on attention that is built by hand, pooled pictures, and the induction measure."""

from __future__ import annotations

import math

import pytest
import torch

from gptviz.decoder.attention import MaskRule
from gptviz.lab.looking import heads

T = 12


def kind_of(weights: torch.Tensor, induction: float = 0.0) -> str:
    return heads._stat(0, 0, heads.measure(weights[None])[:, 0].tolist(), induction, weights.shape[-1]).kind


def previous() -> torch.Tensor:
    weights = torch.zeros(T, T)
    weights[0, 0] = 1
    weights[torch.arange(1, T), torch.arange(T - 1)] = 1
    return weights


def test_each_kind_is_told_by_its_own_pattern():
    sink = torch.zeros(T, T)
    sink[:, 0] = 1
    even = torch.ones(T, T).tril() / torch.arange(1, T + 1)[:, None]
    near = (torch.ones(T, T).tril() * torch.ones(T, T).triu(-3)).div(torch.arange(1, T + 1).clamp(max=4)[:, None])
    odd = torch.zeros(T, T)
    odd[torch.arange(T), torch.arange(T) // 2] = 1
    assert kind_of(previous()) == "previous"
    assert kind_of(sink) == "first"
    assert kind_of(even) == "broad"
    assert kind_of(near) == "local"
    assert kind_of(odd) == "mixed"
    assert kind_of(odd, induction=0.8) == "induction"


def test_measures_are_the_closed_forms_of_an_even_head():
    even = torch.ones(T, T).tril() / torch.arange(1, T + 1)[:, None]
    entropy, first, before, _, share = heads.measure(even[None])[:, 0].tolist()
    rows = range(2, T)
    assert entropy == pytest.approx(sum(math.log(t + 1) for t in rows) / len(rows), abs=1e-6)
    assert first == pytest.approx(sum(1 / (t + 1) for t in rows) / len(rows), abs=1e-6)
    assert before == pytest.approx(first, abs=1e-6)
    assert share == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("T", [1, 2, 3])
def test_the_shortest_texts_have_finite_measures(tiny_gpt2, T):
    panel = heads.panel(tiny_gpt2, list(range(T)), torch.zeros(4, 4))
    assert all(math.isfinite(stat.entropy) for stat in panel.stats)
    assert panel.thumbnails.shape == (4, 4, T, T)


def test_small_pictures_are_the_weights_themselves(tiny_llama):
    ids = list(range(20))
    panel = heads.panel(tiny_llama, ids, torch.zeros(4, 4))
    run = tiny_llama.run(ids, capture=range(4))
    assert not panel.pooled
    for layer in range(4):
        expected = (run.attention[layer].weights.sqrt() * 255).round()
        assert (panel.thumbnails[layer].float() - expected).abs().max() <= 1
    assert torch.count_nonzero(panel.thumbnails.triu(1)) == 0


def test_what_is_watched_in_passing_is_what_a_run_keeps(tiny_llama, monkeypatch):
    ids, seen = list(range(20)), []
    for limit in (heads.watch.__globals__["KEEP_BYTES"], 0):
        monkeypatch.setattr("gptviz.lab.looking.watch.KEEP_BYTES", limit)
        seen.append([])
        heads.watch(tiny_llama, ids, lambda *layer: seen[-1].append(layer), rule=MaskRule("none", frozenset({1})))
    assert [layer for layer, _, _ in seen[0]] == [0, 1, 2, 3]
    for (a, scores, weights), (b, *others) in zip(*seen, strict=True):
        assert a == b
        assert torch.equal(scores, others[0])
        assert torch.equal(weights, others[1])


def test_pooled_cells_keep_the_largest_weight_of_their_block(tiny_gpt2):
    ids = list(range(50))
    panel = heads.panel(tiny_gpt2, ids, torch.zeros(4, 4), size=10)
    weights = tiny_gpt2.run(ids, capture=[2]).attention[2].weights
    blocks = weights.reshape(4, 10, 5, 10, 5).amax((2, 4))  # [h, 10, 10]
    assert panel.pooled
    assert (panel.thumbnails[2].float() - (blocks.sqrt() * 255).round()).abs().max() <= 1


def test_an_open_mask_shows_in_the_upper_triangle(tiny_gpt2):
    panel = heads.panel(tiny_gpt2, list(range(20)), torch.zeros(4, 4), rule=MaskRule("none", frozenset({1})))
    upper = panel.thumbnails.triu(1).flatten(1).count_nonzero(1)
    assert [int(u) > 0 for u in upper] == [False, True, False, False]


def test_the_stages_of_one_head_follow_from_its_scores(tiny_gpt2):
    ids = list(range(9))
    kept = tiny_gpt2.run(ids, capture=[0]).attention[0]
    seen = torch.ones(9, 9, dtype=torch.bool).tril()
    scores, masked, weights = (heads.stage_of(kept, 2, stage) for stage in heads.STAGES)
    assert torch.equal(kept.seen, seen)
    assert torch.isfinite(scores).all()
    assert torch.equal(masked.isinf(), ~seen)
    assert (masked.softmax(-1) - weights).abs().max() <= 1e-6


def test_induction_heads_are_found_in_the_real_model(smollm2):
    scores = heads.induction_scores(smollm2)
    assert scores.shape == (30, 9)
    assert int((scores >= heads.BOUNDS["induction"]).sum()) >= 3
    # The head that scores highest really looks behind the earlier copy on tokens of another kind, too.
    layer, head = divmod(int(scores.argmax()), 9)
    ids = [1000 + 37 * k for k in range(16)] * 2
    weights = smollm2.run(ids, capture=[layer]).attention[layer].weights[head]
    rows = torch.arange(17, 32)
    assert weights[rows, rows - 15].mean() >= 0.3


def test_random_weights_hold_no_induction(tiny_gpt2):
    # About 40 tokens share the weight of each row.
    assert heads.induction_scores(tiny_gpt2).max() < heads.BOUNDS["induction"]
