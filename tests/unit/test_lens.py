"""The logit lens and surprise against the library model's own outputs."""

import math

import pytest
import torch

from gptviz.decoder.errors import UserError
from gptviz.lab.looking import logit_lens as logit_lens_module
from gptviz.lab.looking.logit_lens import logit_lens, read, surprise
from gptviz.lab.writing.sampling import Settings, stages

TEXT = "When Mary and John went to the store, John gave a drink to"


@pytest.fixture(params=["tiny_gpt2", "tiny_llama", "nano"])
def decoder(request):
    return request.getfixturevalue(request.param)


def test_the_last_layer_is_the_models_prediction(decoder):
    ids = decoder.tokenizer.encode(TEXT)
    run = decoder.run(ids, residual=True)
    for position in (0, 3, -1):
        readings = logit_lens(decoder, run, position)
        assert [reading.layer for reading in readings] == list(range(decoder.shape.layers + 1))
        last = stages(run.logits[position], Settings())
        assert readings[-1].ids == last.order[:5].tolist()
        assert readings[-1].p == pytest.approx(last.raw[last.order[:5]].tolist(), abs=1e-5)
        assert readings[-1].final_rank == 1


def test_each_layer_against_the_librarys_hidden_states(decoder):
    ids = decoder.tokenizer.encode(TEXT)
    readings = logit_lens(decoder, decoder.run(ids, residual=True), 4, count=3)
    with torch.inference_mode():
        states = decoder.model(torch.tensor([ids]), output_hidden_states=True).hidden_states
        for reading in readings[:-1]:  # the library's last state is already normed
            x = decoder.norm(states[reading.layer][0, 4])
            p = decoder.model.get_output_embeddings()(x).double().softmax(-1)
            assert reading.ids == p.topk(3).indices.tolist()
            assert reading.p == pytest.approx(p.topk(3).values.tolist(), abs=1e-5)
            assert reading.entropy == pytest.approx(-float((p * p.log()).sum()), abs=1e-4)
            best = readings[-1].ids[0]
            assert reading.final_p == pytest.approx(float(p[best]), abs=1e-5)
            assert reading.final_rank == 1 + int((p > p[best]).sum())


def test_surprise_is_the_librarys_loss(decoder):
    ids = decoder.tokenizer.encode(TEXT)
    found = surprise(decoder.run(ids))
    with torch.inference_mode():
        loss = float(decoder.model(torch.tensor([ids]), labels=torch.tensor([ids])).loss)
    assert len(found.nats) == len(ids) - 1
    assert found.loss == pytest.approx(loss, abs=1e-4)
    assert found.perplexity == pytest.approx(math.exp(loss), rel=1e-3)


def test_reading_in_parts_is_reading_at_once(decoder, monkeypatch):
    ids = decoder.tokenizer.encode(TEXT)
    run = decoder.run(ids, residual=True)
    for rows in (3, len(ids) - 1, len(ids)):
        monkeypatch.setattr(logit_lens_module, "ROWS", rows)
        found = read(decoder, ids)
        assert found.surprise.nats == pytest.approx(surprise(run).nats, abs=1e-4)
        assert torch.allclose(found.logits, run.logits[-1], atol=1e-4)
        assert torch.equal(found.run.residual, run.residual)


def test_one_token_has_no_surprise(decoder):
    found = surprise(decoder.run([5]))
    assert (found.nats, found.loss, found.perplexity) == ([], None, None)


def test_positions_out_of_range_are_refused(tiny_gpt2):
    run = tiny_gpt2.run([1, 2, 3], residual=True)
    for position in (3, -4):
        with pytest.raises(UserError, match=f"position is {str(position).replace('-', '−')}"):
            logit_lens(tiny_gpt2, run, position)
    with pytest.raises(UserError, match="count is 0"):
        logit_lens(tiny_gpt2, run, 0, count=0)
