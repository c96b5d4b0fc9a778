"""Which head is opened first, which one rests, and the pair of heads behind a repetition."""

from __future__ import annotations

import pytest
import torch

from gptviz.lab.looking import heads, induction, readable
from gptviz.lab.looking.heads import induction_scores

T = 12
ALL = torch.ones(T, dtype=torch.bool)


def even() -> torch.Tensor:
    return torch.ones(T, T).tril() / torch.arange(1, T + 1)[:, None]


def test_a_row_that_singles_out_one_token_wins_over_habits():
    looks, rests, steps = even(), torch.zeros(T, T), torch.zeros(T, T)
    looks[-1] = torch.full((T,), 0.02)
    looks[-1, 4] = 1 - 0.02 * (T - 1)
    rests[:4, 0], rests[4:, 4] = 1, 1  # every row after token 4 rests on it
    steps[0, 0], steps[torch.arange(1, T), torch.arange(T - 1)] = 1, 1
    found = readable.reading(torch.stack([looks, rests, steps]), ALL)
    assert int(found.singled.argmax()) == 0
    assert int(found.at[0]) == 4
    assert float(found.singled[0]) > 0.5
    assert float(found.singled[1]) <= 0.01


def test_a_head_that_always_reads_three_back_has_singled_nothing_out():
    back = torch.zeros(T, T)
    for t in range(T):
        back[t, max(0, t - 3)] = 1
    assert float(readable.reading(back[None], ALL).singled) <= 0.01


def test_only_the_rarer_words_count():
    shown = ["·the", "·cat", ",", "·sphinx", "·a"]
    assert readable.content([10, 500, 3, 9000, 7], shown).tolist() == [False, True, False, True, False]
    assert readable.content([3, 4], [",", "."]).tolist() == [True, True]


def test_a_column_all_later_rows_rest_on_is_a_kind_of_its_own():
    rests = torch.zeros(T, T)
    rests[:5, 0], rests[5:, 4] = 1, 1
    share, column = readable.resting(rests[None])
    assert (float(share), int(column)) == (1.0, 4)
    first = torch.zeros(T, T)
    first[:, 0] = 1
    assert float(readable.resting(first[None])[0]) == 0
    stat = heads._stat(
        0, 0, heads.measure(rests[None])[:, 0].tolist(), 0.0, T, readable.reading(rests[None], ALL).of(0)
    )
    assert stat.kind == "resting"
    assert stat.measure == 1.0


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_the_shortest_texts_have_a_reading(length):
    weights = torch.ones(length, length).tril() / torch.arange(1, length + 1)[:, None]
    found = readable.reading(weights[None], torch.ones(length, dtype=torch.bool))
    assert torch.isfinite(found.singled).all()
    assert 0 <= int(found.at[0]) < length


def test_the_two_names_open_on_a_name_in_the_real_model(smollm2):
    ids = smollm2.tokenizer.encode("When Mary and John went to the store, John gave a drink to")
    panel = heads.panel(smollm2, ids, induction_scores(smollm2))
    best = max(panel.stats, key=lambda stat: stat.singled)
    assert (best.layer, best.head) == (24, 4)
    assert smollm2.tokenizer.token(ids[best.reads]).shown == "·Mary"
    assert sum(stat.kind == "resting" for stat in panel.stats) >= 10


def test_two_heads_continue_a_repetition_and_the_second_fails_without_the_first(nano):
    ids = nano.tokenizer.encode("The quick brown fox met a lazy dog. The quick brown fox")
    found = induction.pair(nano, ids)
    assert found is not None
    assert nano.tokenizer.token(ids[found.target]).shown == "·met"
    run = nano.run(ids, capture=range(4))
    layer, head = found.induction
    assert found.weight == pytest.approx(float(run.attention[layer].weights[head, -1, found.target]), abs=1e-5)
    assert found.previous is not None
    earlier, one = found.previous
    assert earlier < layer
    assert found.passed == pytest.approx(float(run.attention[earlier].weights[one, found.target, found.copy]), abs=1e-5)
    assert found.without < 0.1 * found.weight


def test_no_repetition_no_pair(nano):
    assert induction.pair(nano, nano.tokenizer.encode("One two three")) is None
    assert induction.pair(nano, nano.tokenizer.encode("Hello")) is None
