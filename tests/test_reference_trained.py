"""What the lessons teach of small models trained well and badly, each claim by training them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gptviz.decoder import gpt
from gptviz.lab.teaching import grammar


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Operations this small only wait for one another when two threads share them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def trained() -> dict[str, tuple[float, nn.Module]]:
    """Last training loss of small models on the grammar's sentences: causal, open, wrong way, and not shifted."""
    return {kind: train(kind) for kind in ("causal", "none", "wrong_way", "unshifted")}


def train(kind: str, steps: int = 150) -> tuple[float, nn.Module]:
    torch.manual_seed(0)
    data, draws = grammar.Sentences(), torch.Generator().manual_seed(0)
    mask = "causal" if kind == "unshifted" else kind
    model = gpt.LongGPT(gpt.Config(len(grammar.WORDS), grammar.LENGTH, width=32, heads=4, layers=2), mask)
    for p in model.parameters():
        if p.dim() == 2:
            nn.init.normal_(p, 0.0, 0.05)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=steps)
    last = []
    for _ in range(steps):
        rows = data.draw(32, draws)
        inputs, targets = rows[:, :-1], rows[:, :-1] if kind == "unshifted" else rows[:, 1:]
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.step()
        last.append(float(loss.detach()))
    return sum(last[-10:]) / 10, model.eval()


def next_token_loss(model: nn.Module) -> float:
    """The loss when writing: only the text so far exists, and the last position's prediction is used."""
    data = grammar.Sentences()
    rows = data.draw(64, torch.Generator().manual_seed(1))
    with torch.no_grad():
        return sum(
            float(F.cross_entropy(model(rows[:, :t])[:, -1], rows[:, t])) for t in range(1, grammar.LENGTH + 1)
        ) / grammar.LENGTH  # fmt: skip


def test_3_the_missing_mask_is_silent_in_training(trained):
    assert trained["causal"][0] > grammar.FLOOR - 0.03  # what an honest model has to pay
    assert trained["none"][0] < grammar.FLOOR / 2


def test_3_the_missing_mask_is_fatal_afterwards(trained):
    assert next_token_loss(trained["causal"][1]) < grammar.FLOOR + 0.2
    assert next_token_loss(trained["none"][1]) > grammar.FLOOR + 0.3


def test_5_targets_that_are_not_shifted_teach_copying(trained):
    assert trained["unshifted"][0] < 0.05
    assert next_token_loss(trained["unshifted"][1]) > grammar.FLOOR + 2


def test_5_the_wrong_way_mask_drives_the_training_loss_below_the_floor(trained):
    assert trained["wrong_way"][0] < grammar.FLOOR / 2
    assert next_token_loss(trained["wrong_way"][1]) > grammar.FLOOR + 1
