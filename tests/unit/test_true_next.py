"""What a mask is worth to the guesses, against the library's own model with a mask written by hand."""

from __future__ import annotations

import copy

import pytest
import torch

from gptviz.decoder.attention import MaskRule, allowed, turned
from gptviz.lab.masking import leak, movement

SENTENCE = "The cat that the dog saw sat on the old red mat"


@pytest.fixture(params=["tiny_gpt2", "tiny_llama", "nano"])
def decoder(request):
    return request.getfixturevalue(request.param)


def stock(decoder, ids: list[int], seen: torch.Tensor) -> torch.Tensor:
    """The probability of each true next token [T-1] by the library's plain attention under the mask `seen` [T, T]."""
    model = copy.deepcopy(decoder.model)
    model.set_attn_implementation("eager")
    mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)[None, None]  # [1, 1, T, T]
    with torch.inference_mode():
        logits = model(torch.tensor([ids]), attention_mask=mask, use_cache=False).logits[0]  # [T, V]
    chances = logits[:-1].double().softmax(-1)
    return chances.gather(-1, torch.tensor(ids[1:])[:, None])[:, 0]


@pytest.mark.parametrize("pattern", ["causal", "none", "wrong_way", "blocks"])
def test_the_true_tokens_have_the_stock_models_probability(decoder, pattern):
    ids = decoder.tokenizer.encode(SENTENCE)[:12]
    mine = leak.true_next(decoder, ids, MaskRule(pattern)).changed
    assert mine.shape == (11,)
    assert torch.allclose(mine, stock(decoder, ids, allowed(pattern, 12, 12)), rtol=2e-4, atol=1e-9)


def test_both_masks_are_compared_and_the_rises_counted(decoder):
    ids = decoder.tokenizer.encode(SENTENCE)[:12]
    found = leak.true_next(decoder, ids, MaskRule("none"))
    closed, opened = stock(decoder, ids, allowed("causal", 12, 12)), stock(decoder, ids, allowed("none", 12, 12))
    assert found.rises == int((opened > closed).sum())
    assert (found.loss_causal, found.loss_changed) == pytest.approx(
        (float(-closed.log().mean()), float(-opened.log().mean())), rel=1e-4
    )


def test_blocks_read_ahead_inside_their_four_tokens_only():
    seen = allowed("blocks", 6, 6)
    rows = ["".join(str(int(x)) for x in row) for row in seen.tolist()]
    assert rows == ["111100", "111100", "111100", "111100", "111111", "111111"]
    window = torch.ones(6, 6).tril().triu(-1).bool()  # a layer that reads the last two tokens
    assert torch.equal(turned(window, "blocks"), window | (window.T & seen))


def test_a_guess_moves_by_exactly_nothing_or_by_the_share_that_went_elsewhere():
    same = torch.tensor([[1.0, 2.0, 3.0], [0.5, 0.0, 0.0]])
    still = movement.between(same, same.clone())
    assert still.moved.tolist() == [0.0, 0.0]
    assert still.expected.tolist() == [2, 0]
    assert torch.equal(still.before, still.after)
    first = torch.tensor([[0.7, 0.2, 0.1]]).log()
    second = torch.tensor([[0.4, 0.2, 0.4]]).log()
    found = movement.between(first.repeat(100, 1), second.repeat(100, 1))  # more rows than are held at once
    assert found.moved.tolist() == pytest.approx([0.3] * 100)
    assert found.before.tolist() == pytest.approx([0.7] * 100)
    assert found.after.tolist() == pytest.approx([0.4] * 100)
