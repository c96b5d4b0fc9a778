"""`import gptviz` in a script: the same numbers as the stock library model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

import gptviz
from gptviz.decoder.edits import Edits
from gptviz.lab.looking.patching import patching
from gptviz.places import ASSETS

TEXT = "Mia gave the red book to"


@pytest.fixture(scope="module")
def model() -> gptviz.Model:
    return gptviz.load("nano", device="cpu", offline=True)


@pytest.fixture(scope="module")
def stock() -> PreTrainedModel:
    return (
        AutoModelForCausalLM.from_pretrained(ASSETS / "nano", attn_implementation="eager").eval().requires_grad_(False)
    )


def test_logits_and_stream_are_the_librarys(model: gptviz.Model, stock: PreTrainedModel) -> None:
    ids = torch.tensor([model.ids(TEXT)])
    run, told = model.run(TEXT), stock(ids, output_hidden_states=True)
    torch.testing.assert_close(run.logits, told.logits[0], atol=1e-4, rtol=1e-5)
    assert run.residual is not None
    assert run.residual.shape == (model.decoder.shape.layers + 1, ids.shape[1], model.decoder.shape.width)
    torch.testing.assert_close(run.residual[0], told.hidden_states[0][0], atol=1e-5, rtol=1e-5)


def test_attention_is_the_librarys_and_reads_nothing_later(model: gptviz.Model, stock: PreTrainedModel) -> None:
    told = stock(torch.tensor([model.ids(TEXT)]), output_attentions=True).attentions
    found = model.attention(TEXT, layer=1, head=2)
    torch.testing.assert_close(found.matrix, told[1][0, 2], atol=1e-5, rtol=1e-5)
    assert float(found.matrix.triu(1).abs().max()) == 0.0
    assert float(model.attention(TEXT, layer=1, head=2, open_layers=[1]).matrix.triu(1).max()) > 0.0
    assert torch.isneginf(model.attention(TEXT, stage="masked").matrix.triu(1)[0, 1:]).all()
    assert len(found.tokens) == len(found.matrix)


def test_the_next_token_is_the_librarys_softmax(model: gptviz.Model, stock: PreTrainedModel) -> None:
    logits = stock(torch.tensor([model.ids(TEXT)])).logits[0, -1].double()
    wanted = (logits / 0.7).softmax(-1)
    found = model.next_token(TEXT, temperature=0.7, count=3)
    torch.testing.assert_close(torch.tensor(found.p, dtype=torch.float64), wanted.topk(3).values, atol=1e-5, rtol=1e-4)
    assert found.entropy == pytest.approx(float(-(wanted * wanted.log()).sum()), abs=1e-4)
    assert model.next_token(TEXT, temperature=0).p == [1.0]
    assert len(model.next_token(TEXT, top_k=5).tokens) == 5


@pytest.mark.parametrize(("strategy", "beams"), [("greedy", 1), ("beam", 3)])
def test_a_continuation_is_the_librarys(model: gptviz.Model, stock: PreTrainedModel, strategy: str, beams: int) -> None:
    ids = torch.tensor([model.ids(TEXT)])
    wanted = stock.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=6,
        num_beams=beams,
        do_sample=False,
        pad_token_id=model.decoder.tokenizer.end_of_text,
    )[0, ids.shape[1] :].tolist()
    found = model.generate(TEXT, strategy, max_new_tokens=6, beams=beams)
    assert found.ids == wanted
    assert found.stop in ("length", "end_of_text")
    assert TEXT + found.text == model.decoder.tokenizer.decode([*ids[0].tolist(), *found.ids])


def test_a_sample_comes_back_with_its_seed(model: gptviz.Model) -> None:
    first, again, other = (model.generate(TEXT, "sample", seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.ids != other.ids


def test_a_leak_is_found_where_a_layer_is_open_and_nowhere_else(model: gptviz.Model) -> None:
    closed = model.mask(TEXT)
    assert float(closed.logit_change[:-1].abs().max()) == 0.0
    assert float(model.mask(TEXT, [0], "none").logit_change[:-1].max()) > 0.0
    assert not any(model.prefix(TEXT, keep=3).changed)
    assert any(model.prefix(TEXT, 3, [0], "none").changed)


def test_the_last_reading_of_the_lens_is_the_next_token(model: gptviz.Model) -> None:
    readings = model.lens(TEXT, count=3)
    assert len(readings) == model.decoder.shape.layers + 1
    assert readings[-1].p == pytest.approx(model.next_token(TEXT, count=3).p, abs=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.tokens(""),
        lambda model: model.tokens(None),
        lambda model: model.attention(TEXT, layer=99),
        lambda model: model.attention(TEXT, stage="x"),
        lambda model: model.next_token(TEXT, count=0),
        lambda model: model.generate(TEXT, "best"),
        lambda model: model.generate(TEXT, max_new_tokens=0),
        lambda model: model.prefix(TEXT, 99),
        lambda model: gptviz.load("./nowhere"),
        lambda model: gptviz.load("nano", device="nothing"),
    ],
)
def test_a_bad_value_is_one_sentence(model: gptviz.Model, call: Callable[[gptviz.Model], object]) -> None:
    with pytest.raises(gptviz.UserError) as said:
        call(model)
    assert str(said.value).endswith(".")
    assert "\n" not in str(said.value)


def test_what_is_shown_in_a_notebook_is_short(model: gptviz.Model) -> None:
    assert repr(model).startswith("<gptviz nano: ")
    assert len(repr(model)) < 80
    assert len(repr(model.attention(TEXT))) < 200
    assert len(repr(model.next_token(TEXT, count=3))) < 200
    assert len(repr(model.generate(TEXT))) < 300


def test_a_name_that_is_not_there_is_no_attribute() -> None:
    assert not hasattr(gptviz, "lode")
    assert {"load", "Model", "UserError"} <= set(dir(gptviz))


def test_what_is_inside_is_what_the_lab_says(model: gptviz.Model) -> None:
    text, source = "When Mary and John went out, John", "When John and Mary went out, Mary"
    ids = model.ids(text)
    logits = model.run(text).logits[-1].double()
    rival = model.ids(" Mary")[-1]
    found = model.attribution(text, against=" Mary")
    assert found.sum == pytest.approx(float(logits.max() - logits[rival]), abs=1e-3)
    patched = model.patching(text, source, part="attention")
    torch.testing.assert_close(
        patched.matrix, list(patching(model.decoder, ids, model.ids(source), part="attention"))[-1].matrix
    )
    neurons = model.neurons(text, layer=1, count=2)
    assert float(neurons.shares.double().sum()) + neurons.bias_share == pytest.approx(1.0, abs=1e-5)
    assert min(edge.share for edge in model.routes(text, least=0.05).edges) >= 0.05
    off = model.ablate(text, heads=[(0, 1)])
    stock = model.decoder.run(ids, edits=Edits(frozenset({(0, 1)}))).logits[-1].double().softmax(-1)
    torch.testing.assert_close(off.after, stock, atol=1e-6, rtol=1e-4)
    assert off.kl > 0
    with pytest.raises(gptviz.UserError, match=r"target is .two words., which is no single token"):
        model.attribution(text, target="two words")
