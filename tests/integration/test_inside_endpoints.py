"""What is asked of the inside of the model, called as a notebook would."""

from __future__ import annotations

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from gptviz.decoder.decoder import Decoder
from gptviz.lab.looking.neurons import neurons
from gptviz.lab.looking.patching import patching
from gptviz.lab.looking.routes import routes

TEXT = "When Mary and John went to the store, John gave a drink to"
SOURCE = "When John and Mary went to the store, Mary gave a drink to"


def test_patching_streams_the_map_of_the_lab(client: Client, nano: Decoder) -> None:
    ids, source = nano.tokenizer.encode(TEXT), nano.tokenizer.encode(SOURCE)
    found = list(patching(nano, ids, source, part="attention"))[-1]
    job = client.submit(text=TEXT, source=SOURCE, part="attention", api_name="/patching")
    answer = job.result()
    assert [state["done"] for state in job.outputs()] == list(range(1, nano.shape.layers + 1))
    assert job.outputs()[0]["matrix"][0] == [None] * len(ids)
    for row, theirs in zip(answer["matrix"], found.matrix.tolist(), strict=True):
        assert row == pytest.approx(theirs, abs=1e-6)
    assert (answer["clean"], answer["corrupt"]) == pytest.approx((found.clean, found.corrupt), abs=1e-5)
    assert [token["id"] for token in answer["source_tokens"]] == source
    assert answer["target"]["id"] == found.target


def test_without_a_source_two_words_are_exchanged(client: Client, nano: Decoder) -> None:
    answer = client.predict(text=TEXT, api_name="/patching")
    pairs = {
        (a["shown"], b["shown"])
        for a, b in zip(answer["tokens"], answer["source_tokens"], strict=True)
        if a["id"] != b["id"]
    }
    assert len(pairs) == 2
    assert pairs == {(b, a) for a, b in pairs}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"text": "a b"}, "source is empty, and text has no two words to exchange"),
        ({"text": TEXT, "source": "One two"}, "source has 2 tokens; it must have as many as text, 14."),
        ({"text": TEXT, "source": SOURCE, "target": "two words"}, 'target is "two words"'),
        ({"text": TEXT, "source": SOURCE, "part": "mind"}, "part is "),
    ],
)
def test_what_cannot_be_is_one_sentence(client: Client, given: dict[str, str], said: str) -> None:
    with pytest.raises(AppError, match=said):
        client.predict(**given, api_name="/patching")


def test_neurons_are_the_labs(client: Client, nano: Decoder) -> None:
    answer = client.predict(text=TEXT, layer=2, count=3, api_name="/neurons")
    found = neurons(nano, nano.tokenizer.encode(TEXT), 2, -1, 3)
    assert [row["index"] for row in answer["neurons"]] == [neuron.index for neuron in found.neurons]
    assert [token["id"] for token in answer["neurons"][0]["pushes_up"]] == found.neurons[0].pushes_up
    assert sum(answer["shares"]) + answer["bias_share"] == pytest.approx(1.0, abs=1e-5)


def test_routes_are_the_labs(client: Client, nano: Decoder) -> None:
    answer = client.predict(text=TEXT, least=0.05, api_name="/routes")
    found = routes(nano, nano.tokenizer.encode(TEXT), -1, 0.05)
    assert answer["edges"] == [[e.layer, e.head, e.query, e.key, pytest.approx(e.share)] for e in found.edges]
    assert len(answer["places"]) == len(found.places)
