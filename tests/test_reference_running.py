"""What the lessons teach, claim by claim, of writing text, the cache, the family and the readable code."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from gptviz.decoder import gpt
from gptviz.decoder.attention import MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.looking import family, twice
from gptviz.lab.surprise import surprisal
from gptviz.lab.writing import sampling, work, writer

IDS = [(37 * i + 11) % 50257 for i in range(12)]

# 6. Decoding


def own_loop(decoder: Decoder, ids: list[int], count: int) -> list[int]:
    """Logits at the last position → choose → append → repeat."""
    text = list(ids)
    for _ in range(count):
        text.append(int(decoder.run(text, last_only=True).logits[-1].argmax()))
    return text


def test_6_the_loop_writes_what_the_library_writes(tiny_gpt2):
    model = copy.deepcopy(tiny_gpt2.model)
    model.set_attn_implementation("sdpa")
    theirs = model.generate(
        torch.tensor([IDS]), attention_mask=torch.ones(1, 12), do_sample=False, max_new_tokens=10, pad_token_id=0
    )
    assert own_loop(tiny_gpt2, IDS, 10) == theirs[0].tolist()


def test_6_greedy_is_deterministic(nano):
    ids = nano.tokenizer.encode("The cat")
    assert own_loop(nano, ids, 12) == own_loop(nano, ids, 12)


def test_6_greedy_tends_to_loop(tiny_gpt2):
    text = own_loop(tiny_gpt2, IDS, 40)
    assert writer.loops(text)


def test_6_beam_search_keeps_the_k_best_partial_texts(tiny_gpt2):
    search = writer.BeamSearch(tiny_gpt2, IDS, beams=3, max_new_tokens=4)
    first = next(iter(search))
    kept = [(node.id, node.logp) for node in first if node.fate == "kept"]
    best = tiny_gpt2.run(IDS).logits[-1].log_softmax(-1).topk(3)
    assert [i for i, _ in kept] == best.indices.tolist()
    assert [p for _, p in kept] == pytest.approx(best.values.tolist(), abs=1e-4)


def test_6_beam_search_finds_likelier_texts_than_greedy(nano):
    ids = nano.tokenizer.encode("The cat")
    search = writer.BeamSearch(nano, ids, beams=5, max_new_tokens=8)
    list(search)
    greedy = own_loop(nano, ids, 8)
    nats = surprisal(nano.run(greedy).logits[:-1], greedy[1:])[len(ids) - 1 :]
    assert search.finished[0].total >= -float(nats.sum()) - 1e-4


LOGITS = torch.randn(500, generator=torch.Generator().manual_seed(2)) * 3


def at(**settings) -> sampling.Stages:
    return sampling.stages(LOGITS, sampling.Settings(**settings))


def test_6_temperature_divides_the_logits_before_softmax():
    assert (at(temperature=0.7).tempered - (LOGITS.double() / 0.7).softmax(-1)).abs().max() < 1e-12


def test_6_temperature_to_zero_is_greedy():
    best = int(LOGITS.argmax())
    assert float(at(temperature=0.0).final[best]) == 1.0
    assert float(at(temperature=1e-6).final[best]) == 1.0


def test_6_temperature_one_changes_nothing():
    assert torch.equal(at(temperature=1.0).tempered, at(temperature=1.0).raw)


def test_6_temperature_above_one_flattens_toward_noise():
    entropies = sampling.entropy_curve(LOGITS, [0.5, 1.0, 2.0, 10.0, 1000.0])
    assert entropies == sorted(entropies)
    assert entropies[-1] == pytest.approx(math.log(500), abs=1e-3)


def test_6_top_k_keeps_the_k_likeliest():
    assert at(top_k=7).kept_ids() == LOGITS.topk(7).indices.tolist()


def test_6_nucleus_sampling_keeps_the_smallest_set_that_reaches_p():
    shown = at(top_p=0.8)
    p = shown.raw[shown.kept_ids()]
    assert float(p.sum()) >= 0.8 > float(p[:-1].sum())


def test_6_writing_stops_at_the_end_of_text_token(tiny_gpt2):
    end = tiny_gpt2.tokenizer.end_of_text
    script = iter([5, 6, end, 7])
    written = writer.Writing(tiny_gpt2, IDS, lambda logits: next(script), max_new_tokens=30)
    list(written)
    assert (written.stop, written.ids) == ("end_of_text", [5, 6, end])


def test_6_or_at_an_outside_maximum_and_without_either_it_runs_to_the_context(tiny_gpt2):
    for room, stop, count in ((9, "length", 9), (1000, "context", 64 - 12)):
        written = writer.Writing(tiny_gpt2, IDS, lambda logits: 5, max_new_tokens=room)
        list(written)
        assert (written.stop, len(written.ids)) == (stop, count)


# 7. The KV cache


def caches(decoder: Decoder, ids: list[int]) -> DynamicCache:
    cache = DynamicCache()
    decoder.step(ids, cache)
    return cache


@pytest.mark.parametrize("shape", ["tiny_gpt2", "tiny_llama"])
def test_7_keys_and_values_of_past_positions_never_change(shape, request):
    decoder = request.getfixturevalue(shape)
    edited = IDS[:6] + [i + 1 for i in IDS[6:]]
    for one, other in zip(caches(decoder, IDS).layers, caches(decoder, edited).layers, strict=True):
        for a, b in ((one.keys, other.keys), (one.values, other.values)):
            assert torch.equal(a[:, :, :6], b[:, :, :6])
            assert not torch.equal(a[:, :, 6:], b[:, :, 6:])


def test_7_prefix_invariance_is_why_an_unmasked_model_could_not_be_cached(tiny_gpt2):
    """With the mask open, K of layer 1 at earlier positions would change with every new token."""
    rule = MaskRule("none")
    keys = [tiny_gpt2.run(ids, rule=rule, inputs=[1]).inputs[1].key[:, :11] for ids in (IDS[:11], IDS)]
    assert (keys[0] - keys[1]).abs().max() > 1e-3
    masked = [tiny_gpt2.run(ids, inputs=[1]).inputs[1].key[:, :11] for ids in (IDS[:11], IDS)]
    assert (masked[0] - masked[1]).abs().max() <= 1e-5


def counted(decoder: Decoder, P: int, N: int, use_cache: bool) -> list[int]:
    steps = decoder.stream((IDS * 3)[:P], lambda logits: 5, max_new_tokens=N, use_cache=use_cache)
    return [step.positions for step in steps]


def test_7_ten_and_twenty_tokens_are_390_positions_against_29(tiny_gpt2):
    assert sum(counted(tiny_gpt2, 10, 20, use_cache=False)) == 390
    assert sum(counted(tiny_gpt2, 10, 20, use_cache=True)) == 29


@pytest.mark.parametrize(("P", "N"), [(1, 1), (3, 7), (12, 5), (20, 17)])
def test_7_the_counts_are_np_plus_half_n_n_minus_1_and_p_plus_n_minus_1(tiny_gpt2, P, N):
    assert sum(counted(tiny_gpt2, P, N, use_cache=False)) == N * P + N * (N - 1) // 2
    assert sum(counted(tiny_gpt2, P, N, use_cache=True)) == P + N - 1
    assert work.positions(P, N, cached=False) == N * P + N * (N - 1) // 2
    assert work.positions(P, N, cached=True) == P + N - 1


def test_7_prefill_then_one_row_a_step(tiny_gpt2):
    assert counted(tiny_gpt2, 10, 5, use_cache=True) == [10, 1, 1, 1, 1]


def test_7_positions_fall_from_quadratic_to_linear():
    uncached = torch.tensor([work.positions(10, n, cached=False) for n in range(1, 40)])
    cached = torch.tensor([work.positions(10, n, cached=True) for n in range(1, 40)])
    assert set(uncached.diff(n=2).tolist()) == {1}
    assert set(cached.diff().tolist()) == {1}


def test_7_attention_still_sums_over_a_growing_length(tiny_gpt2):
    meter = work.Meter(tiny_gpt2)
    steps = torch.tensor([meter.step(past, 1).flops for past in range(10, 40)])
    assert set(steps.diff().tolist()) == {4 * 4 * 8 * 4}  # 4 FLOPs a head entry, for each further key


@pytest.mark.parametrize(("element", "bytes_a_token", "megabytes"), [(4, 73_728, 75.5), (2, 36_864, 37.7)])
def test_7_gpt2_small_keeps_73_728_bytes_a_token_or_half_in_16_bit(element, bytes_a_token, megabytes):
    config = GPT2Config()
    per_token = work.bytes_per_token(config.n_layer, config.n_head, config.n_embd // config.n_head, element)
    assert per_token == 2 * 12 * 12 * 64 * element == bytes_a_token
    assert round(1024 * per_token / 1e6, 1) == megabytes


def test_7_llama_3_8b_keeps_131_072_bytes_a_token_more_than_its_weights_at_full_length():
    spec = family.PUBLIC["Llama-3-8B"]
    per_token = work.bytes_per_token(spec.L, spec.kv_heads, spec.head_width, 2)
    assert (spec.L, spec.kv_heads, spec.head_width, per_token) == (32, 8, 128, 131_072)
    weights = 2 * family.count(spec).total
    assert round(131_072 * per_token / 1e9, 1) == 17.2
    assert round(weights / 1e9) == 16
    assert 131_072 * per_token > weights


@pytest.mark.parametrize("shape", ["tiny_gpt2", "tiny_llama"])
def test_7_the_formula_is_what_the_tensors_hold(shape, request):
    decoder = request.getfixturevalue(shape)
    s = decoder.shape
    per_token = work.bytes_per_token(s.layers, s.kv_heads, s.head_width, 4)
    steps = list(decoder.stream(IDS, lambda logits: 5, max_new_tokens=6))
    assert [step.cache_bytes for step in steps] == [per_token * n for n in range(12, 18)]


def test_7_cutting_the_context_shrinks_the_cache_and_not_the_weights(tiny_gpt2):
    long, short = (next(iter(tiny_gpt2.stream(IDS[:n], lambda logits: 5, max_new_tokens=1))) for n in (12, 6))
    assert short.cache_bytes * 2 == long.cache_bytes


def test_7_t_tokens_take_t_passes(tiny_gpt2):
    """A token is chosen before the next pass can begin; with a cache the passes are shorter, not fewer."""

    def order(use_cache: bool) -> list[object]:
        seen: list[object] = []
        choose = lambda logits: seen.append("choose") or 5  # noqa: E731
        for step in tiny_gpt2.stream(IDS, choose, max_new_tokens=9, use_cache=use_cache):
            seen.append(step.positions)
        return seen

    assert order(True) == ["choose", 12] + ["choose", 1] * 8
    assert order(False) == [x for n in range(12, 21) for x in ("choose", n)]


def test_7_a_cached_step_moves_more_bytes_than_it_computes_with():
    """Of GPT-2 small, half a FLOP for each byte that has to move; a prompt of 512 tokens does hundreds."""
    torch.manual_seed(0)
    decoder = Decoder.from_model(
        GPT2LMHeadModel(GPT2Config(n_layer=1, vocab_size=500)), Tokenizer.gpt2(), name="one layer"
    )
    meter = work.Meter(decoder)
    step, prompt = meter.step(511, 1), meter.step(0, 512)
    assert step.flops / step.bytes < 1
    assert prompt.flops / prompt.bytes > 50


# 8. The family


def test_8_gpt2_moved_the_norm_to_the_front_and_added_a_last_one():
    first, second = family.PUBLIC["openai-gpt"], family.PUBLIC["gpt2"]
    assert family.changes(first, second) == {"order": ("post", "pre")}
    norms = [family.count(spec).norms for spec in (first, second)]
    assert norms == [24 * 1536, 25 * 1536]


def test_8_gpt3_is_the_same_skeleton_larger():
    assert family.changes(family.PUBLIC["gpt2"], family.PUBLIC["gpt3-175b"]) == {}
    assert family.count(family.PUBLIC["gpt3-175b"]).total > 1000 * 124_439_808


def test_8_llama_3_has_rope_rmsnorm_swiglu_and_grouped_queries():
    found = family.changes(family.PUBLIC["gpt3-175b"], family.PUBLIC["Llama-3-8B"])
    assert found["positions"] == ("learned", "rotary")
    assert found["norm"] == ("layer", "rms")
    assert found["ffn"] == ("gelu", "swiglu")
    assert found["grouped"] == (False, True)
    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig(num_key_value_heads=8, num_hidden_layers=1))
    names = dict(model.named_parameters())
    assert not any("position" in name or "wpe" in name for name in names)
    assert {"gate_proj", "up_proj", "down_proj"} <= {part for name in names for part in name.split(".")}
    assert names["model.layers.0.self_attn.k_proj.weight"].shape[0] == 8 * 128


def test_8_tying_saves_much_in_a_small_model_and_little_in_a_huge_one():
    shares = [family.count(family.PUBLIC[name]).tying_share for name in ("gpt2", "gpt2-xl", "gpt3-175b")]
    assert shares == sorted(shares, reverse=True)
    assert round(shares[0], 3) == 0.237
    assert shares[-1] < 0.004


# 9. Two implementations a student can read


def test_9_short_is_built_from_pytorchs_layers():
    short = gpt.ShortGPT(gpt.Config(50, 16, 24, 3, 2))
    assert isinstance(short.h, nn.TransformerEncoder)
    layer = short.h.layers[0]
    assert isinstance(layer, nn.TransformerEncoderLayer)
    assert layer.norm_first
    assert layer.self_attn.batch_first
    assert isinstance(short.h.norm, nn.LayerNorm)
    assert short.lm_head.weight is short.wte.weight
    assert "is_causal=True" in twice.sources()["short"]
    assert "generate_square_subsequent_mask" in twice.sources()["short"]


def test_9_long_is_built_from_primitives():
    kinds = {type(m) for m in gpt.LongGPT(gpt.Config(50, 16, 24, 3, 2)).modules()}
    library = {k for k in kinds if k.__module__.startswith("torch.nn")}
    assert library == {nn.Embedding, nn.LayerNorm, nn.Linear, nn.Sequential}
    assert "scaled_dot_product_attention" in twice.sources()["long"]


def test_9_both_hold_the_same_weights_and_give_the_librarys_logits(nano):
    shown = twice.equality(nano, nano.tokenizer.encode("The cat sat on the mat."))
    assert max(shown.short_library, shown.long_library, shown.short_long) <= 1e-4
    assert shown.same_choices
    assert len(set(shown.parameters.values())) == 1
