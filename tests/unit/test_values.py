"""What one head adds, against the same written by hand in float64, and where a family cannot be split."""

from __future__ import annotations

import pytest
import torch
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    GraniteConfig,
    GraniteForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    PreTrainedConfig,
)

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.looking import values

IDS = [11, 257, 300, 11, 42, 9, 1000]


def weight_of(projection: torch.nn.Module) -> torch.Tensor:
    """W_O as [h * d_v, d], float64."""
    weight = projection.weight.detach().double()
    return weight.T if isinstance(projection, torch.nn.Linear) else weight


def by_hand(decoder: Decoder, ids: list[int], layer: int, head: int, position: int) -> torch.Tensor:
    """The pieces [T, d] in float64, from the layer's query, key and value alone."""
    given = decoder.run(ids, inputs=[layer]).inputs[layer]
    groups = len(given.query) // len(given.key)
    query, key, value = (
        given.query[head].double(),
        given.key[head // groups].double(),
        given.value[head // groups].double(),
    )
    scores = (query[position] @ key.T) * given.scaling  # [T]
    scores[position + 1 :] = float("-inf")
    width = value.shape[-1]
    slice_ = weight_of(decoder.projections[layer])[head * width : (head + 1) * width]  # [d_v, d]
    return (scores.softmax(-1)[:, None] * value) @ slice_  # [T, d]


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama", "nano"])
@pytest.mark.parametrize("position", [-1, 3])
def test_pieces_are_weight_times_value_through_the_heads_slice(request, name, position):
    decoder = request.getfixturevalue(name)
    for layer, head in [(0, 0), (2, 3), (3, 1)]:
        found = values.carried(decoder, IDS, layer, head, position)
        pieces = by_hand(decoder, IDS, layer, head, position % len(IDS))
        assert (found.pieces.double() - pieces).abs().max() <= 1e-5
        assert (found.output.double() - pieces.sum(0)).abs().max() <= 1e-5
        assert (found.pieces.sum(0) - found.output).abs().max() <= 1e-5
        assert found.output_norm == pytest.approx(float(pieces.sum(0).norm()), abs=1e-4)
        assert found.longest >= found.output_norm - 1e-4
        assert torch.count_nonzero(found.contributions[position % len(IDS) + 1 :]) == 0


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama", "nano"])
def test_all_heads_and_the_bias_make_what_attention_adds(request, name):
    decoder = request.getfixturevalue(name)
    projection = decoder.projections[1]
    gave: list[torch.Tensor] = []
    handle = projection.register_forward_hook(lambda module, args, output: gave.append(output[0]))
    decoder.run(IDS)
    handle.remove()
    total = sum(values.carried(decoder, IDS, 1, head, -1).output for head in range(decoder.shape.heads))
    bias = projection.bias if projection.bias is not None else 0
    assert (gave[0][-1] - (total + bias)).abs().max() <= 1e-5


def test_the_stream_is_the_one_that_enters_the_layer(nano):
    run = nano.run(IDS, residual=True)
    found = values.carried(nano, IDS, 2, 0, 4)
    assert found.stream_norm == pytest.approx(float(run.residual[2, 4].norm()), rel=1e-5)
    cosine = torch.cosine_similarity(found.output, run.residual[2, 4].float(), dim=0)
    assert found.cosine == pytest.approx(float(cosine), abs=1e-5)


SIZES = {"vocab_size": 50257, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32,
         "intermediate_size": 64, "max_position_embeddings": 64}  # fmt: skip


def family(kind: type, config: PreTrainedConfig) -> Decoder:
    torch.manual_seed(0)
    return Decoder.from_model(kind(config), Tokenizer.gpt2(), name="tiny-other")


def test_a_family_that_normalises_first_says_so_in_one_sentence():
    decoder = family(Gemma2ForCausalLM, Gemma2Config(**SIZES, num_key_value_heads=2, head_dim=8))
    assert decoder.projections == [None, None]
    with pytest.raises(UserError, match="one matrix"):
        values.carried(decoder, IDS, 0, 0, -1)


def test_a_family_that_scales_what_it_adds_is_not_split():
    config = GraniteConfig(**SIZES, num_key_value_heads=2, residual_multiplier=0.5)
    assert family(GraniteForCausalLM, config).projections == [None, None]


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (GPTNeoXForCausalLM, GPTNeoXConfig(**SIZES, use_parallel_residual=True)),
        (OPTForCausalLM, OPTConfig(**SIZES, ffn_dim=64, word_embed_proj_dim=32)),
    ],
    ids=["parts side by side", "rows flattened on the way"],
)
def test_a_family_that_adds_its_heads_in_another_way_is_split(kind, config):
    decoder = family(kind, config)
    found = values.carried(decoder, IDS, 1, 2, -1)
    pieces = by_hand(decoder, IDS, 1, 2, len(IDS) - 1)
    assert (found.pieces.double() - pieces).abs().max() <= 1e-5


@pytest.mark.parametrize(
    ("layer", "head", "position", "says"), [(9, 0, 0, "layer is 9"), (0, 9, 0, "head is 9"), (0, 0, 7, "position is 7")]
)
def test_what_is_not_there_is_refused(nano, layer, head, position, says):
    with pytest.raises(UserError, match=says):
        values.carried(nano, IDS, layer, head, position)
