"""Order without positions: a closed form for one layer, and stacks that tell."""

from __future__ import annotations

import pytest
import torch

from gptviz.decoder.errors import UserError
from gptviz.lab.looking.order import order

WORDS = ["the", "dog", "bit", "the", "man"]


@pytest.mark.parametrize("seed", range(5))
def test_one_layer_sees_a_set_and_a_stack_sees_an_order(seed):
    found = order(WORDS, seed=seed)
    assert [depth.layers for depth in found.depths] == [1, 2, 4]
    one, two, four = found.depths
    assert one.moved <= found.rounding  # float64
    assert two.moved > 1e-2
    assert four.moved > 1e-2
    assert all(depth.with_positions > 1e-2 for depth in found.depths)
    assert found.swapped == ["dog", "the", "bit", "the", "man"]


def test_the_swap_is_the_same_for_longer_texts():
    for length in (3, 9, 40):
        found = order([f"w{i}" for i in range(length)])
        assert found.depths[0].moved <= found.rounding
        assert found.depths[1].moved > 1e-3


def test_the_same_twice_and_no_trace_in_the_global_generator():
    before = torch.random.get_rng_state()
    assert order(WORDS) == order(WORDS)
    torch.manual_seed(5)
    assert order(WORDS) == order(WORDS, seed=0)
    torch.random.set_rng_state(before)


@pytest.mark.parametrize("words", [["a", "b"], ["a", "a", "b"]])
def test_nothing_to_swap_gets_one_sentence(words):
    with pytest.raises(UserError, match=r"at least 3|changes nothing"):
        order(words)
