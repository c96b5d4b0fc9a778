"""The engine against the library's own model, on the same ids."""

from __future__ import annotations

import copy

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

from gptviz.decoder.attention import MaskRule, allowed
from gptviz.decoder.decoder import Decoder, pick_device, pick_dtype
from gptviz.decoder.errors import UserError
from gptviz.decoder.tokens import Tokenizer

IDS = [(37 * i + 11) % 50257 for i in range(20)]
SHAPES = ["tiny_gpt2", "tiny_llama"]


@pytest.fixture(params=SHAPES)
def decoder(request) -> Decoder:
    return request.getfixturevalue(request.param)


def stock(decoder: Decoder, implementation: str):
    """The same weights in the library's own hands."""
    model = copy.deepcopy(decoder.model)
    model.set_attn_implementation(implementation)
    return model.eval()


@torch.inference_mode()
def logits_of(model, ids) -> torch.Tensor:
    return model(torch.tensor([ids]), use_cache=False).logits[0]


def test_logits_equal_the_library_bit_for_bit_when_nothing_is_captured(decoder):
    assert torch.equal(decoder.run(IDS).logits, logits_of(stock(decoder, "sdpa"), IDS))


def test_capture_leaves_logits_within_float_noise(decoder):
    reference = logits_of(stock(decoder, "eager"), IDS)
    run = decoder.run(IDS, capture=range(decoder.shape.layers))
    assert (run.logits - reference).abs().max() <= 1e-4


def test_weights_equal_the_librarys_own_attentions(decoder):
    model = stock(decoder, "eager")
    with torch.inference_mode():
        theirs = model(torch.tensor([IDS]), output_attentions=True, use_cache=False).attentions
    run = decoder.run(IDS, capture=range(decoder.shape.layers))
    assert sorted(run.attention) == list(range(decoder.shape.layers))
    for layer, ours in run.attention.items():
        assert ours.weights.shape == (decoder.shape.heads, 20, 20)
        assert (ours.weights - theirs[layer][0]).abs().max() <= 1e-5


def test_rows_sum_to_one_and_the_future_weighs_exactly_zero(decoder):
    run = decoder.run(IDS, capture=range(decoder.shape.layers))
    for layer in run.attention.values():
        assert (layer.weights.sum(-1) - 1).abs().max() <= 1e-5
        assert torch.count_nonzero(layer.weights.triu(1)) == 0
        assert torch.count_nonzero(layer.scores.triu(1)) > 0  # scores are taken before the mask


@pytest.mark.parametrize("direction", ["none", "wrong_way"])
def test_only_the_open_layers_change_their_pattern(decoder, direction):
    run = decoder.run(IDS, rule=MaskRule(direction, frozenset({1})), capture=range(decoder.shape.layers))
    for layer, shown in run.attention.items():
        future = torch.count_nonzero(shown.weights.triu(1))
        past = torch.count_nonzero(shown.weights.tril(-1))
        assert (future > 0) == (layer == 1)
        assert (past > 0) == (layer != 1 or direction == "none")


@pytest.mark.parametrize("direction", ["none", "wrong_way"])
def test_an_open_layer_gives_the_same_logits_captured_or_not(decoder, direction):
    rule = MaskRule(direction, frozenset({0, 2}))
    shown = decoder.run(IDS, rule=rule, capture=range(decoder.shape.layers)).logits
    assert (decoder.run(IDS, rule=rule).logits - shown).abs().max() <= 1e-4


def test_the_wholly_open_model_equals_the_library_with_a_full_mask(decoder):
    model = stock(decoder, "eager")
    full = torch.zeros(1, 1, len(IDS), len(IDS))  # additive mask, nothing hidden
    with torch.inference_mode():
        reference = model(torch.tensor([IDS]), attention_mask=full, use_cache=False).logits[0]
    assert (decoder.run(IDS, rule=MaskRule("none")).logits - reference).abs().max() <= 1e-4


@pytest.mark.parametrize("chunk", [1, 3])
def test_prefill_then_a_chunk_equals_one_pass(decoder, chunk):
    from transformers import DynamicCache

    cache = DynamicCache()
    decoder.step(IDS[:5], cache)
    last = decoder.step(IDS[5 : 5 + chunk], cache)
    assert (last - decoder.run(IDS[: 5 + chunk]).logits[-1]).abs().max() <= 1e-4


def test_a_chunk_after_a_cache_is_masked_bottom_right():
    assert allowed("causal", 3, 8).tolist() == torch.ones(3, 8, dtype=torch.bool).tril(5).tolist()
    assert allowed("causal", 1, 8).all()


def test_residual_stream_equals_the_librarys_hidden_states(decoder):
    model = stock(decoder, "sdpa")
    with torch.inference_mode():
        theirs = model(torch.tensor([IDS]), output_hidden_states=True, use_cache=False)
    run = decoder.run(IDS, residual=True)
    assert run.residual.shape == (decoder.shape.layers + 1, 20, decoder.shape.width)
    assert torch.equal(run.residual[:-1], torch.cat(theirs.hidden_states[:-1]))
    # The library's last hidden state is taken after the final norm, ours before it.
    assert (decoder.head(run.residual[-1]) - theirs.logits[0]).abs().max() <= 1e-4


@pytest.mark.parametrize("rule", [MaskRule(), MaskRule("none"), MaskRule("wrong_way")], ids=lambda r: r.direction)
def test_a_padded_row_equals_the_row_alone(decoder, rule):
    rows = [IDS[:7], IDS, IDS[3:16]]
    for row, run in zip(rows, decoder.batch(rows, rule=rule, residual=True), strict=True):
        alone = decoder.run(row, rule=rule, residual=True)
        assert (run.logits - alone.logits).abs().max() <= 1e-4
        assert (run.residual - alone.residual).abs().max() <= 1e-4
        assert torch.isfinite(run.logits).all()


def test_observing_sees_every_layer_and_keeps_none(decoder):
    seen = {}
    run = decoder.run(IDS, observe=lambda layer, scores, weights: seen.update({layer: weights.clone()}))
    kept = decoder.run(IDS, capture=range(decoder.shape.layers)).attention
    assert run.attention == {}
    assert all(torch.equal(seen[layer], kept[layer].weights) for layer in range(decoder.shape.layers))


def test_stream_with_and_without_cache_writes_the_same_tokens(decoder):
    def greedy(logits):
        return int(logits.argmax())

    cached = list(decoder.stream(IDS[:6], greedy, max_new_tokens=20))
    plain = list(decoder.stream(IDS[:6], greedy, max_new_tokens=20, use_cache=False))
    assert [s.id for s in cached] == [s.id for s in plain]
    assert [s.positions for s in cached] == [6] + [1] * 19
    assert [s.positions for s in plain] == list(range(6, 26))
    assert max((a.logits - b.logits).abs().max() for a, b in zip(cached, plain, strict=True)) <= 1e-4
    shape = decoder.shape
    assert cached[-1].cache_bytes == 2 * shape.layers * shape.kv_heads * shape.head_width * 4 * 25
    assert plain[-1].cache_bytes == 0


def test_stream_stops_at_the_end_of_the_context(decoder):
    steps = list(decoder.stream(IDS * 3, lambda logits: 5, max_new_tokens=50))
    assert len(steps) == decoder.shape.context - 60


def test_requests_running_at_once_do_not_see_each_other(tiny_gpt2):
    from concurrent.futures import ThreadPoolExecutor

    rules = [MaskRule(), MaskRule("none"), MaskRule("none", frozenset({2})), MaskRule("wrong_way")] * 4
    alone = [tiny_gpt2.run(IDS, rule=rule).logits for rule in rules]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda rule: tiny_gpt2.run(IDS, rule=rule).logits, rules))
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))


def test_head_counts_come_from_the_model(tiny_llama, tiny_gpt2):
    assert (tiny_llama.shape.heads, tiny_llama.shape.kv_heads, tiny_llama.shape.tied) == (4, 2, False)
    assert (tiny_gpt2.shape.heads, tiny_gpt2.shape.kv_heads, tiny_gpt2.shape.tied) == (4, 4, True)


def small(kind: str, **sizes):
    common = {"vocab_size": 300, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **common, **sizes)).eval()


LLAMA_LIKE = {
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "hidden_size": 32,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("mistral", {**LLAMA_LIKE, "num_key_value_heads": 2, "sliding_window": 5}),
        ("gemma2", {**LLAMA_LIKE, "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 5}),
        ("qwen3", {**LLAMA_LIKE, "num_key_value_heads": 2, "head_dim": 8}),
        ("gpt_neox", LLAMA_LIKE),
        ("phi", LLAMA_LIKE),
    ],
)
def test_other_architectures_equal_the_library_too(kind, sizes):
    model = small(kind, **sizes)
    ids = [i % 300 for i in IDS]
    reference = logits_of(model, ids)
    decoder = Decoder.from_model(model, None)
    assert (decoder.run(ids).logits - reference).abs().max() <= 1e-4
    assert (decoder.run(ids, capture=[0, 1, 2]).logits - reference).abs().max() <= 1e-4


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("bloom", {"n_layer": 3, "n_head": 4, "hidden_size": 32}),
        (
            "gpt_neo",
            {"num_layers": 2, "num_heads": 4, "hidden_size": 32, "attention_types": [[["global", "local"], 1]]},
        ),
        ("mamba", {"num_hidden_layers": 3, "hidden_size": 32}),
    ],
)
def test_an_architecture_off_the_interface_is_refused_in_one_sentence(kind, sizes):
    with pytest.raises(UserError, match=kind) as refusal:
        Decoder.from_model(small(kind, **sizes), None)
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("ids", [[], [50257], [-1], list(range(65))], ids=["none", "above", "below", "too many"])
def test_bad_ids_get_one_sentence(tiny_gpt2, ids):
    with pytest.raises(UserError) as refusal:
        tiny_gpt2.run(ids)
    assert str(refusal.value).count(".") == 1


def test_bad_layers_heads_devices_and_rules_get_one_sentence(tiny_gpt2):
    for call in (
        lambda: tiny_gpt2.check_layer(4),
        lambda: tiny_gpt2.check_head(-1),
        lambda: MaskRule("sideways"),
        lambda: pick_device("abacus"),
        lambda: pick_dtype("float7"),
    ):
        with pytest.raises(UserError):
            call()


def test_bfloat16_is_on_request(tiny_gpt2, tmp_path):
    tiny_gpt2.model.save_pretrained(tmp_path)
    half = Decoder.from_model(AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16), tiny_gpt2.tokenizer)
    run = half.run(IDS, capture=[0])
    assert half.dtype is torch.bfloat16
    assert (run.attention[0].weights.sum(-1) - 1).abs().max() <= 1e-5  # softmax stays in float32
    assert torch.count_nonzero(run.attention[0].weights.triu(1)) == 0


def test_two_decoders_around_one_model_see_each_layer_once() -> None:
    model = GPT2LMHeadModel(GPT2Config(n_layer=3, n_head=2, n_embd=16, n_positions=32))
    first = Decoder.from_model(model, Tokenizer.gpt2())
    second = Decoder.from_model(model, Tokenizer.gpt2())
    for decoder in (first, second):
        stream = decoder.run([1, 2, 3], residual=True).residual
        assert stream is not None
        assert stream.shape == (4, 3, 16)
