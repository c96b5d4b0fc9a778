"""The anatomy lesson's counts, tables and norms against the stock library."""

from __future__ import annotations

import copy

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.looking import anatomy

IDS = [(37 * i + 11) % 50257 for i in range(12)]
SHAPES = ["tiny_gpt2", "tiny_llama"]


@pytest.fixture(params=SHAPES)
def decoder(request) -> Decoder:
    return request.getfixturevalue(request.param)


def test_rows_hold_every_parameter_once(decoder):
    shown = anatomy.dissect(decoder.model)
    named = dict(decoder.model.named_parameters(remove_duplicate=False))
    listed = {f"{row.name}.{key}": shape for row in shown.rows for key, shape in row.tensors.items()}
    assert listed == {name: list(p.shape) for name, p in named.items()}
    assert shown.total == decoder.model.num_parameters() == decoder.shape.parameters
    assert sum(row.parameters for row in shown.rows) == shown.total


def test_rows_come_with_their_place_and_part(tiny_gpt2):
    rows = {row.name: row for row in anatomy.dissect(tiny_gpt2.model).rows}
    parts = {
        "transformer.wte": ("tokens", None, [50257, 32], 50257 * 32),
        "transformer.wpe": ("positions", None, [64, 32], 64 * 32),
        "transformer.h.2.ln_1": ("norm", 2, [32], 64),
        "transformer.h.2.attn.c_attn": ("attention", 2, [32, 96], 32 * 96 + 96),
        "transformer.h.2.mlp.c_fc": ("ffn", 2, [32, 128], 32 * 128 + 128),
        "transformer.ln_f": ("norm", None, [32], 64),
        "lm_head": ("head", None, [50257, 32], 0),
    }
    for name, expected in parts.items():
        row = rows[name]
        assert (row.role, row.layer, row.shape, row.parameters) == expected
    assert rows["lm_head"].shared_with == "transformer.wte"
    assert [name for name, row in rows.items() if row.shared_with] == ["lm_head"]


def test_an_untied_head_counts_for_itself(tiny_llama):
    shown = anatomy.dissect(tiny_llama.model)
    rows = {row.name: row for row in shown.rows}
    assert (rows["lm_head"].parameters, rows["lm_head"].shared_with) == (50257 * 32, "")
    assert (shown.tied, shown.tying_saves, shown.untied_total) == (False, 0, shown.total)
    assert shown.head_parameters == 50257 * 32
    assert {row.role for row in shown.rows} == {"tokens", "attention", "ffn", "norm", "head"}


def test_the_scheme_folds_equal_blocks(decoder):
    shown = anatomy.dissect(decoder.model)
    stages = anatomy.scheme(shown)
    roles = [stage.role for stage in stages]
    assert roles == [r for r in ["tokens", "positions", "block", "norm", "head"] if r in roles]
    block = next(stage for stage in stages if stage.role == "block")
    assert block.repeat == 4
    assert {row.layer for row in block.rows} == {0}
    assert sum(stage.parameters for stage in stages) == shown.total
    assert stages[-1].role == "head"


def test_blocks_that_differ_stay_apart():
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_head=2, n_embd=8, n_positions=8, vocab_size=20))
    model.transformer.h[2].mlp.c_fc.bias = None  # one block of another build
    stages = anatomy.scheme(anatomy.dissect(model))
    assert [stage.repeat for stage in stages if stage.role == "block"] == [2, 1, 1]


def test_totals_of_gpt2_small_need_no_weights():
    shown = anatomy.gpt2_small()
    assert (shown.total, shown.untied_total, shown.tying_saves) == (124_439_808, 163_037_184, 38_597_376)
    assert round(100 * shown.share, 1) == 23.7


@pytest.mark.parametrize("kind", ["qwen2", "qwen3", "gemma2", "gpt_neox", "phi"])
def test_other_families_are_taken_apart_too(kind):
    sizes = {"num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, vocab_size=300, pad_token_id=0, **sizes))
    shown = anatomy.dissect(model)
    assert shown.total == model.num_parameters()
    assert "other" not in {row.role for row in shown.rows}
    assert [stage.repeat for stage in anatomy.scheme(shown) if stage.role == "block"] == [3]


def test_position_norms_are_those_of_the_table(tiny_gpt2):
    shown = anatomy.positions(tiny_gpt2.model)
    table = tiny_gpt2.model.transformer.wpe.weight.detach().double()
    assert (shown.kind, shown.rows, shown.width) == ("learned", 64, 32)
    assert shown.norms == pytest.approx(table.square().sum(1).sqrt().tolist(), rel=1e-5)
    assert shown.past_the_end.startswith("IndexError: ")


def test_fresh_tables_have_the_spread_their_code_asks_for():
    plain, gpt2 = anatomy.fresh_tables()
    assert plain == pytest.approx(1.0, abs=0.01)
    assert gpt2 == pytest.approx(GPT2Config().initializer_range, abs=1e-4)
    assert anatomy.past_row(1024).startswith("IndexError")


def test_a_rotating_model_has_wavelengths_instead(tiny_llama):
    shown = anatomy.positions(tiny_llama.model)
    assert (shown.kind, shown.norms.tolist(), shown.past_the_end) == ("rotary", [], "")
    theta, width = 10_000.0, 8
    expected = [2 * torch.pi * theta ** (2 * i / width) for i in range(width // 2)]
    assert shown.wavelengths.tolist() == pytest.approx(expected, rel=1e-5)


def test_stream_lengths_against_the_librarys_hidden_states(decoder):
    model = copy.deepcopy(decoder.model).eval()
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        hidden = model(torch.tensor([IDS]), output_hidden_states=True, use_cache=False).hidden_states
    run = decoder.run(IDS, residual=True)
    shown = anatomy.stream(decoder, run)
    assert (len(shown.norms), len(shown.added), len(shown.final)) == (5, 4, 12)
    for layer in range(4):  # the library's last entry is taken after the final norm
        assert shown.norms[layer] == pytest.approx(hidden[layer][0].norm(dim=-1).tolist(), rel=1e-4)
    assert shown.final == pytest.approx(hidden[-1][0].norm(dim=-1).tolist(), rel=1e-4)
    step = (hidden[2] - hidden[1])[0].norm(dim=-1).tolist()
    assert shown.added[1] == pytest.approx(step, rel=1e-4)


def test_blocks_only_add_to_the_stream(tiny_gpt2):
    """Pre-norm: what leaves a block is what came in plus two outputs, so nothing normalises the stream itself."""
    model, parts = copy.deepcopy(tiny_gpt2.model), {}
    block = model.transformer.h[1]
    block.attn.register_forward_hook(lambda m, a, out: parts.update(attn=out[0]))
    block.mlp.register_forward_hook(lambda m, a, out: parts.update(mlp=out))
    with torch.inference_mode():
        model(torch.tensor([IDS]), use_cache=False)
    run = tiny_gpt2.run(IDS, residual=True)
    assert (run.residual[1] + parts["attn"][0] + parts["mlp"][0] - run.residual[2]).abs().max() <= 1e-4


def test_stream_needs_a_run_that_kept_it(tiny_gpt2):
    with pytest.raises(ValueError, match="residual=True"):
        anatomy.stream(tiny_gpt2, tiny_gpt2.run(IDS))


def test_a_tied_token_is_one_vector(tiny_gpt2):
    shown = anatomy.token_vector(tiny_gpt2, 3290)
    table = tiny_gpt2.model.transformer.wte.weight.detach().double()
    cosine = torch.nn.functional.cosine_similarity(table, table[3290][None], dim=1)
    best = cosine.topk(9)
    assert best.indices[0] == 3290
    assert (shown.tied, shown.max_delta, shown.width) == (True, 0.0, 32)
    assert shown.norm == pytest.approx(float(table[3290].norm()), rel=1e-5)
    assert [n.id for n in shown.near_in] == best.indices[1:].tolist()
    assert [n.cosine for n in shown.near_in] == pytest.approx(best.values[1:].tolist(), abs=1e-5)
    assert shown.near_out == shown.near_in


def test_an_untied_token_is_two_vectors(tiny_llama):
    shown = anatomy.token_vector(tiny_llama, 3290, count=4)
    assert not shown.tied
    assert shown.max_delta > 0
    assert len(shown.near_in) == len(shown.near_out) == 4
    assert [n.id for n in shown.near_in] != [n.id for n in shown.near_out]


def test_a_token_that_does_not_exist_gets_one_sentence(tiny_gpt2):
    with pytest.raises(UserError, match="50,257 does not exist"):
        anatomy.token_vector(tiny_gpt2, 50257)
