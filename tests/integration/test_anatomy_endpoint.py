"""/anatomy against the library's own parameters."""

from __future__ import annotations

import pytest
from gradio_client.exceptions import AppError


def test_anatomy_lists_every_parameter_of_the_model(client, nano):
    answer = client.predict(api_name="/anatomy")
    named = dict(nano.model.named_parameters(remove_duplicate=False))
    listed = {f"{row['name']}.{key}": shape for row in answer["rows"] for key, shape in row["tensors"].items()}
    assert listed == {name: list(p.shape) for name, p in named.items()}
    assert answer["total"] == nano.model.num_parameters()
    assert sum(row["parameters"] for row in answer["rows"]) == answer["total"]
    assert answer["tying_saves"] == 50257 * nano.shape.width
    assert answer["untied_total"] == answer["total"] + answer["tying_saves"]
    first = answer["rows"][0]
    assert (first["name"], first["shape"]) == ("transformer.wte", [50257, nano.shape.width])


def test_a_model_that_is_not_there_gets_one_sentence(client):
    with pytest.raises(AppError, match='model is "nowhere"'):
        client.predict(model="nowhere", api_name="/anatomy")
