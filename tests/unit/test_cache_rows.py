"""The rows a cache keeps, in all layers: however a text goes on, and when all move down by one place."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from gptviz.decoder.attention import MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.writing.cache_rows import all_rows, moved, rows_of
from gptviz.lab.writing.edge import begin, shifted
from tests import tiny

IDS = [(37 * i + 11) % 50257 for i in range(20)]


@pytest.fixture(params=["nano", "tiny_gpt2", "tiny_llama", "smollm2"])
def decoder(request):
    return request.getfixturevalue(request.param)


def test_a_prefix_has_the_same_keys_and_values_whatever_follows(decoder):
    shape = decoder.shape
    found = moved(decoder, [i % shape.vocabulary for i in IDS], 8)
    assert found.edited.shape == (shape.layers, 20)
    assert found.cut.shape == (shape.layers, 8)
    assert torch.count_nonzero(found.edited[:, :8]) == 0
    assert (found.edited[:, 8:] > 0.1).all()
    assert found.cut.max() <= 1e-4
    assert found.equal
    assert found.numbers == 2 * shape.layers * shape.kv_heads * 8 * shape.head_width
    assert torch.equal(found.sample[0], found.sample[1])
    assert (found.sample[0] - found.sample[2]).abs().max() <= 1e-4


def test_rows_equal_the_models_own_projection(tiny_gpt2):
    """Layer 0 by hand: embed, norm, project."""
    model = tiny_gpt2.model.transformer
    with torch.no_grad():
        x = model.wte(torch.tensor(IDS)) + model.wpe(torch.arange(20))  # [T, d]
        _, key, value = model.h[0].attn.c_attn(model.h[0].ln_1(x)).split(32, dim=-1)  # [T, d] each
    rows = all_rows(tiny_gpt2, IDS)[0]
    assert (rows[0] - key.view(20, 4, 8).transpose(0, 1)).abs().max() <= 1e-5
    assert (rows[1] - value.view(20, 4, 8).transpose(0, 1)).abs().max() <= 1e-5


def test_the_rows_of_a_shared_run_are_those_a_cache_keeps(tiny_llama):
    kept, given = all_rows(tiny_llama, IDS), rows_of(tiny_llama, IDS)
    assert list(kept) == list(given) == list(range(tiny_llama.shape.layers))
    for layer, pair in kept.items():
        assert all(torch.equal(a, b) for a, b in zip(pair, given[layer], strict=True))


def test_a_model_that_reads_the_future_is_found_out(tiny_gpt2):
    """The comparison can fail: with the mask off, later tokens reach the rows of layer 1 and up."""
    found = moved(tiny_gpt2, IDS, 8, runs=partial(tiny_gpt2.run, rule=MaskRule("none")))
    assert not found.equal
    assert torch.count_nonzero(found.edited[0, :8]) == 0  # the first layer reads nobody before it projects
    assert (found.edited[1:, :8] > 1e-2).all()


@pytest.mark.parametrize("keep", [0, 20, -3])
def test_a_prefix_must_be_shorter_than_the_text(tiny_gpt2, keep):
    with pytest.raises(UserError, match="keep is"):
        moved(tiny_gpt2, IDS, keep)


def test_rows_of_unequal_width_are_compared_each_by_itself():
    decoder = Decoder.from_model(tiny.model("deepseek_v3", **tiny.DEEPSEEK), None)
    key, value = all_rows(decoder, tiny.ids())[2]
    assert key.shape[-1] != value.shape[-1]
    found = moved(decoder, tiny.ids(), 8)
    assert found.numbers == sum(k[:, :8].numel() + v[:, :8].numel() for k, v in all_rows(decoder, tiny.ids()).values())
    assert torch.count_nonzero(found.edited[:, :8]) == 0
    assert 0 < found.cut.max() <= 1e-4


def test_a_layer_that_reads_anothers_rows_is_left_out():
    sizes = {
        "head_dim": 8, "sliding_window": 5, "num_kv_shared_layers": 1, "laurel_rank": 4,
        "layer_types": ["sliding_attention", "full_attention", "full_attention"],
        "activation_sparsity_pattern": [0.0] * 3, "vocab_size_per_layer_input": tiny.V,
        "hidden_size_per_layer_input": 8, "intermediate_size": [64] * 3,
    }  # fmt: skip
    decoder = Decoder.from_model(tiny.model("gemma3n_text", **sizes), None)
    assert moved(decoder, tiny.ids(), 8).layers == [0, 1]


# The end of the context


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama"])
def test_past_the_end_the_cropped_text_is_read_again(request, name):
    decoder = request.getfixturevalue(name)
    C = decoder.shape.context
    run = begin(decoder, IDS, 3, 8)
    assert list(run) == run.written
    assert len(run.prompt) == C - 3
    assert run.fits == 3
    assert run.dropped == 4
    assert run.positions == [C - 3, 1, 1, 1, C, C, C, C]
    text = list(run.prompt)
    for token in run.written:  # the stock model, from nothing each time
        with torch.no_grad():
            logits = decoder.model(torch.tensor([text[-C:]]), use_cache=False).logits[0, -1]
        assert token == int(logits.argmax())
        text.append(token)


def test_a_context_that_is_too_short_is_said_so(tiny_gpt2):
    with pytest.raises(UserError, match="the context of tiny-gpt2 has 64 places"):
        begin(tiny_gpt2, IDS, 64, 8)


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama"])
def test_dropping_the_first_token_moves_what_was_kept(request, name):
    decoder = request.getfixturevalue(name)

    def keys(ids):
        with torch.no_grad():
            return [layer.keys[0] for layer in decoder.model(torch.tensor([ids])).past_key_values.layers]

    found = shifted(decoder, IDS)
    apart = [float((a[:, 1:] - b).abs().max()) for a, b in zip(keys(IDS), keys(IDS[1:]), strict=True)]
    assert found.moved >= max(apart) - 1e-5
    assert found.moved > found.typical > 0
    before, after = keys(IDS)[found.layer][:, -1], keys(IDS[1:])[found.layer][:, -1]
    turned = (before - after).norm(dim=-1) / before.norm(dim=-1)
    head = int(turned.argmax())
    assert (found.sample - torch.stack([before[head], after[head]])).abs().max() <= 1e-5
