"""Two small models on random tokens: only the one whose targets are not shifted can get below ln V."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch

from gptviz.lab.teaching import copying


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Operations this small only wait for one another when two threads share them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_only_the_copier_gets_below_the_entropy_of_chance(seed):
    *_, end = copying.race(seed=seed)
    assert math.exp(copying.FLOOR) == pytest.approx(16)
    honest = sum(end.shifted[-10:]) / 10
    copied = sum(end.unshifted[-10:]) / 10
    assert honest == pytest.approx(copying.FLOOR, abs=0.06)  # noise of 10 batches of 512 tokens
    assert copied < 0.05
    assert end.shifted[0] == pytest.approx(copying.FLOOR, abs=0.15)
    assert end.unshifted[0] == pytest.approx(copying.FLOOR, abs=0.15)


def test_a_seed_gives_one_run_and_leaves_the_random_state_alone():
    torch.manual_seed(5)
    first = list(copying.race(steps=3))
    after = torch.rand(1)
    torch.manual_seed(5)
    assert torch.rand(1) == after
    assert list(copying.race(steps=3)) == first
