"""Experts group rows by content: zeros stay exact where rows are run alone, and no leak hides behind the noise."""

from __future__ import annotations

import copy
from types import MethodType
from typing import Any

import pytest
import torch

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.experts import Tally, counted
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.masking import evidence, leak, prefix
from gptviz.lab.masking.basis import equal_shapes
from gptviz.lab.writing.cache_rows import moved
from gptviz.service.wire import as_json
from tests import tiny

T = 34
IDS = tiny.ids(T)  # of GPT-2's vocabulary the first 300 pieces, " the" among them
KINDS: dict[str, dict[str, Any]] = {"mixtral": tiny.MIXTRAL, "qwen2_moe": tiny.QWEN_MOE}


def built(kind: str, **sizes: Any) -> Decoder:
    model = tiny.model(kind, std=0.06, **sizes)
    return Decoder.from_model(model, Tokenizer.gpt2(), name=kind)


@pytest.fixture(scope="module")
def all_of_them() -> dict[str, Decoder]:
    return {kind: built(kind, **sizes) for kind, sizes in KINDS.items()}


@pytest.fixture(params=KINDS)
def decoder(request, all_of_them) -> Decoder:
    return all_of_them[request.param]


def leaky(decoder: Decoder, spoil) -> Decoder:
    """A copy whose first block lets `spoil(x [B, T, d])` read wherever it likes."""
    clean = Decoder.from_model(copy.deepcopy(decoder.model), decoder.tokenizer, name="leaky")
    clean.layers[0].register_forward_hook(
        lambda module, args, out: (spoil(out[0]), *out[1:]) if isinstance(out, tuple) else spoil(out)
    )
    return clean


def look_ahead(share: float):
    def spoil(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        if x.shape[1] > 9:
            y[:, 2] += share * x[:, 9]
        return y

    return spoil


def test_together_a_later_token_changes_how_an_earlier_row_rounds(decoder):
    """What all this is about: a difference under the causal mask that is no leak."""
    moved = 0.0
    for seed in range(12):
        other = torch.randint(0, tiny.V, (17,), generator=torch.Generator().manual_seed(seed)).tolist()
        moved = max(moved, float((decoder.run(IDS).logits - decoder.run(IDS[:17] + other).logits)[:17].abs().max()))
    basis = equal_shapes(decoder)
    assert 0 < moved <= 3 * basis.noise < 1e-4
    assert (basis.why, basis.tolerance) == ("one_row", 0.0)


def test_nothing_moves_left_of_an_edit(decoder):
    for keep in (1, 9, 17, 33):
        found = prefix.check(decoder, IDS, keep, method="edit")
        assert found.deltas.tolist() == [0.0] * keep
        assert (found.basis.why, found.tolerance) == ("one_row", 0.0)
    new = leak.one_token(decoder, " the")
    for position in (1, 9, 17, 33):
        spread = leak.contamination(decoder, IDS, position, new)
        assert torch.count_nonzero(spread.change[:, :position]) == 0
        assert torch.count_nonzero(spread.logit_change[:position]) == 0
        assert spread.logit_change[position] > 0


def test_all_prefixes_and_the_influence_matrix_are_exact(decoder):
    assert torch.count_nonzero(prefix.check_all(decoder, IDS).deltas) == 0
    matrix = leak.influence(decoder, IDS)
    assert torch.count_nonzero(matrix.triu(1)) == 0
    assert (matrix.diagonal() > 0).all()
    assert not prefix.check_all(decoder, IDS, method="truncate").changed.any()


def test_the_rows_a_cache_keeps_are_the_same_bits_too(decoder):
    assert torch.count_nonzero(moved(decoder, IDS, 17).edited[:, :17]) == 0


def test_the_answers_say_which_tolerance_was_used_and_why(decoder):
    payloads = [
        as_json(prefix.report(decoder, prefix.check(decoder, IDS, 9, method="edit"))),
        as_json(leak.mask_effect(decoder, IDS, CAUSAL, 9, " the")),
        as_json(leak.influence_of(decoder, IDS[:4], CAUSAL, leak.influence_parts(decoder, IDS[:4]))),
        evidence.evidence(decoder, prefix.check(decoder, IDS, 9, method="edit")),
    ]
    for payload in payloads:
        assert (payload["why"], payload["tolerance"]) == ("one_row", 0.0)
        assert 0 < payload["noise"] < 1e-4
    short = prefix.report(decoder, prefix.check(decoder, IDS, 9))
    assert short.why == "shorter"
    assert short.tolerance > short.max_delta


def test_a_model_without_experts_needs_only_equal_shapes(tiny_gpt2):
    basis = equal_shapes(tiny_gpt2)
    assert (basis.why, basis.tolerance, basis.noise) == ("equal_shapes", 0.0, 0.0)
    assert not tiny_gpt2.experts


def test_run_together_nothing_has_changed_against_the_library(decoder):
    stock = copy.deepcopy(decoder.model)
    stock.set_attn_implementation("sdpa")
    with torch.inference_mode():
        reference = stock(torch.tensor([IDS]), use_cache=False).logits[0]
    assert torch.equal(decoder.run(IDS).logits, reference)
    assert (decoder.run(IDS, one_row=True).logits - reference).abs().max() <= 1e-5 * reference.abs().max()


@pytest.mark.parametrize("rule", [MaskRule("none", frozenset({1})), MaskRule("wrong_way", frozenset({0}))])
def test_an_open_layer_is_found(decoder, rule):
    assert all(prefix.check(decoder, IDS, 17, rule, "edit").changed)
    assert all(prefix.check(decoder, IDS, 17, rule, "truncate").changed)


def test_a_leak_of_ten_times_the_noise_is_found(decoder):
    noise = equal_shapes(decoder).noise
    new = leak.one_token(decoder, " the")
    full = float(leak.contamination(leaky(decoder, look_ahead(1e-2)), IDS, 9, new).logit_change[2]) / 1e-2
    model = leaky(decoder, look_ahead(10 * noise / full))
    found = leak.contamination(model, IDS, 9, new)
    assert 3 * noise < found.logit_change[2] < 30 * noise
    assert found.logit_change[2] > found.basis.tolerance
    assert torch.count_nonzero(found.logit_change[:2]) == 0
    every = prefix.check_all(model, IDS)
    assert [n for n in range(1, T) if every.changed[n - 1].any()] == list(range(3, 10))
    column = leak.influence(model, IDS)[:, 9]
    assert column[2] > 0
    assert torch.count_nonzero(column[:2]) == 0


# Experts that cannot be run alone


@pytest.fixture(scope="module")
def jetmoe() -> Decoder:
    """Its attention has experts whose parts are called past their forward."""
    return built("jetmoe", num_local_experts=8, hidden_size=256, num_hidden_layers=2, kv_channels=32)


def test_where_rows_cannot_be_run_alone_the_tolerance_is_the_measured_noise(jetmoe):
    basis = equal_shapes(jetmoe)
    assert basis.why == "grouped"
    assert 0 < basis.noise < basis.tolerance < 1e-4
    assert not any(prefix.check(jetmoe, IDS, 17, method="edit").changed)
    assert not prefix.check_all(jetmoe, IDS).changed.any()
    new = leak.one_token(jetmoe, " the")
    full = float(leak.contamination(leaky(jetmoe, look_ahead(1e-2)), IDS, 9, new).logit_change[2]) / 1e-2
    found = leak.contamination(leaky(jetmoe, look_ahead(10 * basis.noise / full)), IDS, 9, new)
    assert found.logit_change[2] > found.basis.tolerance
    assert (found.logit_change[:2] <= found.basis.tolerance).all()


def test_experts_that_let_rows_depend_on_each_other_are_not_hidden_by_running_them_alone(all_of_them):
    """As where a full expert turns rows away: that is a leak, and larger than rounding."""
    model = copy.deepcopy(all_of_them["mixtral"].model)
    experts = model.model.layers[0].mlp.experts
    plain = type(experts).forward

    class Crowded(type(experts)):  # type: ignore[misc]  # chosen when the test runs
        def forward(self, x, index, weights):
            return plain(self, x + 0.1 * x.mean(0, keepdim=True), index, weights)

    experts.__class__ = Crowded
    if "forward" in vars(experts):
        experts.forward = MethodType(Crowded.forward, experts)
    crowded = Decoder.from_model(model, Tokenizer.gpt2())
    basis = equal_shapes(crowded)
    assert basis.why == "grouped"
    assert basis.noise > basis.tolerance
    assert any(prefix.check(crowded, IDS, 17, method="edit").changed)


# What is counted


@pytest.mark.parametrize("impl", ["eager", "grouped_mm", "batched_mm"])
def test_the_experts_read_are_those_the_router_chose(all_of_them, impl):
    decoder = all_of_them["mixtral"]
    decoder.model.set_experts_implementation(impl)
    chosen: list[set[int]] = []
    handles = [
        layer.mlp.gate.register_forward_hook(lambda m, a, out: chosen.append(set(out[-1].flatten().tolist())))
        for layer in decoder.layers
    ]
    with counted(Tally()) as tally:
        decoder.run(IDS[:5])
    for handle in handles:
        handle.remove()
    decoder.model.set_experts_implementation("grouped_mm")
    assert tally.read == {(layer, expert) for layer, some in enumerate(chosen) for expert in some}
    assert decoder.experts.bytes_read(tally) == len(tally.read) * 3 * 256 * 256 * 4
    assert [(stack.count, stack.active) for stack in decoder.experts.stacks] == [(8, 2), (8, 2)]
