"""The rows a cache keeps, and the memory calculator, against the library's own configurations."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from gptviz.decoder.errors import UserError
from gptviz.lab.writing.cache_memory import allocator, kept_rows, learned_positions, memory, rows_of

IDS = [(37 * i + 11) % 50257 for i in range(20)]


@pytest.fixture(params=["nano", "tiny_gpt2", "tiny_llama", "smollm2"])
def decoder(request):
    return request.getfixturevalue(request.param)


def _rows(layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return layer.keys, layer.values


def test_a_prefix_has_the_same_keys_and_values_whatever_follows(decoder):
    kept = kept_rows(decoder, [i % decoder.shape.vocabulary for i in IDS], 8)
    assert kept.layer == min(5, decoder.shape.layers - 1)
    assert kept.edited == 0.0
    assert kept.alone <= 1e-4
    assert kept.equal
    assert kept.numbers == 2 * decoder.shape.kv_heads * 8 * decoder.shape.head_width


def test_the_rows_are_real_and_differ_between_positions_and_layers(tiny_llama):
    first, second = rows_of(tiny_llama, IDS, 1), rows_of(tiny_llama, IDS, 2)
    assert first.shape == (2, 2, 20, 8)
    assert (first - second).abs().max() > 0.1
    assert (first[:, :, 0] - first[:, :, 1]).abs().max() > 0.1


def test_rows_equal_the_models_own_projection(tiny_gpt2):
    """Layer 0 by hand: embed, norm, project."""
    model = tiny_gpt2.model.transformer
    with torch.no_grad():
        x = model.wte(torch.tensor(IDS)) + model.wpe(torch.arange(20))  # [T, d]
        _, key, value = model.h[0].attn.c_attn(model.h[0].ln_1(x)).split(32, dim=-1)  # [T, d] each
    rows = rows_of(tiny_gpt2, IDS, 0)
    assert (rows[0] - key.view(20, 4, 8).transpose(0, 1)).abs().max() <= 1e-5
    assert (rows[1] - value.view(20, 4, 8).transpose(0, 1)).abs().max() <= 1e-5


def test_a_model_that_reads_the_future_keeps_other_rows(tiny_gpt2):
    """The comparison can fail: with the mask off, later tokens reach the rows of layer 1 and up."""
    from transformers import DynamicCache

    from gptviz.decoder.attention import Lens, MaskRule

    def open_rows(ids):
        cache = DynamicCache()
        with torch.no_grad():
            tiny_gpt2.model(torch.tensor([ids]), cache=cache, use_cache=True, lens=Lens(MaskRule("none")))
        return cache.layers[2].keys[0, :, :8]

    assert (open_rows(IDS) - open_rows(IDS[:8])).abs().max() > 1e-2


@pytest.mark.parametrize("keep", [0, 20, -3])
def test_a_prefix_must_be_shorter_than_the_text(tiny_gpt2, keep):
    with pytest.raises(UserError, match="keep is"):
        kept_rows(tiny_gpt2, IDS, keep)


def test_the_numbers_of_the_course():
    small = memory("gpt2", 1024, dtype="float32")
    assert (small.per_token, small.cache) == (73_728, 75_497_472)
    assert memory("gpt2", 1024, dtype="float16").per_token == 36_864
    llama = memory("Llama-3-8B", 131_072)
    assert (llama.per_token, llama.cache) == (131_072, 17_179_869_184)
    assert llama.cache > llama.weights > 16e9
    assert llama.per_token_multi_head == 4 * llama.per_token


CONFIGS = {  # name → library configuration: the count must be the library's own
    "gpt2": ("gpt2", {}),
    "gpt2-medium": ("gpt2", {"n_layer": 24, "n_head": 16, "n_embd": 1024}),
    "gpt2-large": ("gpt2", {"n_layer": 36, "n_head": 20, "n_embd": 1280}),
    "gpt2-xl": ("gpt2", {"n_layer": 48, "n_head": 25, "n_embd": 1600}),
    "SmolLM2-135M": (
        "llama",
        {
            "vocab_size": 49152, "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
            "num_key_value_heads": 3, "intermediate_size": 1536, "tie_word_embeddings": True,
        },
    ),
    "Llama-3-8B": (
        "llama",
        {"vocab_size": 128256, "intermediate_size": 14336, "num_key_value_heads": 8},
    ),
    "Llama-3-70B": (
        "llama",
        {
            "vocab_size": 128256, "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
            "num_key_value_heads": 8, "intermediate_size": 28672,
        },
    ),
    "Mistral-7B": ("mistral", {}),
    "Qwen2.5-7B": (
        "qwen2",
        {
            "vocab_size": 152064, "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28,
            "num_key_value_heads": 4, "intermediate_size": 18944,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_weights_and_cache_shapes_are_the_librarys(name):
    kind, sizes = CONFIGS[name]
    config = AutoConfig.for_model(kind, **sizes)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
        parameters = sum(p.numel() for p in model.parameters())
        from transformers import DynamicCache

        cache = DynamicCache()
        model(torch.zeros(1, 3, dtype=torch.long), cache=cache, use_cache=True)
    found = memory(name, 3, dtype="float32")
    assert found.weights == 4 * parameters
    assert found.cache == sum(4 * t.numel() for layer in cache.layers for t in _rows(layer))
    assert found.source


def test_the_cache_outweighs_the_weights_from_the_crossing_on():
    found = memory("Mistral-7B", 4096, batch=8)
    assert memory("Mistral-7B", found.crossing).cache >= found.weights > memory("Mistral-7B", found.crossing - 1).cache
    assert found.cache == 8 * memory("Mistral-7B", 4096).cache


@pytest.mark.parametrize(
    ("name", "context", "batch", "dtype"),
    [
        ("gpt5", 1, 1, "float32"),
        ("gpt2", 0, 1, "float32"),
        ("gpt2", 1, 0, "float32"),
        ("gpt2", 1, 1, "int3"),
        ("gpt2", 1.5, 1, "float32"),
        ("gpt2", 10**9, 1, "float32"),
    ],
)
def test_bad_questions_get_one_sentence(name, context, batch, dtype):
    with pytest.raises(UserError, match="; "):
        memory(name, context, batch, dtype)


def test_only_cuda_has_an_allocator_to_ask():
    assert allocator(torch.device("cpu")) is None


def test_learned_positions_are_told_from_rotary_ones(tiny_gpt2, tiny_llama, nano):
    assert learned_positions(tiny_gpt2)
    assert learned_positions(nano)
    assert not learned_positions(tiny_llama)
