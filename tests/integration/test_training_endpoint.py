"""/surprisal, and what the training page asks, against the library model."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.surprise import surprisal
from gptviz.lab.teaching import copying
from gptviz.lessons import training
from gptviz.lessons.questions import Question
from gptviz.service import Service

TEXT = "The dog did not cross the road because it was"


@pytest.fixture(scope="module")
def ask(nano: Decoder) -> Any:
    service = Service()
    service.add(nano)
    questions: dict[str, Question] = {question.name: question for question in training.questions(service)}
    return lambda name, **given: questions[name].ask(given)


def test_surprisal_is_the_librarys_loss(client: Any, nano: Decoder) -> None:
    answer = client.predict(TEXT, api_name="/surprisal")
    ids = torch.tensor([nano.tokenizer.encode(TEXT)])
    with torch.inference_mode():
        loss = float(nano.model(ids, labels=ids).loss)
    assert len(answer["nats"]) == len(answer["tokens"]) - 1
    assert answer["loss"] == pytest.approx(loss, abs=1e-4)
    assert answer["perplexity"] == pytest.approx(math.exp(loss), rel=1e-3)
    alone = client.predict("The", api_name="/surprisal")
    assert (alone["nats"], alone["loss"], alone["perplexity"]) == ([], None, None)


def test_one_step_lowers_the_loss_and_leaves_the_model_alone(ask: Any, nano: Decoder) -> None:
    ids = nano.tokenizer.encode(TEXT)
    strip = ask("shifted", text=TEXT)
    learned = ask("learned", text=TEXT)
    assert (learned["model"], learned["tokens"]) == ("nano", strip["tokens"])
    assert learned["before"] == pytest.approx(strip["nats"], abs=1e-4)
    assert sum(learned["after"]) < sum(learned["before"])
    again = surprisal(nano.run(ids).logits[:-1], ids[1:])
    assert again.tolist() == pytest.approx(strip["nats"], abs=1e-5)
    with pytest.raises(UserError, match="at most 1"):
        ask("learned", text=TEXT, rate=2.0)


def test_a_model_too_large_to_learn_in_a_moment_is_replaced_by_nano(nano: Decoder, monkeypatch: Any) -> None:
    service = Service()
    service.add(nano)
    large = Decoder.from_model(nano.model, nano.tokenizer, name="large")
    service.add(large)
    ids = large.tokenizer.encode(TEXT)
    assert training.pupil_for(service, large, TEXT, ids) == (large, ids)
    monkeypatch.setattr(training, "LARGEST_STEP", large.shape.parameters * len(ids) - 1)
    assert training.pupil_for(service, large, TEXT, ids) == (nano, ids)
    assert training.pupil_for(service, nano, TEXT, ids) == (nano, ids)


def test_each_state_asks_for_its_own_numbers(ask: Any, nano: Decoder) -> None:
    ids = nano.tokenizer.encode(TEXT)
    wrong = ask("mistakes", text=TEXT)
    assert {len(nats) for nats in wrong.values()} == {len(ids) - 1}
    pads = ask("padded", text=TEXT)
    assert len(pads["nats"]) == training.MOST_PADS == len(pads["counted"]) - 1
    real, paid = sum(ask("shifted", text=TEXT)["nats"]), 0.0
    for n, nats in enumerate(pads["nats"], start=1):
        paid += nats
        assert pads["counted"][n] == pytest.approx((real + paid) / (len(ids) - 1 + n), abs=1e-3)
    own = ask("own_text", text=TEXT, count=16)  # more than this text can lose
    assert len(own["kept"]) == 1
    assert len(own["own"]) == len(own["other"]) == len(training.true_texts())
    encoder = ask("asked_less", text=TEXT)
    assert encoder["decoder_targets"] == len(ids) - 1
    assert len(encoder["shown"]) == len(ids)


def test_the_copier_streams_until_one_of_them_copies(ask: Any) -> None:
    shifted: list[float] = []
    unshifted: list[float] = []
    for value in ask("copier"):
        shifted += value["shifted"]
        unshifted += value["unshifted"]
    assert len(shifted) == len(unshifted) == copying.STEPS
    assert shifted[-1] > copying.FLOOR - 0.1
    assert unshifted[-1] < 0.1
