"""The race: counted against what the model really ran, and cached against uncached."""

from __future__ import annotations

import copy
import itertools
import math
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.cache import GrowingLayer
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Underway
from gptviz.lab.writing.cache_work import MAX_NEW_TOKENS, Disagreements, Race
from gptviz.lab.writing.work import Meter, Work, positions
from gptviz.service.wire import as_json

IDS = [(37 * i + 11) % 50257 for i in range(20)]


def run(decoder: Decoder, ids, new_tokens: int) -> Race:
    race = Race(decoder, ids, new_tokens)
    for _ in race:
        pass
    return race


@pytest.fixture(params=["nano", "tiny_gpt2", "tiny_llama"])
def decoder(request) -> Decoder:
    return request.getfixturevalue(request.param)


class Counted(TorchFunctionMode):
    """Positions that pass the first block's first norm, seen from outside: one entry a forward pass."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.weight, self.seen = decoder.layers[0].ln_1.weight.data_ptr(), []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is F.layer_norm:
            weight = (kwargs or {}).get("weight", args[2] if len(args) > 2 else None)
            if weight.data_ptr() == self.weight:
                self.seen.append(args[0].numel() // args[0].shape[-1])
        return func(*args, **(kwargs or {}))


def test_the_course_example_is_390_against_29(tiny_gpt2):
    race = run(tiny_gpt2, IDS[:10], 20)
    assert as_json(race.bill())["positions"] == {"cached": 29, "uncached": 390}


@pytest.fixture(scope="module")
def smallest() -> Decoder:
    """A model that costs next to nothing, for many runs."""
    torch.manual_seed(0)
    config = GPT2Config(n_layer=2, n_head=2, n_embd=8, n_positions=32, vocab_size=50, bos_token_id=0, eos_token_id=0)
    return Decoder.from_model(GPT2LMHeadModel(config), None)


@settings(max_examples=30, deadline=None)
@given(prompt=st.integers(1, 31), new=st.integers(1, 31))
def test_counts_are_exact_for_every_prompt_and_length(smallest, prompt, new):
    new = min(new, 32 - prompt)
    assert smallest.fast is not None  # made and checked before the count
    with Counted(smallest) as counted:
        race = run(smallest, [i % 50 for i in range(prompt)], new)
    slow, fast = sum(counted.seen[0::2]), sum(counted.seen[1::2])  # the lanes take turns
    assert slow == positions(prompt, new, cached=False) == sum(prompt + i for i in range(new))
    assert fast == positions(prompt, new, cached=True) == prompt + new - 1
    assert race.total["uncached"].positions == slow
    assert race.total["cached"].positions == fast
    layers = smallest.shape.layers
    assert race.total["uncached"].rows_computed == layers * slow
    assert race.total["cached"].rows_computed == layers * fast
    assert race.total["cached"].rows_reused == layers * sum(prompt + i for i in range(new - 1))
    assert race.total["uncached"].rows_reused == 0


@given(prompt=st.integers(1, 10**6), new=st.integers(0, 400))
def test_closed_forms_equal_the_sums(prompt, new):
    assert positions(prompt, new, cached=False) == sum(prompt + i for i in range(new))
    assert positions(prompt, new, cached=True) == sum(prompt if i == 0 else 1 for i in range(new))


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama"])
@pytest.mark.parametrize(("past", "fresh"), [(0, 12), (0, 1), (11, 1), (7, 5)])
def test_flops_equal_torchs_own_counter(request, name, past, fresh):
    """torch counts every matrix product it runs; attention is counted there as the full rectangle."""
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import DynamicCache

    decoder = request.getfixturevalue(name)
    model = copy.deepcopy(decoder.model)
    model.set_attn_implementation("eager")
    cache = DynamicCache()
    ids = torch.tensor([IDS[: past + fresh]])
    with torch.no_grad():
        if past:
            model(ids[:, :past], cache=cache, use_cache=True)
        with FlopCounterMode(display=False) as counter:
            model(ids[:, past:], cache=cache, use_cache=True, logits_to_keep=1)
    rectangle = fresh * (past + fresh)
    triangle = fresh * past + fresh * (fresh + 1) // 2
    meter = Meter(decoder)
    skipped = meter.pairs(0, 1) * (rectangle - triangle)
    rotary = 0 if name == "tiny_gpt2" else counter.get_total_flops() - (meter.step(past, fresh).flops + skipped)
    assert meter.step(past, fresh).flops + skipped + rotary == counter.get_total_flops()
    assert 0 <= rotary <= 4 * fresh * decoder.shape.head_width  # the angles: position × frequency


def test_bytes_are_the_tensors_bytes(decoder):
    """The weights a decode step reads are all parameters but the unused table rows; the cache is added row by row."""
    meter, shape = Meter(decoder), decoder.shape
    model = decoder.model
    tables = [m.weight for m in model.modules() if isinstance(m, torch.nn.Embedding)]
    parameters = sum(p.numel() for p in model.parameters()) - sum(t.numel() for t in tables)
    head = shape.vocabulary * shape.width if shape.tied else 0  # a tied table is read, as the head
    assert meter.weight_bytes == 4 * (parameters + head)
    one, two = meter.step(10, 1), meter.step(11, 1)
    assert two.bytes - one.bytes == meter.token_bytes == 2 * shape.layers * shape.kv_heads * shape.head_width * 4


def test_work_adds_up():
    assert Work(1, 2, 3, 4, 5) + Work(10, 20, 30, 40, 50) == Work(11, 22, 33, 44, 55)


def test_both_lanes_write_the_same_text_and_the_cache_weighs_its_formula(decoder):
    race = run(decoder, [i % decoder.shape.vocabulary for i in IDS[:8]], 40)
    assert race.max_delta <= 1e-4
    assert all(step.agrees for step in race.steps)
    for step in race.steps:
        assert step.cache_bytes == step.formula_bytes
    assert race.steps[-1].cache_bytes == 47 * race.meter.token_bytes
    assert math.isclose(sum(s.cached.seconds for s in race.steps), race.seconds["cached"])


def test_the_real_model_agrees_over_64_steps(smollm2):
    """One pass over the whole text holds the uncached logits of all 64 steps."""
    prompt = smollm2.tokenizer.encode("The capital of France is")
    steps = list(smollm2.stream(prompt, lambda logits: int(logits.argmax()), max_new_tokens=64))
    uncached = smollm2.run([*prompt, *(s.id for s in steps)]).logits[len(prompt) - 1 : -1]  # [64, V]
    assert max((s.logits - u).abs().max() for s, u in zip(steps, uncached, strict=True)) <= 1e-3
    assert [s.id for s in steps] == uncached.argmax(-1).tolist()
    shape = smollm2.shape
    per_token = 2 * shape.layers * shape.kv_heads * shape.head_width * 4
    assert [s.cache_bytes for s in steps] == [per_token * (len(prompt) + i) for i in range(64)]


def test_the_real_model_races(smollm2):
    race = run(smollm2, smollm2.tokenizer.encode("The capital of France is"), 4)
    assert race.max_delta <= 1e-3
    assert as_json(race.bill())["same_tokens"]
    assert "Paris" in smollm2.tokenizer.decode([race.steps[0].id])


def test_the_text_is_the_librarys_greedy_text(decoder):
    ids = [i % decoder.shape.vocabulary for i in IDS[:8]]
    race = run(decoder, ids, 16)
    model = copy.deepcopy(decoder.model)
    model.set_attn_implementation("sdpa")
    written = model.generate(torch.tensor([ids]), max_new_tokens=16, do_sample=False, pad_token_id=0, eos_token_id=None)
    assert [step.id for step in race.steps] == written[0, 8:].tolist()


def test_a_difference_is_reported_not_hidden(tiny_gpt2, monkeypatch):
    """A cache that is wrong in one layer shows as a logit difference, and where it matters as a disagreement."""
    update = GrowingLayer.update
    calls = itertools.count()

    def spoil(layer, key_states, value_states, *args, **kwargs):
        keys, values = update(layer, key_states, value_states, *args, **kwargs)
        if next(calls) % tiny_gpt2.shape.layers == 1:
            values[:, :, :-1].mul_(-3.0)
        return keys, values

    assert tiny_gpt2.fast is not None
    monkeypatch.setattr(GrowingLayer, "update", spoil)
    race = run(tiny_gpt2, IDS[:6], 12)
    answer = as_json(race.bill())
    assert answer["max_logit_delta"] > 1e-1
    assert not answer["same_tokens"]


def test_bfloat16_shows_its_larger_difference(tiny_gpt2):
    half = Decoder.from_model(copy.deepcopy(tiny_gpt2.model).bfloat16(), tiny_gpt2.tokenizer)
    race = run(half, IDS[:8], 16)
    answer = as_json(race.bill())
    assert answer["dtype"] == "bfloat16"
    assert answer["cache_bytes"]["measured"] == answer["cache_bytes"]["formula"]
    assert answer["cache_bytes"]["per_token"] * 2 == Meter(tiny_gpt2).token_bytes
    assert answer["max_logit_delta"] > run(tiny_gpt2, IDS[:8], 16).max_delta


def test_the_race_stops_at_the_end_of_the_context(tiny_gpt2):
    race = run(tiny_gpt2, (IDS * 4)[:60], 50)
    answer = as_json(race.bill())
    assert (answer["new_tokens"], answer["asked"], answer["stop"]) == (4, 50, "context")
    assert answer["positions"] == {"cached": 63, "uncached": 60 + 61 + 62 + 63}
    exact = run(tiny_gpt2, (IDS * 4)[:60], 4)
    assert as_json(exact.bill())["stop"] == "length"
    with pytest.raises(UserError, match="fills the context"):
        Race(tiny_gpt2, (IDS * 4)[:64], 1)


def test_stopping_early_leaves_a_partial_answer(tiny_gpt2):
    race = Race(tiny_gpt2, IDS, 30)
    running = iter(race)
    while len(race.steps) < 3:
        next(running)
    running.close()
    answer = as_json(race.bill())
    assert (answer["new_tokens"], answer["stop"]) == (3, "")


def test_a_long_step_can_be_stopped_in_the_middle(tiny_gpt2, monkeypatch):
    """With no patience at all there is a pause after every block, and the answer stays the same."""
    whole = as_json(run(tiny_gpt2, IDS, 4).bill())
    monkeypatch.setattr("gptviz.lab.writing.cache_work.PAUSE_S", 0.0)
    race = Race(tiny_gpt2, IDS, 4)
    between: list[int] = [0]
    for state in race:
        if len(state.steps) == len(between) - 1:
            between[-1] += 1
        else:
            between.append(0)
    layers = tiny_gpt2.shape.layers
    assert between == [2 * layers + 1] * 4 + [1]  # the last one says how the lanes compare
    paused = as_json(race.bill())
    assert paused["tokens"] == whole["tokens"]
    assert paused["max_logit_delta"] == whole["max_logit_delta"]


def test_the_clock_stands_still_between_the_pieces(tiny_gpt2):
    total = 0.0
    for step in tiny_gpt2.stream_in_pieces(IDS, lambda logits: 5, max_new_tokens=2, every=0.0):
        if isinstance(step, Underway):
            time.sleep(0.05)
        else:
            total += step.seconds
    assert total < 0.05 * tiny_gpt2.shape.layers


@pytest.mark.parametrize("new_tokens", [0, -1, MAX_NEW_TOKENS + 1, 2.5, True, "20"])
def test_bad_lengths_get_one_sentence(tiny_gpt2, new_tokens):
    with pytest.raises(UserError, match=r"new_tokens is .*; it must be"):
        Race(tiny_gpt2, IDS, new_tokens)


def test_the_answer_has_the_documented_fields_and_finite_numbers(decoder):
    import json

    answer = as_json(run(decoder, [i % decoder.shape.vocabulary for i in IDS[:5]], 3).bill())
    json.dumps(answer, allow_nan=False)
    documented = {
        "prompt_tokens", "new_tokens", "positions", "flops", "seconds", "cache_bytes", "same_tokens",
        "max_logit_delta", "dtype", "steps",
    }  # fmt: skip
    assert documented <= set(answer)
    assert set(answer["flops"]) == set(answer["seconds"]) == {"cached", "uncached"}
    assert len(answer["steps"]) == 3
    assert answer["flops"]["cached"] == sum(step["flops"]["cached"] for step in answer["steps"])


# Choices that differ


def test_choices_closer_than_the_rounding_are_called_so_only_when_that_was_measured(tiny_gpt2):
    """Two equal candidates, decided by the last bit: the two lanes may differ, and rounding explains it."""
    found = Disagreements(steps=[3], delta=2e-6, gap=1e-6, rounding=1e-6)
    assert found.explained
    assert not Disagreements(steps=[3], delta=2e-6, gap=5e-6, rounding=1e-6).explained
    assert not Disagreements(steps=[3], delta=1e-3, gap=1e-6, rounding=1e-6).explained
    assert run(tiny_gpt2, IDS[:6], 12).differ is None


def test_a_cache_that_is_wrong_is_not_explained_by_rounding(tiny_gpt2, monkeypatch):
    update = GrowingLayer.update

    def spoil(layer, *args, **kwargs):
        keys, values = update(layer, *args, **kwargs)
        values[:, :, :-1].mul_(-3.0)
        return keys, values

    assert tiny_gpt2.fast is not None
    monkeypatch.setattr(GrowingLayer, "update", spoil)
    race = run(tiny_gpt2, IDS[:6], 12)
    found = race.differ
    assert found is not None
    assert not found.explained
    assert found.steps == [step.index for step in race.steps if not step.agrees]
    text = [*IDS[:6], *(step.id for step in race.steps)]
    whole = tiny_gpt2.run(text[:-1]).logits
    first = found.steps[0]
    assert found.rounding <= 1e-4
    assert found.gap >= float(whole[5 + first].max() - whole[5 + first][race.steps[first].cached.id]) - 1e-4
    assert as_json(race.bill())["differ"]["explained"] is False
