"""The endpoints of the foundation, called as a notebook would."""

from __future__ import annotations

import httpx
import pytest
import torch
from gradio_client.exceptions import AppError

TEXT = "The cat sat on the mat. The cat"


def test_models(client, nano):
    [row] = client.predict(api_name="/models")
    assert row == {
        "name": "nano",
        "ready": True,
        "parameters": nano.shape.parameters,
        "layers": nano.shape.layers,
        "heads": nano.shape.heads,
        "kv_heads": nano.shape.kv_heads,
        "width": nano.shape.width,
        "context": nano.shape.context,
        "vocabulary": nano.shape.vocabulary,
        "device": "cpu",
        "dtype": "float32",
        "source": "bundled",
        "tied": True,
    }


def test_tokenize_is_byte_true(client, nano):
    text = "naïve 🙂 \n\tnew <|endoftext|>"
    answer = client.predict(text=text, api_name="/tokenize")
    assert bytes(b for token in answer["tokens"] for b in token["bytes"]).decode() == text
    assert answer["count"] == len(answer["tokens"]) == len(nano.tokenizer.encode(text))
    assert answer["context"] == nano.shape.context


@pytest.mark.parametrize("stage", ["scores", "masked", "weights"])
def test_attention_gives_one_heads_matrix(client, nano, stage):
    answer = client.predict(text=TEXT, layer=1, head=2, stage=stage, api_name="/attention")
    ids = nano.tokenizer.encode(TEXT)
    kept = nano.run(ids, capture=[1]).attention[1]
    T = len(ids)
    assert [t["id"] for t in answer["tokens"]] == ids
    assert len(answer["matrix"]) == T
    for i, row in enumerate(answer["matrix"]):
        for j, value in enumerate(row):
            if stage == "masked" and j > i:
                assert value is None
            elif stage == "weights" and j > i:
                assert value == 0
            else:
                expected = kept.weights[2, i, j] if stage == "weights" else kept.scores[2, i, j]
                assert value == pytest.approx(float(expected), abs=1e-5)


def test_attention_with_an_open_layer_reads_the_future_there_only(client):
    closed = client.predict(text=TEXT, layer=0, open_layers=[1], api_name="/attention")["matrix"]
    opened = client.predict(text=TEXT, layer=1, open_layers=[1], api_name="/attention")["matrix"]
    assert torch.count_nonzero(torch.tensor(closed).triu(1)) == 0
    assert torch.count_nonzero(torch.tensor(opened).triu(1)) > 0


def test_heads_measures_every_head(client, nano):
    answer = client.predict(text=TEXT, api_name="/heads")
    assert len(answer["stats"]) == nano.shape.layers * nano.shape.heads
    weights = nano.run(nano.tokenizer.encode(TEXT), capture=[2]).attention[2].weights
    stat = next(s for s in answer["stats"] if (s["layer"], s["head"]) == (2, 1))
    assert stat["first_token"] == pytest.approx(float(weights[1, 2:, 0].mean()), abs=1e-3)


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("/tokenize", {"text": ""}, "empty"),
        ("/tokenize", {"text": "x" * 50_000}, "characters"),
        ("/attention", {"text": "a b c " * 200}, "tokens"),
        ("/attention", {"text": TEXT, "layer": 99}, "layer is 99"),
        ("/attention", {"text": TEXT, "head": -1}, "head is −1"),
        ("/attention", {"text": TEXT, "stage": "soft"}, "stage"),
        ("/attention", {"text": TEXT, "open_layers": [77]}, "open_layers"),
        ("/attention", {"text": TEXT, "layer": 10**400}, "layer is a number of more than 16 digits"),
        ("/attention", {"text": TEXT, "layer": "one"}, 'layer is "one"; it must be a whole number'),
        ("/attention", {"text": TEXT, "layer": 1.5}, "layer is 1.5"),
        ("/attention", {"text": TEXT, "open_layers": {}}, "open_layers is {}"),
        ("/tokenize", {"text": []}, r"text is \[\]; it must be a string"),
        ("/heads", {"text": TEXT, "model": [1]}, r"model is \[1\]"),
        ("/heads", {"text": TEXT, "model": "y" * 3000}, "…"),
        ("/heads", {"text": TEXT, "size": 0}, "size is 0"),
        ("/heads", {"text": TEXT, "model": "nothing"}, "model"),
    ],
)
def test_a_bad_value_gets_one_sentence(client, name, arguments, says):
    with pytest.raises(AppError, match=says) as refusal:
        client.predict(**arguments, api_name=name)
    assert "Traceback" not in str(refusal.value)


def test_thirty_megabytes_are_refused_at_the_door(api_url):
    body = b'{"data": ["' + b"a" * 30_000_000 + b'", ""]}'
    answer = httpx.post(api_url + "gradio_api/call/tokenize", content=body, timeout=60)
    assert answer.status_code == 413


def test_a_body_of_unknown_length_is_counted(api_url):
    def endless():
        for _ in range(500):
            yield b"a" * 10_000

    answer = httpx.post(api_url + "gradio_api/call/tokenize", content=endless(), timeout=60)
    assert answer.status_code == 413


def test_two_clients_at_once_see_only_their_own(api_url):
    from concurrent.futures import ThreadPoolExecutor

    from gradio_client import Client

    texts = [f"Number {k} of the cats" for k in range(6)]
    clients = [Client(api_url, verbose=False) for _ in texts]
    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(
                lambda pair: pair[0].predict(text=pair[1], api_name="/attention"), zip(clients, texts, strict=True)
            )
        )
    for text, answer in zip(texts, answers, strict=True):
        assert bytes(b for token in answer["tokens"] for b in token["bytes"]).decode() == text
