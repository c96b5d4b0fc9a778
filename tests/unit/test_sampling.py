"""Sampling against the library's own logits processors, closed forms and plain loops."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from transformers import (
    GenerationConfig,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from gptviz.decoder.errors import UserError
from gptviz.lab.writing import sampling
from gptviz.lab.writing.order import likeliest_first
from gptviz.lab.writing.sampling import Settings, stages

INF = math.inf
NAN = math.nan


def random_logits(seed, V=500, spread=4.0):
    return torch.randn(V, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * spread


def library(logits, temperature=1.0, top_k=0, top_p=1.0):
    """The library's processors in the order generate() builds them, fed float64."""
    scores = logits.double()[None]
    if temperature != 1:
        scores = TemperatureLogitsWarper(temperature)(None, scores)
    if top_k:
        scores = TopKLogitsWarper(top_k)(None, scores)
    if top_p < 1:
        scores = TopPLogitsWarper(top_p)(None, scores)
    return scores[0].softmax(-1)


@hypothesis_settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    temperature=st.floats(0.05, 20),
    top_k=st.integers(0, 600),
    top_p=st.floats(0.0, 1.0),
)
def test_equals_the_library(seed, temperature, top_k, top_p):
    logits = random_logits(seed)
    ours = stages(logits, Settings(temperature, top_k, top_p))
    theirs = library(logits, temperature, top_k, top_p)
    assert torch.allclose(ours.final, theirs, atol=1e-12)
    assert torch.equal(ours.final > 0, theirs > 0)
    for p in (ours.raw, ours.tempered, ours.final):
        assert abs(float(p.sum()) - 1) < 1e-12


def by_generate(model, past, logits, **options):
    """The processors that generate() itself builds for these options, in its own order, fed float64."""
    config = GenerationConfig(do_sample=True, **{"top_k": 0} | options)
    processors = model._get_logits_processor(config, input_ids_seq_length=len(past))
    names = [type(each).__name__ for each in processors]
    return processors(torch.tensor([past]), logits.double()[None])[0].softmax(-1), names


@hypothesis_settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    temperature=st.floats(0.05, 20),
    top_k=st.integers(0, 600),
    top_p=st.floats(0.01, 1.0),
    min_p=st.floats(0.0, 1.0),
    penalty=st.floats(0.1, 5.0),
    past=st.lists(st.integers(0, 499), min_size=1, max_size=40),
)
def test_min_p_and_the_penalty_equal_the_library(tiny_gpt2, seed, temperature, top_k, top_p, min_p, penalty, past):
    logits = random_logits(seed)
    settings = Settings(temperature, top_k, top_p, min_p=min_p, repetition_penalty=penalty)
    ours = stages(logits, settings, past)
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
    theirs, _ = by_generate(tiny_gpt2.model, past, logits, repetition_penalty=penalty, **options)
    assert torch.allclose(ours.final, theirs, atol=1e-12)
    assert torch.equal(ours.final > 0, theirs > 0)
    assert torch.equal(ours.raw, stages(logits, Settings()).raw)


def test_the_rules_are_told_in_the_librarys_order(tiny_gpt2):
    settings = Settings(0.7, 40, 0.9, min_p=0.1, repetition_penalty=1.2)
    options = {"temperature": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.1, "repetition_penalty": 1.2}
    _, names = by_generate(tiny_gpt2.model, [1, 2], random_logits(0), **options)
    short = [name.removesuffix("LogitsWarper").removesuffix("LogitsProcessor") for name in names]
    assert settings.rules == ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"]
    assert [rule.replace("_", "") for rule in settings.rules] == [name.lower() for name in short]
    assert Settings(0.7, 40, 0.9, True).rules == ["top_p", "temperature", "top_k"]
    assert Settings().rules == []


def test_a_token_is_penalised_once_however_often_it_stands_there():
    logits = torch.tensor([2.0, -2.0, 1.0, -INF])
    once = stages(logits, Settings(repetition_penalty=2.0), [0, 1])
    often = stages(logits, Settings(repetition_penalty=2.0), [0, 1, 0, 1, 1, 3])
    assert torch.equal(once.final, often.final)
    assert torch.allclose(once.final, torch.tensor([1.0, -4.0, 1.0, -INF], dtype=torch.float64).softmax(-1))
    assert once.kept_ids() == [0, 2, 1]


def test_a_whole_vocabulary_in_float32():
    logits = random_logits(1, V=50257).float()
    for settings in (Settings(), Settings(0.7, 40, 0.9), Settings(2.0, 0, 0.95), Settings(1.0, 50257)):
        theirs = library(logits, settings.temperature, settings.top_k, settings.top_p)
        assert torch.allclose(stages(logits, settings).final, theirs, atol=1e-12)


def test_temperature_zero_is_one_bar():
    logits = torch.tensor([1.0, 3.0, 3.0, 2.0])
    result = stages(logits, Settings(temperature=0))
    assert result.final.tolist() == [0, 1, 0, 0]  # of equal logits the lowest id, as argmax has it
    assert result.kept_ids() == [1]
    assert sampling.entropy(result.final) == 0
    assert sampling.greedy(logits) == 1


@pytest.mark.parametrize("temperature", [1e-320, 1e-6, 100.0, 1e300])
def test_extreme_temperatures_stay_finite(temperature):
    logits = torch.tensor([50.0, -3.0, 49.0, -INF, 8.0])
    result = stages(logits, Settings(temperature))
    assert torch.isfinite(result.final).all()
    assert abs(float(result.final.sum()) - 1) < 1e-12
    assert result.final[3] == 0
    if temperature < 1:
        assert result.final[0] == 1
    else:  # flat over the four possible tokens, up to the first order in 1/T
        assert torch.allclose(result.final[logits > -INF], torch.full((4,), 0.25, dtype=torch.float64), atol=0.2)


@pytest.mark.parametrize(("top_k", "kept"), [(0, 6), (1, 1), (2, 3), (3, 3), (4, 4), (6, 6), (7, 6), (10**9, 6)])
def test_ties_at_k_are_all_kept(top_k, kept):
    logits = torch.tensor([0.0, 5.0, 4.0, 4.0, 3.0, -1.0])
    result = stages(logits, Settings(top_k=top_k))
    assert len(result.kept_ids()) == kept == int(result.kept.sum())
    if top_k:
        assert torch.equal(result.final > 0, library(logits, top_k=top_k) > 0)


@pytest.mark.parametrize(
    ("top_p", "kept"), [(0, [1]), (1e-8, [1]), (0.5, [1]), (0.51, [1, 0]), (0.99, [1, 0, 2, 3]), (1, [1, 0, 2, 3])]
)
def test_top_p_keeps_the_smallest_set(top_p, kept):
    logits = torch.tensor([0.25, 0.5, 0.125, 0.125], dtype=torch.float64).log()
    assert stages(logits, Settings(top_p=top_p)).kept_ids() == kept


def test_top_p_of_equal_tokens_takes_low_ids_first():
    assert stages(torch.zeros(8), Settings(top_p=0.375)).kept_ids() == [0, 1, 2]


def test_impossible_tokens_are_never_kept():
    logits = torch.tensor([-INF, 1.0, -INF, 2.0])
    for settings in (Settings(), Settings(top_k=3), Settings(5.0, 4, 0.999), Settings(0)):
        result = stages(logits, settings)
        assert result.final[0] == result.final[2] == 0
        assert set(result.kept_ids()) <= {1, 3}


@pytest.mark.parametrize("bad", [[NAN, 1.0], [INF, 1.0], [-INF, -INF]])
def test_broken_logits_are_refused(bad):
    with pytest.raises(UserError, match="logit"):
        stages(torch.tensor(bad), Settings())


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"temperature": -0.1}, "temperature is −0.1"),
        ({"temperature": NAN}, "temperature is not a number"),
        ({"temperature": INF}, "temperature is ∞"),
        ({"temperature": "1"}, 'temperature is "1"'),
        ({"top_k": -1}, "top_k is −1"),
        ({"top_k": 1.5}, "top_k is 1.5"),
        ({"top_k": NAN}, "top_k is not a number"),
        ({"top_k": INF}, "top_k is ∞"),
        ({"top_p": NAN}, "top_p is not a number"),
        ({"top_p": -0.01}, "top_p is −0.01"),
        ({"top_p": 1.01}, "top_p is 1.01"),
        ({"top_p": None}, "top_p is None"),
        ({"min_p": -0.1}, "min_p is .0.1"),
        ({"min_p": 1.1}, "min_p is 1.1"),
        ({"min_p": NAN}, "min_p is"),
        ({"repetition_penalty": 0}, "repetition_penalty is 0"),
        ({"repetition_penalty": -1}, "repetition_penalty is"),
        ({"repetition_penalty": INF}, "repetition_penalty is"),
    ],
)
def test_bad_settings_name_the_value(values, match):
    with pytest.raises(UserError, match=match):
        Settings(**values)


def test_entropy_has_its_closed_forms():
    flat = stages(torch.zeros(50257), Settings())
    assert sampling.entropy(flat.final) == pytest.approx(math.log(50257), abs=1e-9)
    half = stages(torch.tensor([2.0, 2.0, -INF]), Settings())
    assert math.exp(sampling.entropy(half.final)) == pytest.approx(2, abs=1e-12)
    logits = random_logits(5)
    p = logits.softmax(-1)
    assert sampling.entropy(stages(logits, Settings()).raw) == pytest.approx(
        -sum(v * math.log(v) for v in p.tolist()), abs=1e-12
    )


def test_entropy_rises_with_temperature():
    curve = sampling.entropy_curve(random_logits(6), [0, 1e-6, 0.5, 1, 2, 5, 100])
    assert curve[0] == 0
    assert curve == sorted(curve)
    assert curve[-1] < math.log(500)


def test_bars_and_the_tail():
    logits = random_logits(7)
    result = stages(logits, Settings(1.7, top_k=3))
    bars, tail = sampling.bars(result, 20)
    theirs = (logits / 1.7).softmax(-1).sort(descending=True)
    assert [bar.id for bar in bars] == theirs.indices[:20].tolist()
    assert tail == pytest.approx(float(theirs.values[20:].sum()), abs=1e-12)
    assert [bar.kept for bar in bars] == [True] * 3 + [False] * 17
    assert sampling.bars(result, 500)[1] == 0
    for count in (0, 501):
        with pytest.raises(UserError, match=f"count is {count}"):
            sampling.bars(result, count)


def test_the_order_matters():
    """A flat temperature before top-p widens the kept set; after it, the set is the model's own."""
    logits = torch.tensor([0.6, 0.3, 0.06, 0.03, 0.01], dtype=torch.float64).log()
    late = stages(logits, Settings(3.0, top_p=0.85))
    early = stages(logits, Settings(3.0, top_p=0.85, top_p_first=True))
    assert early.kept_ids() == [0, 1]
    assert late.kept_ids() == [0, 1, 2, 3]
    assert torch.allclose(early.final[:2], (logits[:2] / 3).softmax(-1))
    cold = Settings(0.3, top_p=0.85), Settings(0.3, top_p=0.85, top_p_first=True)
    assert [len(stages(logits, s).kept_ids()) for s in cold] == [1, 2]


# Draws


def test_mulberry32_is_the_published_one():
    """The first numbers of seed 0 and 1 as the reference implementation (32-bit C arithmetic) gives them."""

    def reference(seed, n):
        out, a = [], seed
        for _ in range(n):
            a = (a + 0x6D2B79F5) % 2**32
            t = (a ^ a >> 15) * (a | 1) % 2**32
            t = t ^ (t + (t ^ t >> 7) * (t | 61)) % 2**32
            out.append(t ^ t >> 14)
        return out

    for seed in (0, 1, 2**32 - 1):
        words = reference(seed, 6)
        expected = [((a >> 5) * 2**26 + (b >> 6)) / 2**53 for a, b in zip(words[::2], words[1::2], strict=True)]
        assert [sampling.uniform(seed, i) for i in range(3)] == expected


def test_draws_follow_the_distribution():
    result = stages(random_logits(8, V=50), Settings(1.3, top_k=12))
    drawn = sampling.draws(result, seed=3, n=20_000)
    assert set(drawn) <= set(result.kept_ids())
    share = torch.bincount(torch.tensor(drawn), minlength=50).double() / 20_000
    sigma = (result.final * (1 - result.final) / 20_000).sqrt()
    assert ((share - result.final).abs() <= 5 * sigma).all()
    assert sampling.chi_square(result, drawn).p_value > 1e-3
    assert drawn == sampling.draws(result, seed=3, n=20_000)
    assert drawn[:100] != sampling.draws(result, seed=4, n=100)
    assert sampling.draw(result, 3, 41) == drawn[41]


def test_chi_square_sees_a_wrong_distribution():
    logits = random_logits(9, V=50)
    right, wrong = stages(logits, Settings(1.0)), stages(logits, Settings(1.5))
    assert sampling.chi_square(right, sampling.draws(wrong, 0, 5000)).p_value < 1e-6


def test_chi_square_has_its_closed_form():
    """A fair coin thrown 100 times, 60 heads: 4.0 with one degree of freedom, p = erfc(√2)."""
    result = stages(torch.zeros(2), Settings())
    found = sampling.chi_square(result, [0] * 60 + [1] * 40)
    assert (found.statistic, found.freedom) == (4.0, 1)
    assert found.p_value == pytest.approx(math.erfc(math.sqrt(2)), abs=1e-12)
    assert sampling.chi_square(stages(torch.zeros(2), Settings(0)), [0] * 10).freedom == 0


def test_chi_square_p_values_are_uniform_under_theory():
    result = stages(random_logits(10, V=200, spread=2), Settings())
    p = [sampling.chi_square(result, sampling.draws(result, seed, 1000)).p_value for seed in range(200)]
    assert 0.4 < sum(p) / len(p) < 0.6
    assert sum(v < 0.05 for v in p) < 25


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, NAN, INF, "a"])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(UserError, match="seed is"):
        sampling.sampler(Settings(), seed)


def test_a_sampler_resumes_where_it_was():
    logits = [random_logits(i) for i in range(10)]
    choose = sampling.sampler(Settings(1.2), 5)
    story = [choose(z) for z in logits]
    later = sampling.sampler(Settings(1.2), 5, start=6)
    assert [later(z) for z in logits[6:]] == story[6:]


@pytest.mark.parametrize("kind", ["random", "ties", "signs", "impossible", "double", "one"])
def test_the_order_is_that_of_a_stable_sort(kind):
    torch.manual_seed(0)
    z = {
        "random": torch.randn(50_257).mul(4).double(),
        "ties": torch.randint(-3, 3, (5_000,)).double() / 2,
        "signs": torch.tensor([0.0, -0.0, 1e-45, -1e-45, 0.0, -1.0, 3e38, -3e38, -0.0]).double(),
        "impossible": torch.tensor([-math.inf, 1.0, -math.inf, -5.0, 1.0]).double(),
        "double": torch.randn(5_000, dtype=torch.float64) / 3,
        "one": torch.tensor([2.5]).double(),
    }[kind]
    assert torch.equal(likeliest_first(z), torch.sort(z, descending=True, stable=True).indices)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_greedy_refuses_what_is_no_number(bad):
    with pytest.raises(UserError, match="not a number or is infinite"):
        sampling.greedy(torch.tensor([0.0, bad, 1.0]))
    with pytest.raises(UserError, match="Every logit is"):
        sampling.greedy(torch.full((3,), -math.inf))
    assert sampling.greedy(torch.tensor([0.0, 2.0, 2.0])) == 1
