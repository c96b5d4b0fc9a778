"""The mask that is shown is the library's own, whatever narrows it, and what is watched is what runs."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from gptviz.decoder import masks
from gptviz.decoder.attention import MaskRule, turned
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.masks import Reach
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.looking import heads
from gptviz.lab.masking import mask_ways
from tests import tiny

IDS = tiny.ids()
W, ALL = Reach("window", 5), Reach()
NARROWED: dict[str, tuple[dict[str, Any], list[Reach]]] = {
    "mistral": ({"sliding_window": 5}, [W, W, W]),
    "gemma2": ({"sliding_window": 5, "head_dim": 8}, [W, ALL, W]),
    "gemma3_text": ({"sliding_window": 5, "head_dim": 8, "sliding_window_pattern": 2}, [W, ALL, W]),
    "qwen2": ({"sliding_window": 5, "use_sliding_window": True, "max_window_layers": 1}, [ALL, W, W]),
    "phi3": ({"sliding_window": 5}, [W, W, W]),
    "cohere2": ({"sliding_window": 5, "head_dim": 8}, [W, W, W]),
    "llama4_text": (
        {"attention_chunk_size": 6, "head_dim": 8, "num_local_experts": 2, "intermediate_size_mlp": 64,
         "no_rope_layers": [1, 0, 1]},
        [Reach("chunks", 6), ALL, Reach("chunks", 6)],
    ),
}  # fmt: skip


def built(kind: str, **more: Any) -> Decoder:
    return Decoder.from_model(tiny.model(kind, **more), Tokenizer.gpt2(), name=kind)


@pytest.fixture(scope="module")
def narrowed() -> dict[str, Decoder]:
    return {kind: built(kind, **sizes) for kind, (sizes, _) in NARROWED.items()}


@pytest.fixture(params=NARROWED)
def decoder(request, narrowed) -> Decoder:
    return narrowed[request.param]


def stock(decoder: Decoder, implementation: str, **asked: Any):
    model = copy.deepcopy(decoder.model)
    model.set_attn_implementation(implementation)
    with torch.inference_mode():
        return model(torch.tensor([IDS]), use_cache=False, **asked)


def counted(reach: Reach, T: int) -> torch.Tensor:
    """The mask a reach describes, written down by hand."""
    rows = []
    for t in range(T):
        first = max(0, t - reach.size + 1) if reach.kind == "window" else t - t % reach.size if reach.size else 0
        rows.append([first <= s <= t for s in range(T)])
    return torch.tensor(rows)


def test_with_nothing_captured_a_narrowed_model_is_the_librarys_bit_for_bit(decoder):
    usual = "eager" if decoder.name == "gemma2" else "sdpa"  # the library has no fast function for bounded scores
    assert torch.equal(decoder.run(IDS).logits, stock(decoder, usual).logits[0])


def test_every_stage_shows_the_mask_that_was_used(decoder):
    theirs = stock(decoder, "eager", output_attentions=True).attentions
    run = decoder.run(IDS, capture=range(3))
    for layer, reach in enumerate(NARROWED[decoder.name][1]):
        kept = run.attention[layer]
        assert torch.equal(kept.seen, counted(reach, 20))
        assert torch.equal(kept.seen, theirs[layer][0].amax(0) > 0)  # the library gives weight to exactly these
        assert (kept.weights - theirs[layer][0]).abs().max() <= 1e-5  # what comes before is summed in another order
        masked = heads.stage_of(kept, 1, "masked")
        assert torch.equal(masked.isinf(), ~counted(reach, 20))
        assert (masked.softmax(-1) - kept.weights[1]).abs().max() <= 1e-6
        assert torch.count_nonzero(kept.weights[:, ~kept.seen]) == 0


def test_what_narrows_a_layer_is_known_without_a_long_text(decoder):
    expected = NARROWED[decoder.name][1]
    assert [facts.reach for facts in decoder.facts] == expected
    panel = heads.panel(decoder, IDS, torch.zeros(3, 4))
    assert [panel.reach[layer] for layer in range(3)] == expected
    short = heads.panel(decoder, IDS[:5], torch.zeros(3, 4))
    assert all(reach == ALL for reach in short.reach.values())  # five tokens fit into every window here


@pytest.mark.parametrize("direction", ["none", "wrong_way"])
def test_an_opened_layer_keeps_what_narrows_it(decoder, direction):
    """It reads as far ahead as it reads back; compared with the library given that very mask."""
    layers = frozenset({0, 2})
    run = decoder.run(IDS, rule=MaskRule(direction, layers), capture=range(3))
    for layer, reach in enumerate(NARROWED[decoder.name][1]):
        back = counted(reach, 20)
        wanted = back if layer == 1 else back.T if direction == "wrong_way" else back | back.T
        assert torch.equal(run.attention[layer].seen, wanted)
        assert torch.equal(run.attention[layer].weights.amax(0) > 0, wanted)
    assert (decoder.run(IDS, rule=MaskRule(direction, layers)).logits - run.logits).abs().max() <= 1e-4


def test_the_cached_steps_of_a_narrowed_model_write_the_librarys_text(decoder):
    steps = list(decoder.stream(IDS[:8], lambda logits: int(logits.argmax()), max_new_tokens=16))
    model = copy.deepcopy(decoder.model)
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        written = model.generate(torch.tensor([IDS[:8]]), max_new_tokens=16, do_sample=False, eos_token_id=None)
    assert [step.id for step in steps] == written[0, 8:].tolist()


def test_a_padded_row_of_a_narrowed_model_equals_the_row_alone(decoder):
    for run in decoder.batch([IDS[:7], IDS, IDS[3:16]]):
        assert (run.logits - decoder.run(run.ids).logits).abs().max() <= 1e-4


def test_the_three_ways_use_the_layers_own_mask(narrowed):
    for kind, says_it in (("mistral", False), ("qwen2", True)):
        run = narrowed[kind].run(IDS, inputs=[0], capture=[0])
        given, shown = run.inputs[0], run.attention[0]
        made = mask_ways.outputs(given)
        expected = shown.weights @ given.value.repeat_interleave(2, dim=0)
        assert torch.equal(made["additive"], made["boolean"])
        assert (made["additive"] - expected).abs().max() <= 1e-5
        assert mask_ways.flag_says_it(given) is says_it
        assert (float((made["is_causal"] - expected).abs().max()) <= 1e-5) is says_it


def test_a_bound_on_the_scores_is_in_the_three_ways_too(narrowed):
    run = narrowed["gemma2"].run(IDS, inputs=[1], capture=[1])
    given = run.inputs[1]
    assert given.softcap == 50.0
    expected = run.attention[1].weights @ given.value.repeat_interleave(2, dim=0)
    assert (mask_ways.outputs(given)["additive"] - expected).abs().max() <= 1e-5


def test_shares_leave_out_the_rows_that_cannot_read_the_token(narrowed):
    """Behind a window of 5, rows 5 and later cannot read the first token: they say nothing about a head's liking."""
    kept = narrowed["mistral"].run(IDS, capture=[0]).attention[0]
    entropy, first, _, _, share = heads.measure(kept.weights, kept.seen)
    rows = kept.weights[:, 2:]
    assert (first - kept.weights[:, 2:5, 0].mean(-1)).abs().max() <= 1e-6
    ceiling = torch.tensor([min(t + 1, 5) for t in range(2, 20)]).log()
    by_hand = -(rows * rows.clamp(min=1e-30).log()).sum(-1)
    assert (entropy - by_hand.mean(-1)).abs().max() <= 1e-5
    assert (share - (by_hand / ceiling).mean(-1)).abs().max() <= 1e-5
    assert share.max() <= 1 + 1e-6


def test_pairs_are_those_of_the_mask():
    for reach in (ALL, W, Reach("chunks", 6)):
        seen = counted(reach, 30)
        assert reach.pairs(0, 30) == int(seen.sum())
        assert reach.pairs(11, 4) == int(seen[11:15].sum())
        assert masks.reach_shown(seen) == reach
    odd = torch.ones(6, 6, dtype=torch.bool).tril()
    odd[5, 2] = False
    assert masks.reach_shown(odd) == Reach("other")


def test_a_key_of_the_configuration_that_does_not_apply_narrows_nothing():
    decoder = built("qwen2", sliding_window=5, use_sliding_window=False)
    assert [facts.reach for facts in decoder.facts] == [ALL] * 3
    assert torch.equal(decoder.run(IDS, capture=[1]).attention[1].seen, counted(ALL, 20))


def test_a_stated_window_that_no_mask_uses_cuts_no_cache():
    """The library's own cache drops the rows behind it, and then writes another text than without a cache."""
    decoder = built("llama", sliding_window=5)
    cached, plain = (
        [*decoder.stream(IDS[:8], lambda logits: int(logits.argmax()), max_new_tokens=16, use_cache=use_cache)]
        for use_cache in (True, False)
    )
    assert [step.id for step in cached] == [step.id for step in plain]
    assert [rows.most for rows in decoder.cache_rows] == [None] * 3
    each = sum(rows.bytes for rows in decoder.cache_rows)
    assert [step.cache_bytes for step in cached] == [each * n for n in range(8, 24)]


def test_a_mask_that_cannot_be_asked_is_not_guessed():
    mask = torch.ones(1, 1, 4, 4, dtype=torch.bool).tril()
    assert masks.reach_of(mask, 64) == Reach("other")
    few = torch.ones(4, dtype=torch.bool)
    setattr(mask, masks.FUNCTION, lambda b, h, q, k: few[k])  # made for a text of four tokens
    assert masks.reach_of(mask, 64) == Reach("other")


def test_turning_a_triangle_gives_the_plain_patterns():
    triangle = torch.ones(4, 4, dtype=torch.bool).tril()
    assert turned(triangle, "none").all()
    assert torch.equal(turned(triangle, "wrong_way"), torch.ones(4, 4, dtype=torch.bool).triu())
    assert torch.equal(turned(triangle, "causal"), triangle)


# The check at loading


def test_a_layer_that_adds_to_its_weights_is_refused_by_the_weights(monkeypatch):
    """The fused function hides nothing here: only the watched comparison can see a sink that no logit shows."""
    from transformers.models.mistral import modeling_mistral

    plain = modeling_mistral.eager_attention_forward

    def with_sink(*args: Any, **kwargs: Any):
        output, weights = plain(*args, **kwargs)
        return output, weights * 0.999

    monkeypatch.setattr(modeling_mistral, "eager_attention_forward", with_sink)
    with pytest.raises(UserError, match=r"its weights differ from the library's by 0\.001"):
        built("mistral", sliding_window=5)


def test_sinks_are_refused_in_one_sentence():
    with pytest.raises(UserError, match=r'"gpt_oss" adds something to attention .*differ.*\.$'):
        built("gpt_oss", head_dim=8, sliding_window=5, num_local_experts=4)


# 16 bits


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_what_is_watched_is_finite_where_the_model_is(dtype):
    """Scores of 1e5 and more are beyond float16, though the fused function never writes them down."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("llama", **tiny.LLAMA)).eval()
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.q_proj.weight.mul_(4000)
            layer.self_attn.k_proj.weight.mul_(4000)
    exact = copy.deepcopy(model).double()
    decoder = Decoder.from_model(model.to(dtype), None)
    run = decoder.run(IDS, capture=range(3), inputs=range(3))
    assert max(kept.scores.abs().max() for kept in run.attention.values()) > 1e5
    assert torch.isfinite(decoder.run(IDS).logits).all()
    assert torch.isfinite(run.logits).all()
    for layer, kept in run.attention.items():
        assert (kept.weights.sum(-1) - 1).abs().max() <= 1e-5
        given = run.inputs[layer]
        key = given.key.double().repeat_interleave(2, dim=0)
        scores = given.query.double() @ key.transpose(-2, -1) * given.scaling
        expected = scores.masked_fill(~kept.seen, -torch.inf).softmax(-1)
        assert (kept.weights - expected).abs().max() <= 1e-7 * float(scores.abs().max())
    assert torch.isfinite(exact(torch.tensor([IDS])).logits).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", ["mistral", "gemma2"])
def test_nothing_captured_is_bit_equal_in_16_bits_too(kind, dtype):
    decoder = built(kind, **NARROWED[kind][0])
    model = copy.deepcopy(decoder.model).to(dtype)
    model.set_attn_implementation("eager" if kind == "gemma2" else "sdpa")
    with torch.inference_mode():
        reference = model(torch.tensor([IDS]), use_cache=False).logits[0].float()
    half = Decoder.from_model(copy.deepcopy(model), None)
    assert torch.equal(half.run(IDS).logits, reference)
