"""/twins, called as a notebook would."""

from __future__ import annotations

import time
from typing import Any

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from gptviz.lab.teaching import twins
from gptviz.lab.teaching.grammar import FLOOR, accepts
from gptviz.service.wire import as_json
from tests.training import Watched


def test_it_streams_and_ends_with_what_the_lab_says(client: Client) -> None:
    job = client.submit(steps=40, seed=3, variant="wrong_way", api_name="/twins")
    answer = job.result(timeout=120)
    *_, end = twins.train(steps=40, seed=3, variant="wrong_way")
    expected = as_json(end)
    assert answer["floor"] == pytest.approx(FLOOR)
    assert answer["steps"] == 40
    assert answer["seconds"] > 0
    for name in ("causal", "twin"):
        assert answer[name]["loss"] == pytest.approx(expected[name]["loss"], abs=0.02)
        assert 0 <= answer[name]["valid"] <= 1
        shown = answer[name]["text"].split("\n")
        assert [accepts(line) for line in shown] == [all(right) for right in answer[name]["right"]]
    assert len(job.outputs()) >= 2
    assert job.outputs()[0]["step"] < 40


def test_random_tokens_have_nothing_to_accept(client: Client) -> None:
    answer = client.predict(steps=3, data="random", api_name="/twins")
    assert answer["causal"]["valid"] is None
    assert answer["floor"] == pytest.approx(3.6636, abs=1e-4)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"steps": -1}, "steps is −1; it must be a whole number from 0 to 2,000."),
        ({"steps": 3000}, "steps is 3,000; it must be a whole number from 0 to 2,000."),
        ({"seed": -1}, "seed is −1; it must be a whole number from 0 to 2,147,483,647."),
        ({"seed": 0.5}, "seed is 0.5; it must be a whole number."),
        ({"variant": "closed"}, 'variant is "closed"; it must be one of open, wrong_way, unshifted.'),
        ({"data": "novels"}, 'data is "novels"; it must be one of sentences, random.'),
        ({"model": "gpt5"}, 'model is "gpt5"; the models loaded here are nano.'),
    ],
)
def test_a_bad_value_gets_one_sentence(client: Client, asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AppError) as caught:
        client.predict(**asked, api_name="/twins")
    assert sentence in str(caught.value)


@pytest.mark.parametrize("name", ["variant", "data"])
@pytest.mark.parametrize("value", [[], {}, ["open"], 3])
def test_what_is_no_text_gets_a_sentence_too(client: Client, name: str, value: Any) -> None:
    with pytest.raises(AppError) as caught:
        client.predict(**{name: value}, api_name="/twins")
    assert f"{name} is " in str(caught.value)
    assert "; it must be" in str(caught.value)


def test_a_cancelled_job_trains_no_further(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Watched(monkeypatch)
    job = client.submit(steps=2000, api_name="/twins")
    until = time.monotonic() + 60
    while not job.outputs() and time.monotonic() < until:
        time.sleep(0.1)
    job.cancel()
    assert training.ended.wait(60)
    assert 0 < training.steps < training.asked
