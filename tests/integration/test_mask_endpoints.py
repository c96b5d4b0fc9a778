"""The endpoints of the mask and prefix pages, called as a notebook would."""

from __future__ import annotations

import pytest
from gradio_client.exceptions import AppError

from gptviz.decoder.errors import UserError
from gptviz.lab.masking import leak

TEXT = "The cat sat on the old mat and slept"


def test_mask_is_exactly_zero_left_of_the_edit(client, nano):
    answer = client.predict(text=TEXT, position=5, api_name="/mask")
    T = len(answer["tokens"])
    assert len(answer["change"]) == nano.shape.layers + 1
    assert all(row[:5] == [0.0] * 5 and len(row) == T for row in answer["change"])
    assert answer["logit_change"][:5] == [0.0] * 5
    assert min(answer["logit_change"][5:]) > 0
    assert answer["loss"]["causal"] == answer["loss"]["changed"]
    assert len(answer["loss"]["causal"]) == T - 1
    assert answer["replacement"]["shown"] == "·the"


def test_mask_with_one_open_layer_fills_the_rows_after_it(client):
    change = client.predict(text=TEXT, open_layers=[2], direction="none", api_name="/mask")["change"]
    assert [row[:-1] == [0.0] * (len(row) - 1) for row in change] == [True, True, True, False, False]
    every = client.predict(text=TEXT, direction="none", api_name="/mask")
    assert every["open_layers"] == [0, 1, 2, 3]
    assert every["loss"]["causal"] != every["loss"]["changed"]
    pairs = zip(every["loss"]["causal"], every["loss"]["changed"], strict=True)
    assert every["rises"] == sum(changed < causal for causal, changed in pairs)


def test_influence_is_lower_triangular(client):
    matrix = client.predict(text=TEXT, api_name="/influence")["matrix"]
    T = len(matrix)
    assert all((matrix[i][j] == 0) == (j > i) for i in range(T) for j in range(T))
    opened = client.predict(text=TEXT, open_layers=[0], direction="none", api_name="/influence")["matrix"]
    assert min(min(row) for row in opened) > 0


@pytest.mark.parametrize("method", ["truncate", "edit"])
def test_prefix_says_invariant_or_not(client, method):
    closed = client.predict(text=TEXT, keep=4, method=method, api_name="/prefix")
    assert closed["invariant"] is True
    assert [p["index"] for p in closed["positions"]] == [0, 1, 2, 3]
    assert closed["max_delta"] <= closed["tolerance"]
    assert (closed["tolerance"] == 0) == (method == "edit")
    opened = client.predict(
        text=TEXT, keep=4, open_layers=[1], direction="wrong_way", method=method, api_name="/prefix"
    )
    assert opened["invariant"] is False
    assert all(p["changed"] for p in opened["positions"])


def test_all_prefixes_the_toy_and_the_three_ways(client, nano):
    every = client.predict(text=TEXT, api_name="/prefix_all")
    assert every["invariant"]
    assert every["checked"] == sum(range(1, len(every["tokens"])))
    toy = client.predict(api_name="/prefix_toy")
    assert toy["masked"]["deltas"] == [0.0, 0.0, 0.0]
    assert min(toy["open"]["deltas"]) > 0.1
    ways = client.predict(text=TEXT, layer=1, api_name="/mask_ways")
    assert ways["differences"][0]["max_delta"] == 0.0
    assert max(d["max_delta"] for d in ways["differences"]) < 1e-5
    assert list(ways["code"]) == ["scored", "additive", "boolean", "is_causal"]


def test_a_leak_inside_blocks_escapes_the_cuts_between_them(client):
    every = client.predict(text=TEXT, direction="blocks", api_name="/prefix_all")
    moved = [max(x for x in row if x is not None) > 0 for row in every["matrix"]]
    assert moved == [n % 4 != 0 for n in range(1, len(moved) + 1)]
    half = client.predict(text=TEXT, direction="blocks", api_name="/prefix")  # keep 0: half of the tokens
    assert half["keep"] == len(half["tokens"]) // 2


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("/mask", {"open_layers": [1]}, 'open_layers is [1] but direction is "causal", which opens nothing'),
        (
            "/mask",
            {"open_layers": [4], "direction": "none"},
            "open_layers holds 4; layers are whole numbers from 0 to 3",
        ),
        ("/mask", {"direction": "up"}, 'direction is "up"'),
        ("/mask", {"position": 99}, "position is 99"),
        ("/mask", {"replacement": " two words"}, 'replacement is " two words"'),
        ("/mask", {"replacement": 5}, "replacement is 5; it must be a string"),
        ("/mask", {"replacement": []}, "replacement is []; it must be a string"),
        ("/mask", {"replacement": {}}, "replacement is {}; it must be a string"),
        ("/mask", {"replacement": "x" * 900}, f'replacement is "{"x" * 59}…", which is too long'),
        ("/mask", {"direction": "y" * 900}, f'direction is "{"y" * 59}…"; it must be'),
        ("/mask", {"text": ""}, "text is empty"),
        ("/influence", {"text": "a " * 65}, "at most 64"),
        ("/influence", {"open_layers": 3, "direction": "none"}, "open_layers is 3; it must be a list"),
        ("/prefix", {"keep": -1}, "keep is −1"),
        ("/prefix", {"keep": 99}, "keep is 99"),
        ("/prefix", {"text": "Hi"}, "need at least 2"),
        ("/prefix", {"keep": 3, "method": "glance"}, 'method is "glance"'),
        ("/prefix", {"keep": 3, "open_layers": [1]}, "which opens nothing"),
        ("/prefix_all", {"text": "Hi"}, "need at least 2"),
        ("/mask_ways", {"layer": 4}, "layer is 4"),
    ],
)
def test_a_bad_value_gets_one_sentence(client, name, values, words):
    with pytest.raises(AppError) as refusal:
        client.predict(**{"text": TEXT, **values}, api_name=name)
    assert words in str(refusal.value)


def test_half_a_surrogate_pair_is_blamed_on_the_replacement(nano):
    with pytest.raises(UserError, match=r"^replacement holds half a surrogate pair \(U\+D800\)"):
        leak.one_token(nano, "\ud800")
    with pytest.raises(UserError) as refusal:
        leak.one_token(nano, "\ud800" * 900)
    assert len(str(refusal.value).encode()) < 500  # short, and made of characters that can be sent
