"""The prefix check: exact where shapes are equal, within stated noise where not, and no leak shape escapes it."""

from __future__ import annotations

import copy
import json

import pytest
import torch

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.masking import prefix
from gptviz.service.wire import as_json
from tests import tiny

SENTENCE = "The cat that the dog saw sat on the old red mat"


@pytest.fixture(params=["tiny_gpt2", "tiny_llama", "nano", "smollm2"])
def decoder(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["tiny_gpt2", "tiny_llama", "nano"])
def small(request):
    return request.getfixturevalue(request.param)


def ids_of(decoder) -> list[int]:
    return decoder.tokenizer.encode(SENTENCE)[:12]


def leaky(decoder: Decoder, spoil) -> Decoder:
    """A copy whose second block lets `spoil(x [B, T, d])` read wherever it likes."""
    model = copy.deepcopy(decoder.model)
    clean = Decoder.from_model(model, decoder.tokenizer, name="leaky")

    def hook(module, args, output):
        return (spoil(output[0]), *output[1:]) if isinstance(output, tuple) else spoil(output)

    clean.layers[1].register_forward_hook(hook)
    return clean


def chunk_mean(x: torch.Tensor) -> torch.Tensor:
    """Each position also sees the mean of its chunk of four, the part to its right included."""
    parts = [part + part.mean(1, keepdim=True) for part in x.split(4, dim=1)]
    return torch.cat(parts, dim=1)


# The toy


def test_the_toys_three_rows_agree_to_exactly_zero_with_the_mask():
    made = prefix.toy(masked=True)
    assert made.full.shape == (4, 8)
    assert made.deltas.tolist() == [0.0, 0.0, 0.0]


def test_the_toys_three_rows_move_by_tenths_without_the_mask():
    assert all(0.1 <= delta < 1 for delta in prefix.toy(masked=False).deltas.tolist())


def test_the_toy_is_attention_as_pytorch_computes_it():
    generator = torch.Generator().manual_seed(0)
    x, W = torch.randn(4, 8, generator=generator), torch.randn(3, 8, 8, generator=generator) / 8**0.5
    q, k, v = (x @ w for w in W)
    for masked in (True, False):
        expected = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=masked)[0]
        assert torch.allclose(prefix.toy(masked).full, expected, atol=1e-6)


def test_the_toy_is_exact_for_other_words_too():
    assert all(torch.count_nonzero(prefix.toy(True, seed).deltas) == 0 for seed in range(40))


def test_the_toy_that_leaks_inside_chunks_looks_clean_at_a_border():
    deltas = prefix.chunk_toy()
    expected = [[i < n and n % 4 != 0 and i >= 4 * (n // 4) for i in range(8)] for n in range(1, 8)]
    assert (deltas > 1e-6).tolist() == expected
    assert torch.count_nonzero(deltas[3]) == 0


# One prefix of a real model


@pytest.mark.parametrize("keep", [1, 7, 11])
def test_edit_with_the_mask_is_bit_equal(decoder, keep):
    found = prefix.check(decoder, ids_of(decoder), keep, method="edit")
    assert found.tolerance == 0.0
    assert found.deltas.tolist() == [0.0] * keep
    assert found.other[:keep] == found.ids[:keep]
    assert all(a != b for a, b in zip(found.other[keep:], found.ids[keep:], strict=True))


@pytest.mark.parametrize("keep", [1, 7, 11])
def test_truncate_with_the_mask_stays_within_the_stated_noise(decoder, keep):
    found = prefix.check(decoder, ids_of(decoder), keep, method="truncate")
    assert 0 < found.tolerance < 1e-3
    assert not any(found.changed)
    assert found.deltas.max() <= found.tolerance / 3  # the tolerance is not just scraped by


@pytest.mark.parametrize("method", prefix.METHODS)
def test_every_single_open_layer_turns_every_position_red(small, method):
    for layer in range(small.shape.layers):
        for direction in ("none", "wrong_way"):
            rule = MaskRule(direction, frozenset({layer}))
            assert all(prefix.check(small, ids_of(small), 7, rule, method).changed), (layer, direction)


def test_one_open_layer_of_the_real_model_is_caught_by_both_methods(smollm2):
    for layer, method in ((0, "edit"), (14, "truncate"), (29, "truncate"), (29, "edit")):
        rule = MaskRule("none", frozenset({layer}))
        assert all(prefix.check(smollm2, ids_of(smollm2), 7, rule, method).changed), (layer, method)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_has_a_tolerance_of_its_own(tiny_gpt2, dtype):
    half = Decoder.from_model(copy.deepcopy(tiny_gpt2.model).to(dtype), tiny_gpt2.tokenizer)
    ids = ids_of(half)
    exact = prefix.check(half, ids, 7, method="edit")
    shorter = prefix.check(half, ids, 7, method="truncate")
    assert exact.deltas.tolist() == [0.0] * 7
    assert not any(shorter.changed)
    assert shorter.tolerance > 100 * prefix.check(tiny_gpt2, ids, 7, method="truncate").tolerance
    assert all(prefix.check(half, ids, 7, MaskRule("none"), "edit").changed)


def test_an_ending_is_repeated_or_cut_to_the_same_length(tiny_gpt2):
    ids = ids_of(tiny_gpt2)
    assert prefix.check(tiny_gpt2, ids, 8, method="edit", ending=[5, 6]).other == [*ids[:8], 5, 6, 5, 6]
    assert prefix.check(tiny_gpt2, ids, 10, method="edit", ending=[5, 6, 7]).other == [*ids[:10], 5, 6]


# All prefixes


@pytest.mark.parametrize("method", prefix.METHODS)
def test_all_prefixes_with_the_mask_are_unchanged(decoder, method):
    found = prefix.check_all(decoder, ids_of(decoder), method=method)
    assert found.deltas.shape == (11, 12)
    assert not found.changed.any()
    if method == "edit":
        assert torch.count_nonzero(found.deltas) == 0


@pytest.mark.parametrize("method", prefix.METHODS)
def test_all_prefixes_agree_with_one_at_a_time(small, method):
    rule, ids = MaskRule("none", frozenset({2})), ids_of(small)
    found = prefix.check_all(small, ids, rule, method)
    for keep in (1, 6, 11):
        alone = prefix.check(small, ids, keep, rule, method)
        assert torch.allclose(found.deltas[keep - 1, :keep], alone.deltas, atol=1e-3)
        assert torch.count_nonzero(found.deltas[keep - 1, keep:]) == 0


def test_cut_off_prefixes_are_run_as_short_as_they_are(small):
    """Each row is that of the check of one prefix, bit by bit; padded to one length all would be exact zeros."""
    ids = ids_of(small)
    found = prefix.check_all(small, ids, method="truncate")
    for keep in range(1, 12):
        alone = prefix.check(small, ids, keep, method="truncate")
        assert torch.equal(found.deltas[keep - 1, :keep], alone.deltas)
        with torch.inference_mode():
            stock = small.model(torch.tensor([ids]), use_cache=False).logits[0, :keep]
            short = small.model(torch.tensor([ids[:keep]]), use_cache=False).logits[0]
        assert torch.equal(alone.deltas, (stock - short).abs().amax(-1))
    assert found.deltas.max() > 0


def test_cutting_off_can_be_stopped_after_any_prefix(tiny_gpt2):
    prefix.check(tiny_gpt2, ids_of(tiny_gpt2), 5)  # the model's own noise is measured by now
    runs = []
    handle = tiny_gpt2.model.register_forward_pre_hook(lambda *a: runs.append(1))
    parts = prefix.all_parts(tiny_gpt2, ids_of(tiny_gpt2), CAUSAL, "truncate")
    rows = [next(parts)[0] for _ in range(3)]
    parts.close()
    handle.remove()
    assert [len(row) for row in rows] == [1, 1, 1]
    assert len(runs) == 4  # the whole text, and three prefixes


@pytest.mark.parametrize("method", prefix.METHODS)
def test_a_leak_that_stops_at_chunk_borders_is_found(tiny_gpt2, tiny_llama, method):
    for clean in (tiny_gpt2, tiny_llama):
        model, ids = leaky(clean, chunk_mean), ids_of(clean)
        # A prefix that ends at a border shows nothing: looking at one length only would miss the leak.
        assert not any(prefix.check(model, ids, 8, method=method).changed)
        found = prefix.check_all(model, ids, method=method).changed
        expected = [[i < n and n % 4 != 0 and i >= 4 * (n // 4) for i in range(12)] for n in range(1, 12)]
        assert found.tolist() == expected


def look_ahead(x: torch.Tensor) -> torch.Tensor:
    """Position 2 alone reads position 9 alone."""
    y = x.clone()
    if x.shape[1] > 9:
        y[:, 2] += x[:, 9]
    return y


def last_to_first(x: torch.Tensor) -> torch.Tensor:
    """The first position reads the last one, wherever that is."""
    y = x.clone()
    y[:, 0] += x[:, -1]
    return y


@pytest.mark.parametrize(
    ("spoil", "first", "lengths"),
    [(look_ahead, 2, range(3, 10)), (last_to_first, 0, range(1, 12))],
    ids=["one cell", "last to first"],
)
def test_a_leak_of_any_other_shape_is_found(tiny_gpt2, spoil, first, lengths):
    found = prefix.check_all(leaky(tiny_gpt2, spoil), ids_of(tiny_gpt2), method="edit").changed
    assert [n for n in range(1, 12) if found[n - 1].any()] == list(lengths)
    assert all(int(found[n - 1].nonzero()[0]) == first for n in lengths)


@pytest.mark.parametrize("T", [2, 33, 64])
def test_all_prefixes_are_exact_in_batches_of_any_size(tiny_gpt2, T):
    ids = [(37 * i + 11) % 50257 for i in range(T)]
    assert torch.count_nonzero(prefix.check_all(tiny_gpt2, ids).deltas) == 0


@pytest.mark.parametrize("kind", ["qwen2_moe", "bitnet", "gpt_bigcode"])
def test_a_model_that_rounds_more_has_a_tolerance_of_its_own(kind):
    """Weights of size 1 make scores of a hundred, and rounding grows with them; the text still leaks nothing."""
    sizes = {
        "qwen2_moe": {"num_experts": 4, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 32},
        "gpt_bigcode": {"n_layer": 3, "n_head": 4, "n_embd": 32, "n_positions": 64},
    }
    wild = Decoder.from_model(tiny.model(kind, std=1.0, **sizes.get(kind, {})), Tokenizer.gpt2(), name=kind)
    found = prefix.check_all(wild, tiny.ids(34), method="truncate")
    assert not found.changed.any()
    assert found.basis.noise > 0
    assert found.tolerance < 1e-2  # one open layer moves them by far more
    open_layer = prefix.check(wild, tiny.ids(34), 17, MaskRule("none", frozenset({2})), "truncate")
    assert open_layer.deltas.max() > 100 * open_layer.tolerance


# What is refused


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d, ids: prefix.check(d, ids, 0), "keep is 0; the text has 12 tokens, so a prefix holds 1 to 11"),
        (lambda d, ids: prefix.check(d, ids, 12), "keep is 12"),
        (lambda d, ids: prefix.check(d, ids[:1], 1), "keep is 1; the text has 1 token"),
        (lambda d, ids: prefix.check(d, ids, 5, method="guess"), 'method is "guess"; it must be one of edit, truncate'),
        (lambda d, ids: prefix.check(d, ids, 5, method="edit", ending=ids[5:]), "ending is the old one"),
        (lambda d, ids: prefix.check_all(d, ids[:1]), "need at least 2"),
        (lambda d, ids: prefix.check_all(d, list(range(65))), r"65 tokens; .* at most 64"),
    ],
)
def test_what_cannot_be_checked_gets_one_sentence(nano, call, words):
    with pytest.raises(UserError, match=words):
        call(nano, ids_of(nano))


def test_a_model_that_overflows_is_not_called_invariant(tiny_gpt2):
    broken = leaky(tiny_gpt2, lambda x: x * float("inf"))
    with pytest.raises(UserError, match="overflows"):
        prefix.check(broken, ids_of(broken), 5, method="edit")


# What the page and the endpoints get


def test_payloads_are_finite_json(tiny_llama):
    ids = ids_of(tiny_llama)
    clean = as_json(prefix.report(tiny_llama, prefix.check(tiny_llama, ids, 5, method="edit")))
    assert (clean["invariant"], clean["max_delta"], clean["tolerance"], clean["dtype"]) == (True, 0.0, 0.0, "float32")
    assert [p["index"] for p in clean["positions"]] == [0, 1, 2, 3, 4]
    dirty = as_json(prefix.report(tiny_llama, prefix.check(tiny_llama, ids, 5, MaskRule("none", frozenset({3})))))
    assert not dirty["invariant"]
    assert all(p["changed"] and p["max_delta"] > dirty["tolerance"] for p in dirty["positions"])
    every = as_json(prefix.full_report(tiny_llama, prefix.check_all(tiny_llama, ids, MaskRule("wrong_way"))))
    assert not every["invariant"]
    assert [sum(x is not None for x in row) for row in every["matrix"]] == list(range(1, 12))
    toy = as_json(prefix.toys())
    assert toy["masked"]["deltas"] == [0.0, 0.0, 0.0]
    json.dumps([clean, dirty, every, toy], allow_nan=False)
