"""What the lessons teach, claim by claim: section, then statement, each checked by running it."""

from __future__ import annotations

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder import gpt
from gptviz.decoder.attention import MaskRule, allowed
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.looking import anatomy
from gptviz.lab.masking import leak
from gptviz.lab.teaching import own_words, teacher_forcing
from gptviz.lessons import training

IDS = [(37 * i + 11) % 50257 for i in range(12)]


@pytest.fixture(scope="module")
def twelve() -> Decoder:
    """GPT-2 small's 12 layers of 12 heads, narrow, with random weights."""
    torch.manual_seed(0)
    config = GPT2Config(n_layer=12, n_head=12, n_embd=48, n_positions=32, initializer_range=0.3)
    return Decoder.from_model(GPT2LMHeadModel(config), Tokenizer.gpt2(), name="twelve")


@pytest.fixture(scope="module")
def small() -> dict[str, torch.Tensor]:
    """GPT-2 small's own parameters by name, shapes only."""
    with torch.device("meta"):
        return dict(GPT2LMHeadModel(GPT2Config()).named_parameters(remove_duplicate=False))


def head(mask: torch.Tensor | None, x: torch.Tensor) -> torch.Tensor:
    """Bare attention of x [T, d] with itself: softmax(S + M)·V."""
    scores = x @ x.T / math.sqrt(x.shape[1])
    return (scores if mask is None else scores + mask).softmax(-1) @ x


def minus_infinity(T: int) -> torch.Tensor:
    return torch.full((T, T), -torch.inf).triu(1)


def toy() -> torch.Tensor:
    """Four token vectors: the, cat, sat, down."""
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(0))


# 1. The problem


def test_1_a_language_model_gives_p_of_each_token_after_those_before_it(tiny_gpt2):
    p = tiny_gpt2.run(IDS).logits.double().softmax(-1)
    assert p.shape == (12, 50257)
    assert (p.sum(-1) - 1).abs().max() < 1e-9
    assert p.min() > 0


def test_1_one_pass_makes_all_the_predictions_of_the_sliding_card(tiny_gpt2):
    passes = []
    handle = tiny_gpt2.model.register_forward_hook(lambda *a: passes.append(1))
    together = tiny_gpt2.run(IDS).logits
    assert len(passes) == 1
    handle.remove()
    card = torch.stack([tiny_gpt2.run(IDS[: t + 1]).logits[-1] for t in range(12)])  # one run a token
    assert (together - card).abs().max() <= 1e-4


def test_1_the_loss_is_the_mean_of_the_cross_entropies(tiny_gpt2):
    scored = teacher_forcing.score(tiny_gpt2.run(IDS))
    one_by_one = [
        F.cross_entropy(tiny_gpt2.run(IDS[: t + 1]).logits[-1:], torch.tensor(IDS[t + 1 : t + 2])) for t in range(11)
    ]
    assert scored.loss == pytest.approx(float(torch.stack(one_by_one).mean()), abs=1e-4)


def test_1_pytorchs_encoder_and_decoder_layers_differ_by_cross_attention():
    encoder, decoder = nn.TransformerEncoderLayer(8, 2), nn.TransformerDecoderLayer(8, 2)
    extra = set(dict(decoder.named_children())) - set(dict(encoder.named_children()))
    assert extra == {"multihead_attn", "norm3", "dropout3"}  # the third sublayer


def test_1_neither_of_them_masks_by_itself():
    torch.manual_seed(0)
    x, changed = torch.randn(1, 5, 8), torch.randn(1, 5, 8)
    changed[:, :4] = x[:, :4]
    sizes = {"d_model": 8, "nhead": 2, "dropout": 0.0, "batch_first": True}
    encoder, decoder = nn.TransformerEncoderLayer(**sizes).eval(), nn.TransformerDecoderLayer(**sizes).eval()
    with torch.no_grad():
        assert (encoder(x) - encoder(changed))[:, :4].abs().max() > 1e-3
        assert (decoder(x, x[:, :1]) - decoder(changed, x[:, :1]))[:, :4].abs().max() > 1e-3


def test_1_an_encoder_layer_under_a_causal_mask_is_a_decoder_block():
    torch.manual_seed(0)
    block = gpt.Block(24, 3, "causal").eval()
    layer = nn.TransformerEncoderLayer(24, 3, 96, 0.0, gpt.gelu, batch_first=True, norm_first=True).eval()
    layer.load_state_dict(
        {name.removeprefix("h.layers.0."): w for name, w in gpt.as_short({
            f"h.0.{name}": w for name, w in block.state_dict().items()
        }).items()}
    )  # fmt: skip
    x = torch.randn(2, 7, 24)
    with torch.no_grad():
        masked = layer(x, src_mask=nn.Transformer.generate_square_subsequent_mask(7), is_causal=True)
        assert (masked - block(x)).abs().max() < 1e-5
        assert (layer(x) - block(x)).abs().max() > 1e-2


# 2. Embeddings


def test_2_the_token_table_is_50257_by_768(small):
    assert list(small["transformer.wte.weight"].shape) == [50257, 768]


def test_2_the_position_table_is_1024_by_768(small):
    assert list(small["transformer.wpe.weight"].shape) == [1024, 768]


def test_2_positions_are_added_to_the_token_vectors(tiny_gpt2):
    model = tiny_gpt2.model.transformer
    stream = tiny_gpt2.run(IDS, residual=True).residual[0]
    assert torch.equal(stream, (model.wte.weight[IDS] + model.wpe.weight[:12]).detach())


def test_2_an_embedding_starts_from_the_standard_normal():
    torch.manual_seed(0)
    weight = nn.Embedding(1000, 768).weight.detach()
    assert abs(float(weight.mean())) < 0.01
    assert abs(float(weight.std()) - 1) < 0.01


def test_2_gpt_code_starts_from_a_standard_deviation_of_two_hundredths():
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=96, vocab_size=5000))
    assert abs(float(model.transformer.wte.weight.detach().std()) - 0.02) < 0.0005


def test_2_there_is_no_row_1024():
    assert "out of range" in anatomy.past_the_end(torch.zeros(1024, 1))
    assert F.embedding(torch.tensor([1023]), torch.zeros(1024, 1)).shape == (1, 1)


def test_2_the_context_is_a_hard_limit(twelve):
    twelve.run([5] * 32)
    with pytest.raises(UserError, match="33 tokens"):
        twelve.run([5] * 33)


# 3. Causal self-attention


def test_3_attention_is_softmax_of_scaled_scores_plus_mask_times_values(tiny_gpt2):
    given = tiny_gpt2.run(IDS, inputs=[1], capture=[1])
    q, k = given.inputs[1].query.double(), given.inputs[1].key.double()  # [h, T, d_k]
    scores = q @ k.transpose(1, 2) / math.sqrt(8)
    kept = given.attention[1]
    assert (kept.scores - scores).abs().max() <= 1e-4
    assert (kept.weights - (scores + minus_infinity(12)).softmax(-1)).abs().max() <= 1e-5


def test_3_four_tokens_see_the_lower_triangle():
    assert allowed("causal", 4, 4).int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]


def test_3_three_ways_to_write_the_mask_agree():
    x = toy()
    additive = head(minus_infinity(4), x)
    scores = x @ x.T / math.sqrt(8)
    boolean = scores.masked_fill(~torch.ones(4, 4, dtype=torch.bool).tril(), -torch.inf).softmax(-1) @ x
    flag = F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True)[0]
    assert torch.equal(additive, boolean)
    assert (additive - flag).abs().max() < 1e-6


def test_3_the_flag_refuses_an_extra_mask_in_pytorchs_reference_kernel():
    x = toy()[None, None]
    reference = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with reference, pytest.raises(RuntimeError, match="attn_mask should not be set when is_causal"):
        F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(4, 4, dtype=torch.bool), is_causal=True)


def test_3_prefix_invariance_of_the_toy_is_exact():
    x = toy()
    assert float((head(minus_infinity(4), x)[:3] - head(minus_infinity(3), x[:3])).abs().max()) == 0.0


def test_3_without_the_mask_the_toy_moves_by_tenths():
    x = toy()
    assert 0.1 < float((head(None, x)[:3] - head(None, x[:3])).abs().max()) < 3


def test_3_stacking_keeps_prefix_invariance(twelve):
    change = leak.contamination(twelve, IDS, 6, 777).change  # [L+1, T]
    assert torch.count_nonzero(change[:, :6]) == 0
    assert (change[:, 6] > 0).all()


def test_3_one_open_layer_leaks_into_all_later_layers(twelve):
    """Opening layer 3 of 12 (number 2, counted from 0) contaminates 3 … 12, not 1 … 2."""
    change = leak.contamination(twelve, IDS, 6, 777, MaskRule("none", frozenset({2}))).change
    before = change[:, :6].amax(-1)  # [embedding, after layer 1, …, after layer 12]
    assert torch.count_nonzero(before[:3]) == 0
    assert (before[3:] > 0).all()


def test_3_a_mask_that_points_the_wrong_way_reads_the_future_too(twelve):
    change = leak.contamination(twelve, IDS, 6, 777, MaskRule("wrong_way")).change
    assert (change[-1, :6] > 0).all()
    assert torch.count_nonzero(change[:, 7:]) == 0


# 4. The block and the stack


def test_4_blocks_add_to_the_stream_and_never_normalise_it(tiny_gpt2):
    model, parts = copy.deepcopy(tiny_gpt2.model), {}
    block = model.transformer.h[0]
    block.attn.register_forward_hook(lambda m, a, out: parts.update(attn=out[0]))
    block.mlp.register_forward_hook(lambda m, a, out: parts.update(mlp=out, read=a[0]))
    block.ln_2.register_forward_hook(lambda m, a, out: parts.update(normed=out, stream=a[0]))
    with torch.inference_mode():
        model(torch.tensor([IDS]), use_cache=False)
    before, after = tiny_gpt2.run(IDS, residual=True).residual[:2]
    assert (before + parts["attn"][0] - parts["stream"][0]).abs().max() <= 1e-5  # x + Attn(LN(x))
    assert (parts["stream"][0] + parts["mlp"][0] - after).abs().max() <= 1e-5  # x + FFN(LN(x))
    assert torch.equal(parts["read"], parts["normed"])  # the sublayer reads the normalised copy


def test_4_one_more_norm_follows_the_last_block(small):
    norms = {name.rsplit(".", 1)[0] for name in small if ".ln_" in name}
    assert len(norms) == 2 * 12 + 1
    assert "transformer.ln_f" in norms


def test_4_the_ffn_is_768_to_3072_to_768(small):
    assert list(small["transformer.h.0.mlp.c_fc.weight"].shape) == [768, 3072]
    assert list(small["transformer.h.0.mlp.c_proj.weight"].shape) == [3072, 768]
    assert 3072 == 4 * 768


def test_4_gpt2_uses_the_tanh_form_of_gelu(tiny_gpt2):
    x = torch.linspace(-4, 4, 101, dtype=torch.float64)
    by_hand = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    library = tiny_gpt2.model.transformer.h[0].mlp.act
    assert (gpt.gelu(x) - by_hand).abs().max() < 1e-12
    assert (library(x) - by_hand).abs().max() < 1e-12
    assert 1e-5 < (F.gelu(x) - by_hand).abs().max() < 1e-3  # the exact form is close, not equal


def test_4_gpt2_small_has_12_layers_of_12_heads_and_124_439_808_parameters(small):
    config, shown = GPT2Config(), anatomy.gpt2_small()
    assert (config.n_layer, config.n_head, config.n_embd) == (12, 12, 768)
    once = {id(p): p.numel() for p in small.values()}
    assert sum(once.values()) == shown.total == 124_439_808


def test_4_the_lm_head_shares_the_token_table(small):
    assert small["lm_head.weight"] is small["transformer.wte.weight"]
    assert list(small["lm_head.weight"].shape) == [50257, 768]


def test_4_tying_saves_38_597_376_parameters_of_163_037_184():
    shown = anatomy.gpt2_small()
    with torch.device("meta"):
        untied = GPT2LMHeadModel(GPT2Config(tie_word_embeddings=False))
    assert sum(p.numel() for p in untied.parameters()) == shown.untied_total == 163_037_184
    assert shown.tying_saves == 50257 * 768 == 38_597_376


def test_4_that_is_23_7_percent():
    assert round(100 * anatomy.gpt2_small().share, 1) == 23.7


def test_4_tying_is_one_assignment_because_both_store_the_same_layout():
    table, linear = nn.Embedding(50, 8), nn.Linear(8, 50, bias=False)
    assert table.weight.shape == linear.weight.shape
    linear.weight = table.weight
    x = torch.randn(3, 8)
    assert torch.equal(linear(x), F.linear(x, table.weight))


# 5. Training


def test_5_abcd_gives_three_scored_predictions():
    inputs, targets = teacher_forcing.shift(["a", "b", "c", "d"])
    assert inputs == ["a", "b", "c"]
    assert targets == ["b", "c", "d"]


def test_5_every_token_is_a_signal_where_masked_training_uses_15_percent():
    shown = teacher_forcing.signal(100)
    assert shown.decoder_targets == 99
    assert len(shown.masked) == 15


def test_5_labels_are_the_text_itself(tiny_gpt2):
    given = tiny_gpt2.model.config  # the library too is handed the same ids twice
    assert given.model_type == "gpt2"
    model = copy.deepcopy(tiny_gpt2.model)
    model.set_attn_implementation("sdpa")
    text = torch.tensor([IDS])
    with torch.inference_mode():
        loss = float(model(text, labels=text).loss)
    assert teacher_forcing.score(tiny_gpt2.run(IDS)).loss == pytest.approx(loss, abs=1e-4)


def test_5_padding_counted_in_the_loss_moves_the_mean(nano):
    ids = nano.tokenizer.encode("Once upon a time there was a small cat.")
    shown = teacher_forcing.padding(nano, ids, most=16)
    assert abs(shown.counted[16] - shown.counted[0]) > 0.1


def test_5_ignore_index_keeps_it(nano):
    ids = nano.tokenizer.encode("Once upon a time there was a small cat.")
    shown = teacher_forcing.padding(nano, ids, most=16)
    assert set(shown.ignored) == {shown.ignored[0]}
    assert shown.ignored[0] == pytest.approx(teacher_forcing.score(nano.run(ids)).loss, abs=1e-6)


def test_5_exposure_bias_is_no_bias_without_a_control(nano):
    """Its own words before a true ending cost more than the true ones, and so do other true words."""
    text = "Once upon a time there was a small cat. The cat sat on the mat and looked at the"
    others = [nano.tokenizer.encode(" " + line)[:8] for line in training.true_texts()]
    found = own_words.compare(nano, nano.tokenizer.encode(text), 8, others)
    assert found.own_mean > found.true.loss
    assert found.other_mean > found.true.loss


def test_5_an_encoder_reads_both_ways_a_decoder_one():
    shown = teacher_forcing.signal(12)
    assert shown.encoder_pairs == int(allowed("none", 12, 12).sum()) == 144
    assert shown.decoder_pairs == int(allowed("causal", 12, 12).sum()) == 78
