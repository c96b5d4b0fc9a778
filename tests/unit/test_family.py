"""The parameter calculator against transformers' own models, built from their configurations without weights."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    OpenAIGPTConfig,
    OpenAIGPTLMHeadModel,
    Qwen2Config,
)

from gptviz.decoder.errors import UserError
from gptviz.lab.looking import family
from gptviz.lab.looking.family import PUBLIC, Spec, count


def gpt2(d, L, h, C=1024):
    return GPT2Config(n_embd=d, n_layer=L, n_head=h, n_positions=C)


def llama(kind, d, L, h, kv, V, ffn, tied=False):
    return kind(
        hidden_size=d,
        num_hidden_layers=L,
        num_attention_heads=h,
        num_key_value_heads=kv,
        vocab_size=V,
        intermediate_size=ffn,
        tie_word_embeddings=tied,
    )


# name: the library's configuration, and the number of parameters that its public checkpoint holds
MODELS = {
    "openai-gpt": (OpenAIGPTConfig(), 116_534_784),
    "gpt2": (gpt2(768, 12, 12), 124_439_808),
    "gpt2-medium": (gpt2(1024, 24, 16), 354_823_168),
    "gpt2-large": (gpt2(1280, 36, 20), 774_030_080),
    "gpt2-xl": (gpt2(1600, 48, 25), 1_557_611_200),
    "distilgpt2": (gpt2(768, 6, 12), 81_912_576),
    "gpt3-175b": (gpt2(12288, 96, 96, C=2048), 174_600_000_000),  # its paper rounds to 175.0 B
    "SmolLM2-135M": (llama(LlamaConfig, 576, 30, 9, 3, 49152, 1536, True), 134_515_008),
    "SmolLM2-360M": (llama(LlamaConfig, 960, 32, 15, 5, 49152, 2560, True), 361_821_120),
    "SmolLM2-1.7B": (llama(LlamaConfig, 2048, 24, 32, 32, 49152, 8192, True), 1_711_376_384),
    "TinyLlama-1.1B": (llama(LlamaConfig, 2048, 22, 32, 4, 32000, 5632), 1_100_048_384),
    "Llama-2-7B": (llama(LlamaConfig, 4096, 32, 32, 32, 32000, 11008), 6_738_415_616),
    "Mistral-7B": (llama(MistralConfig, 4096, 32, 32, 8, 32000, 14336), 7_241_732_096),
    "Llama-3-8B": (llama(LlamaConfig, 4096, 32, 32, 8, 128256, 14336), 8_030_261_248),
    "Llama-3.1-8B": (llama(LlamaConfig, 4096, 32, 32, 8, 128256, 14336), 8_030_261_248),
    "Llama-3-70B": (llama(LlamaConfig, 8192, 80, 64, 8, 128256, 28672), 70_553_706_496),
    "Llama-3.2-1B": (llama(LlamaConfig, 2048, 16, 32, 8, 128256, 8192, True), 1_235_814_400),
    "Qwen2.5-0.5B": (llama(Qwen2Config, 896, 24, 14, 2, 151936, 4864, True), 494_032_768),
    "Qwen2.5-7B": (llama(Qwen2Config, 3584, 28, 28, 4, 152064, 18944), 7_615_616_512),
}


def build(config):
    with torch.device("meta"):
        if isinstance(config, OpenAIGPTConfig):
            return OpenAIGPTLMHeadModel(config)
        return AutoModelForCausalLM.from_config(config)


def test_every_public_model_is_checked():
    assert set(MODELS) == set(PUBLIC)
    assert len(MODELS) >= 8


@pytest.mark.parametrize("name", MODELS)
def test_the_calculator_equals_the_library_to_the_last_parameter(name):
    config, published = MODELS[name]
    model = build(config)
    total = sum(p.numel() for p in model.parameters())
    assert count(PUBLIC[name]).total == total
    assert total == pytest.approx(published, rel=1e-3 if name == "gpt3-175b" else 0)


@pytest.mark.parametrize("name", ["gpt2", "SmolLM2-135M", "Llama-3-8B", "Qwen2.5-0.5B", "openai-gpt"])
def test_each_part_equals_the_librarys_modules(name):
    found = dict.fromkeys(("tokens", "positions", "attention", "ffn", "norms", "head"), 0)
    for path, p in build(MODELS[name][0]).named_parameters():
        part = (
            "tokens" if "wte" in path or "tokens_embed" in path or "embed_tokens" in path
            else "positions" if "wpe" in path or "positions_embed" in path
            else "attention" if "attn" in path
            else "ffn" if "mlp" in path
            else "head" if "lm_head" in path
            else "norms"
        )  # fmt: skip
        found[part] += p.numel()
    counted = count(PUBLIC[name])
    assert {part: getattr(counted, part) for part in found} == found


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(
    ("d", "L", "h", "kv", "V", "C", "ffn"), [(24, 1, 3, 1, 11, 7, 0), (64, 5, 8, 4, 1000, 33, 100)]
)
def test_any_shape_of_both_styles(d, L, h, kv, V, C, ffn, tied):
    ours = count(family.build(d, L, h, V, C, tied, "swiglu", kv, ffn)).total
    inner = ffn or -(-int(8 * d / 3) // 256) * 256  # Llama's rule
    assert ours == sum(p.numel() for p in build(llama(LlamaConfig, d, L, h, kv, V, inner, tied)).parameters())
    config = GPT2Config(
        n_embd=d, n_layer=L, n_head=h, n_positions=C, vocab_size=V, n_inner=ffn or None, tie_word_embeddings=tied
    )
    ours = count(family.build(d, L, h, V, C, tied, "gelu", ffn_width=ffn)).total
    assert ours == sum(p.numel() for p in build(config).parameters())


def test_tying_is_large_for_a_small_model_and_little_for_a_huge_one():
    small, huge = count(PUBLIC["gpt2"]), count(PUBLIC["gpt3-175b"])
    assert (small.untied_total, small.tying_saves) == (163_037_184, 38_597_376)
    assert round(small.tying_share, 3) == 0.237
    assert huge.tying_share < 0.004


def test_the_story_changes_what_it_says():
    story = [PUBLIC[name] for name in family.STORY]
    assert [spec.year for spec in story] == [2018, 2019, 2020, 2024]
    found = [family.changes(a, b) for a, b in itertools.pairwise(story)]
    assert found[0] == {"order": ("post", "pre")}
    assert found[1] == {}
    assert set(found[2]) == {"norm", "positions", "ffn", "biases", "tied", "grouped"}
    assert found[2]["positions"] == ("learned", "rotary")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"d": 0}, "d is 0"),
        ({"L": 10**6}, "L is 1,000,000"),
        ({"V": 3.5}, "V is 3.5"),
        ({"h": 7}, "which 7 heads do not divide"),
        ({"kv_heads": 5}, "kv_heads is 5, which does not divide h = 12"),
        ({"ffn_width": -1}, "ffn_width is −1"),
    ],
)
def test_impossible_shapes_get_one_sentence(change, says):
    with pytest.raises(UserError, match=says) as refusal:
        count(replace(PUBLIC["gpt2"], **change))
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize("name", PUBLIC)
def test_the_calculator_knows_a_public_shape_and_forgets_its_name_when_it_changes(name):
    p = PUBLIC[name]
    same = family.build(p.d, p.L, p.h, p.V, p.C, p.tied, p.ffn, p.kv_heads, p.inner, like=name)
    assert same == p
    other = family.build(p.d, p.L + 1, p.h, p.V, p.C, p.tied, p.ffn, p.kv_heads, p.inner, like=name)
    assert (other.name, other.source, other.biases, other.order) == ("", "", p.biases, p.order)
    grown = count(other).total - count(p).total
    assert grown == (count(p).attention + count(p).ffn) // p.L + 2 * p.d * (2 if p.norm == "layer" else 1)


def test_an_unknown_style_is_named():
    with pytest.raises(UserError, match='"relu"'):
        family.build(8, 1, 1, 10, 10, ffn="relu")


def test_every_public_shape_says_where_it_comes_from():
    assert all(isinstance(spec, Spec) and spec.source and spec.year for spec in PUBLIC.values())
