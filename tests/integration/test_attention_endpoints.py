"""/values and /ablate, called as a notebook would, and what the attention page asks first."""

from __future__ import annotations

import json

import pytest
import torch
from gradio_client.exceptions import AppError

from gptviz.decoder.edits import Edits
from gptviz.lab.looking import heads
from gptviz.lessons.attention import KINDS, grid
from gptviz.service.wire import as_packed

TEXT = "When Mary and John went to the store, John gave a drink to"


def test_values_add_up(client, nano):
    answer = client.predict(text=TEXT, layer=3, head=1, position=-1, api_name="/values")
    ids = nano.tokenizer.encode(TEXT)
    weights = nano.run(ids, capture=[3]).attention[3].weights[1, -1]
    assert answer["weights"] == pytest.approx(weights.tolist(), abs=1e-6)
    assert len(answer["value_norms"]) == len(answer["contributions"]) == len(answer["tokens"]) == len(ids)
    assert answer["output_norm"] <= sum(answer["contributions"]) + 1e-4
    assert -1 <= answer["cosine"] <= 1


def test_nothing_ablated_changes_nothing(client):
    answer = client.predict(text=TEXT, api_name="/ablate")
    assert answer["before"] == answer["after"]
    assert answer["kl"] == 0


def test_a_head_off_changes_the_next_token(client, nano):
    answer = client.predict(text=TEXT, heads=[[3, 1]], count=5, api_name="/ablate")
    ids = nano.tokenizer.encode(TEXT)
    after = nano.run(ids, edits=Edits(frozenset({(3, 1)}))).logits[-1].double().softmax(-1)
    for bar in answer["after"]["bars"]:
        assert bar["p"] == pytest.approx(float(after[bar["id"]]), rel=1e-5)
    assert len(answer["after"]["bars"]) == 5
    assert answer["target_p"]["after"] == pytest.approx(float(after[answer["target"]["id"]]), rel=1e-5)
    assert answer["kl"] > 0


def test_an_edge_can_be_blocked(client):
    heads_off = client.predict(text=TEXT, heads=[[3, 1]], api_name="/ablate")
    edge = client.predict(text=TEXT, edges=[[3, 1, 13, 3]], api_name="/ablate")
    assert edge["kl"] > 0
    assert edge["kl"] != heads_off["kl"]


def test_the_mean_is_another_answer_than_zero(client):
    answers = [client.predict(text=TEXT, heads=[[3, 1]], mode=mode, api_name="/ablate") for mode in ("zero", "mean")]
    assert answers[0]["kl"] != answers[1]["kl"]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("/values", {"text": TEXT, "layer": 4}, "layer is 4"),
        ("/values", {"text": TEXT, "head": 4}, "head is 4"),
        ("/values", {"text": TEXT, "position": 14}, "position is 14"),
        ("/ablate", {"text": TEXT, "heads": [[0, 9]]}, "head is 9"),
        ("/ablate", {"text": TEXT, "heads": [[0]]}, "each entry must be"),
        ("/ablate", {"text": TEXT, "heads": "all"}, "heads"),
        ("/ablate", {"text": TEXT, "edges": [[0, 0, 99, 0]]}, "tokens of the text, 0 to 13"),
        ("/ablate", {"text": TEXT, "mode": "half"}, "mode"),
        ("/ablate", {"text": TEXT, "count": 0}, "count is 0"),
    ],
)
def test_a_bad_value_gets_one_sentence(client, name, arguments, says):
    with pytest.raises(AppError, match=says) as refusal:
        client.predict(**arguments, api_name=name)
    assert "Traceback" not in str(refusal.value)


def test_heads_say_where_they_rest(client, nano):
    answer = client.predict(text=TEXT, api_name="/heads")
    assert {stat["kind"] for stat in answer["stats"]} <= set(KINDS)
    weights = nano.run(nano.tokenizer.encode(TEXT), capture=[1]).attention[1].weights[2]
    stat = next(stat for stat in answer["stats"] if (stat["layer"], stat["head"]) == (1, 2))
    column = stat["rests_on"]
    assert stat["resting"] == pytest.approx(float(weights[column + 1 :, column].mean()), abs=1e-3)


def test_the_first_picture_of_thirty_layers_is_small(smollm2):
    ids = smollm2.tokenizer.encode(TEXT)
    panel = heads.panel(smollm2, ids, heads.induction_scores(smollm2))
    answer = grid(smollm2, ids, panel)
    assert len(json.dumps(as_packed(answer))) <= 60_000
    assert answer["start"] == [24, 4]
    assert answer["pictures"].shape == (270, 105)
    first, top = panel.thumbnails[24, 4], torch.tril_indices(14, 14)
    assert torch.equal(answer["pictures"][24 * 9 + 4], first[top[0], top[1]])
