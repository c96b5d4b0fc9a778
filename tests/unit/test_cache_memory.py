"""The memory calculator, against the library's own configurations."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from gptviz.decoder.errors import UserError
from gptviz.lab.writing.cache_memory import allocator, learned_positions, memory


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
    held: list[Any] = list(cache.layers)
    assert found.cache == sum(4 * (layer.keys.numel() + layer.values.numel()) for layer in held)
    assert found.source


def test_the_cache_outweighs_the_weights_from_the_crossing_on():
    name = "Llama-3.1-8B"
    found = memory(name, 4096, batch=8)
    assert memory(name, found.crossing).cache >= found.weights > memory(name, found.crossing - 1).cache
    assert found.cache == 8 * memory(name, 4096).cache


def test_a_window_bounds_what_each_text_keeps():
    found = memory("Mistral-7B", 32_768, batch=3)
    assert found.window == 4096
    assert found.cache == 3 * 4096 * found.per_token == 3 * memory("Mistral-7B", 4096).cache
    assert memory("Mistral-7B", 100).cache == 100 * found.per_token
    assert memory("Llama-3-8B", 32_768).window == 0


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
