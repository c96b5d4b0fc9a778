"""/next_token and /generate against the library model and its own logits processors."""

from __future__ import annotations

import math

import pytest
import torch
from gradio_client.exceptions import AppError
from transformers import GenerationConfig, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

TEXT = "The dog did not cross the road because it was"


@pytest.fixture(scope="module")
def logits(nano):
    with torch.inference_mode():
        return nano.model(torch.tensor([nano.tokenizer.encode(TEXT)])).logits[0, -1].double()


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"), [(1, 0, 1), (0.7, 40, 0.9), (2.0, 0, 0.8), (1e-6, 0, 1), (100, 5, 1)]
)
def test_next_token_equals_the_librarys_processors(client, logits, temperature, top_k, top_p):
    answer = client.predict(TEXT, temperature=temperature, top_k=top_k, top_p=top_p, count=30, api_name="/next_token")
    tempered = TemperatureLogitsWarper(float(temperature))(None, logits[None])
    cut = TopKLogitsWarper(top_k)(None, tempered) if top_k else tempered
    cut = TopPLogitsWarper(top_p)(None, cut) if top_p < 1 else cut
    raw, warm, final = logits.softmax(-1), tempered[0].softmax(-1), cut[0].softmax(-1)
    best = logits.topk(30).indices.tolist()
    assert [bar["id"] for bar in answer["bars"]] == best
    for bar in answer["bars"]:
        i = bar["id"]
        assert bar["p_raw"] == pytest.approx(float(raw[i]), abs=1e-6)
        assert bar["p_temperature"] == pytest.approx(float(warm[i]), abs=1e-6)
        assert bar["p_final"] == pytest.approx(float(final[i]), abs=1e-6)
        assert bar["kept"] == bool(cut[0, i] > -math.inf)
    assert answer["kept_count"] == int((cut[0] > -math.inf).sum())
    assert answer["tail"] == pytest.approx(1 - float(warm[best].sum()), abs=1e-6)
    assert answer["entropy"] == pytest.approx(-float(torch.special.xlogy(final, final).sum()), abs=1e-5)


def test_temperature_zero_is_one_bar(client, logits):
    answer = client.predict(TEXT, temperature=0, api_name="/next_token")
    assert [bar["p_final"] for bar in answer["bars"]] == [1.0] + [0.0] * 19
    assert answer["bars"][0]["id"] == int(logits.argmax())
    assert (answer["kept_count"], answer["entropy"], answer["tail"]) == (1, 0.0, 0.0)


def test_top_k_above_the_vocabulary_keeps_all(client, nano):
    V = nano.shape.vocabulary
    for top_k in (0, V, V + 1):
        assert client.predict(TEXT, top_k=top_k, api_name="/next_token")["kept_count"] == V


@pytest.mark.parametrize("top_p", [0, 1e-8])
def test_one_token_survives_a_tiny_top_p(client, top_p):
    answer = client.predict(TEXT, top_p=top_p, api_name="/next_token")
    assert (answer["kept_count"], answer["bars"][0]["p_final"]) == (1, 1.0)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"temperature": -1}, "temperature is −1; it must be"),
        ({"temperature": "nan"}, "temperature is not a number; it must be"),
        ({"top_k": -1}, "top_k is −1; it must be"),
        ({"top_k": 2.5}, "top_k is 2.5; it must be"),
        ({"top_p": "nan"}, "top_p is not a number; it must be"),
        ({"top_p": 1.5}, "top_p is 1.5; it must be"),
        ({"min_p": 2}, "min_p is 2; it must be"),
        ({"repetition_penalty": 0}, "repetition_penalty is 0; it must be"),
        ({"count": 0}, "count is 0; it must be"),
        ({"text": ""}, "text is empty"),
    ],
)
def test_bad_values_get_one_sentence(client, values, sentence):
    with pytest.raises(AppError, match=sentence):
        client.predict(**{"text": TEXT, **values}, api_name="/next_token")


def test_min_p_and_the_penalty_are_the_librarys(client, nano, logits):
    ids = nano.tokenizer.encode(TEXT)
    chosen = {"temperature": 0.7, "top_k": 50, "top_p": 0.95, "min_p": 0.02, "repetition_penalty": 1.3}
    config = GenerationConfig(do_sample=True, **chosen)
    processors = nano.model._get_logits_processor(config, input_ids_seq_length=len(ids))
    final = processors(torch.tensor([ids]), logits[None])[0].softmax(-1)
    answer = client.predict(TEXT, **chosen, count=30, api_name="/next_token")
    for bar in answer["bars"]:
        assert bar["p_final"] == pytest.approx(float(final[bar["id"]]), abs=1e-6)
        assert bar["p_raw"] == pytest.approx(float(logits.softmax(-1)[bar["id"]]), abs=1e-6)
    assert answer["kept_count"] == int((final > 0).sum())
    assert answer["rules"] == ["repetition_penalty", "temperature", "top_k", "top_p", "min_p"]
    assert client.predict(TEXT, api_name="/next_token")["rules"] == []


@pytest.mark.parametrize("strategy", ["greedy", "beam"])
def test_a_penalty_writes_what_generate_writes(client, nano, strategy):
    ask = {"strategy": strategy, "beams": 3, "max_new_tokens": 8, "repetition_penalty": 1.4}
    answer = client.predict(TEXT, **ask, temperature=0.5, api_name="/generate")
    ids = nano.tokenizer.encode(TEXT)
    options = {"num_beams": 3 if strategy == "beam" else 1, "do_sample": False, "pad_token_id": 50256}
    with torch.inference_mode():
        expected = nano.model.generate(torch.tensor([ids]), max_new_tokens=8, repetition_penalty=1.4, **options)
    assert [token["id"] for token in answer["tokens"]] == expected[0, len(ids) :].tolist()
    assert answer["rules"] == ["repetition_penalty"]


def test_the_end_token_can_be_ignored(client, nano):
    ended = client.predict("The cat sat on the", max_new_tokens=12, api_name="/generate")
    on = client.predict("The cat sat on the", max_new_tokens=12, ignore_end=True, api_name="/generate")
    assert (ended["stop"], on["stop"], len(on["tokens"])) == ("end_of_text", "length", 12)
    assert on["tokens"][: len(ended["tokens"])] == ended["tokens"]


def test_greedy_equals_generate_and_streams(client, nano):
    job = client.submit(TEXT, max_new_tokens=12, api_name="/generate")
    answer = job.result()
    ids = nano.tokenizer.encode(TEXT)
    with torch.inference_mode():
        expected = nano.model.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False, pad_token_id=50256)
    new = expected[0, len(ids) :].tolist()
    assert [token["id"] for token in answer["tokens"]] == new
    ended = new[-1] == 50256
    assert answer["stop"] == ("end_of_text" if ended else "length")
    assert answer["text"] == nano.tokenizer.decode(new[:-1] if ended else new)
    lengths = [len(part["tokens"]) for part in job.outputs()]
    assert lengths[0] == 1
    assert lengths == sorted(lengths)


def test_beam_equals_generate(client, nano):
    answer = client.predict(TEXT, strategy="beam", beams=3, max_new_tokens=8, api_name="/generate")
    ids = nano.tokenizer.encode(TEXT)
    with torch.inference_mode():
        expected = nano.model.generate(
            torch.tensor([ids]), max_new_tokens=8, do_sample=False, num_beams=3, pad_token_id=50256
        )
    assert [token["id"] for token in answer["tokens"]] == expected[0, len(ids) :].tolist()
    scores = [beam["score"] for beam in answer["beams"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_a_seed_repeats_a_draw(client):
    ask = {"strategy": "sample", "temperature": 1.5, "max_new_tokens": 8, "api_name": "/generate"}
    first = client.predict(TEXT, seed=1, **ask)
    assert client.predict(TEXT, seed=1, use_cache=False, **ask)["tokens"] == first["tokens"]
    assert any(client.predict(TEXT, seed=seed, **ask)["tokens"] != first["tokens"] for seed in (2, 3))


def test_writing_stops_at_the_context(client, nano):
    text = "a" + " a" * (nano.shape.context - 3)
    room = nano.shape.context - len(nano.tokenizer.encode(text))
    answer = client.predict(text, max_new_tokens=50, strategy="sample", temperature=5, api_name="/generate")
    assert room == 2
    assert answer["stop"] in ("context", "end_of_text")
    assert answer["stop"] == "end_of_text" or len(answer["tokens"]) == room


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"strategy": "magic"}, 'strategy is "magic"; it must be one of greedy, sample, beam'),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"strategy": "beam", "beams": 0}, "beams is 0"),
        ({"strategy": "sample", "seed": -1}, "seed is −1"),
        ({"strategy": "sample", "top_p": -1}, "top_p is −1"),
    ],
)
def test_bad_requests_to_write_get_one_sentence(client, values, sentence):
    with pytest.raises(AppError, match=sentence):
        client.predict(TEXT, **values, api_name="/generate")


@pytest.mark.parametrize("more", [[], [262, 3797, 318]])
def test_alternatives_are_the_stock_models_at_every_place(client, nano, more):
    """Each place alone: the stock model reads what stands before it, and nothing of what came."""
    answer = client.predict(TEXT, more=more, count=4, api_name="/alternatives")
    ids = [*nano.tokenizer.encode(TEXT), *more]
    assert [token["id"] for token in answer["tokens"]] == ids
    assert [place["position"] for place in answer["places"]] == list(range(1, len(ids)))
    for place in answer["places"]:
        at = place["position"]
        with torch.inference_mode():
            p = nano.model(torch.tensor([ids[:at]])).logits[0, -1].double().softmax(-1)
        best = p.topk(4)
        assert [top["id"] for top in place["top"]] == best.indices.tolist()
        assert [top["p"] for top in place["top"]] == pytest.approx(best.values.tolist(), abs=1e-5)
        assert (place["id"], place["rank"]) == (ids[at], 1 + int((p > p[ids[at]]).sum()))
        assert place["p"] == pytest.approx(float(p[ids[at]]), abs=1e-5)


def test_one_token_has_no_alternatives_and_odd_values_are_refused(client):
    assert client.predict("a", api_name="/alternatives")["places"] == []
    for values, sentence in (
        ({"count": 0}, "count is 0"),
        ({"more": [50257]}, "The token id 50,257"),
        ({"more": [-1]}, "id"),
    ):
        with pytest.raises(AppError, match=sentence):
            client.predict(TEXT, **values, api_name="/alternatives")
