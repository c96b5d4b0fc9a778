"""The live equality check of the two readable implementations, on checkpoints that it must and must not accept."""

from __future__ import annotations

import pytest
import torch

from gptviz.decoder.errors import UserError
from gptviz.lab.looking import twice

IDS = [(37 * i + 11) % 50257 for i in range(12)]


def test_both_equal_the_loaded_model(tiny_gpt2):
    shown = twice.equality(tiny_gpt2, IDS)
    assert max(shown.short_library, shown.long_library, shown.short_long) <= 1e-4
    assert shown.same_choices
    assert (shown.tokens, shown.dtype) == (12, "float32")
    assert set(shown.parameters.values()) == {tiny_gpt2.shape.parameters}


def test_the_check_would_notice_another_model(tiny_gpt2, monkeypatch):
    original = twice.pair

    def broken(decoder):
        short, long = original(decoder)
        with torch.no_grad():
            long.h[1].ln_1.weight = torch.nn.Parameter(long.h[1].ln_1.weight + 0.5)
        return short, long

    monkeypatch.setattr(twice, "pair", broken)
    shown = twice.equality(tiny_gpt2, IDS)
    assert shown.long_library > 0.01
    assert shown.short_library <= 1e-4


def test_the_pair_shares_the_tables_memory(tiny_gpt2):
    short, long = twice.pair(tiny_gpt2)
    table = tiny_gpt2.model.transformer.wte.weight.data_ptr()
    assert short.wte.weight.data_ptr() == long.wte.weight.data_ptr() == long.lm_head.weight.data_ptr() == table


def test_a_llama_is_refused(tiny_llama):
    assert not twice.fits(tiny_llama)
    with pytest.raises(UserError, match="is no GPT-2"):
        twice.equality(tiny_llama, IDS)


def test_the_sources_are_the_code_that_runs():
    shown = twice.sources()
    assert shown["short"].startswith("class ShortGPT")
    for part in ("class LongGPT", "class Block", "class Attention", "class FeedForward"):
        assert part in shown["long"]
    for code in shown.values():
        compile(code, "shown", "exec")
