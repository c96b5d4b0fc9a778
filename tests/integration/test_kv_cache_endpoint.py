"""/kv_cache, /cache_memory and /cost as a notebook calls them; what the page asks; how soon a stopped race is gone."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import torch
from gradio_client import Client
from gradio_client.exceptions import AppError
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.writing.cache_work import Race
from gptviz.lessons import kv_cache
from gptviz.lessons.kv_cache import questions
from gptviz.lessons.questions import Question
from gptviz.service import Service

PROMPT = "When Mary and John went to the store, John gave"  # ten tokens and one


def test_the_course_example_as_documented(client: Client, nano: Decoder) -> None:
    job = client.submit(PROMPT, 20, api_name="/kv_cache")
    answer = job.result(timeout=120)
    P = len(nano.tokenizer.encode(PROMPT))
    json.dumps(answer, allow_nan=False)
    assert answer["prompt_tokens"] == P
    assert answer["new_tokens"] == 20
    assert answer["positions"] == {"cached": P + 19, "uncached": 20 * P + 190}
    assert answer["cache_bytes"]["formula"] == answer["cache_bytes"]["measured"] == 2 * 4 * 4 * 16 * 4 * (P + 19)
    assert answer["same_tokens"] is True
    assert answer["max_logit_delta"] <= 1e-3
    assert answer["dtype"] == "float32"
    assert len(answer["steps"]) == 20
    assert answer["stop"] == "length"
    for lane in ("cached", "uncached"):
        assert answer["flops"][lane] == sum(step["flops"][lane] for step in answer["steps"])
        assert answer["seconds"][lane] == pytest.approx(sum(step["seconds"][lane] for step in answer["steps"]))
    first = job.outputs()[0]
    assert len(first["steps"]) < 20


def test_the_default_is_twenty_tokens(client: Client) -> None:
    assert client.predict("Once upon a time", api_name="/kv_cache")["new_tokens"] == 20


def test_at_the_edge_the_answer_says_so(client: Client, nano: Decoder) -> None:
    text = "the cat " * 126  # 253 tokens, the blank at the end included
    P = len(nano.tokenizer.encode(text))
    answer = client.predict(text, 30, api_name="/kv_cache")
    assert (answer["new_tokens"], answer["stop"]) == (256 - P, "context")
    assert answer["positions"]["cached"] == 255


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"text": "a", "new_tokens": 0}, "new_tokens is 0; it must be a whole number from 1 to 512."),
        ({"text": "a", "new_tokens": 513}, "new_tokens is 513; it must be"),
        ({"text": "a", "new_tokens": 1.5}, "new_tokens is 1.5; it must be a whole number."),
        ({"text": ""}, "text is empty"),
        ({"text": "word" + " word" * 255}, "fills the context"),
        ({"text": "word " * 300}, "text has 301 tokens; nano reads at most 256 at once."),
        ({"text": "a", "model": "gpt5"}, 'model is "gpt5"; the models loaded here are nano.'),
    ],
)
def test_a_bad_value_gets_one_sentence(client: Client, asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AppError) as caught:
        client.predict(**asked, api_name="/kv_cache")
    assert sentence in str(caught.value)


def test_the_calculator_answers_with_bytes(client: Client) -> None:
    answer = client.predict("Llama-3-8B", 131_072, api_name="/cache_memory")
    assert answer["per_token"] == 131_072
    assert answer["cache"] == 17_179_869_184
    assert answer["weights"] == 2 * 8_030_261_248
    with pytest.raises(AppError, match="batch is 0; it must be"):
        client.predict("gpt2", 10, 0, api_name="/cache_memory")


def test_a_stopped_race_frees_the_model_within_a_step(nano: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text so long that one step without a cache may take a second: what is stopped is the pass, block by block."""
    service = Service()
    service.add(nano)
    monkeypatch.setattr("gptviz.lab.writing.cache_work.PAUSE_S", 0.0)
    race = Race(nano, (nano.tokenizer.encode(PROMPT) * 60)[:200], 50)
    assert nano.fast is not None
    blocks: list[int] = []
    block = nano.fast.block
    monkeypatch.setattr(nano.fast, "block", lambda layer, *args: (blocks.append(layer), block(layer, *args))[1])
    running = service.stream(iter(race))
    next(running)
    running.close()
    assert service.worker.run(lambda: 42) == 42
    assert blocks == [0]
    assert race.steps == []


def test_a_cancelled_job_stops_racing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    record = Race._record

    def slowly(race: Race, *args: Any) -> Any:
        done.append(1)
        time.sleep(0.05)
        return record(race, *args)

    monkeypatch.setattr(Race, "_record", slowly)
    job = client.submit("Once upon a time", 200, api_name="/kv_cache")
    while len(done) < 3:
        time.sleep(0.02)
    job.cancel()
    time.sleep(1.0)
    stopped = len(done)
    assert stopped < 150
    time.sleep(0.5)
    assert len(done) == stopped


def test_cost_is_counted_for_the_lengths_asked_for(client: Client) -> None:
    answer = client.predict([1, 1000], api_name="/cost")
    json.dumps(answer, allow_nan=False)
    assert [row["tokens"] for row in answer["rows"]] == [1, 1000]
    assert answer["rows"][1]["flops"]["matrices"] == 1000 * answer["rows"][0]["flops"]["matrices"]
    assert answer["crossing"] == answer["crossings"]["reading"] > 1
    assert len(client.predict(api_name="/cost")["rows"]) == 18
    with pytest.raises(AppError, match="An item of lengths is 0; it must be a whole number from 1"):
        client.predict([0], api_name="/cost")


# What the page asks


@pytest.fixture(scope="module")
def asked(nano: Decoder) -> dict[str, Question]:
    service = Service()
    service.add(nano)
    return {question.name: question for question in questions(service)}


def test_the_count_is_what_a_race_does(asked: dict[str, Question], nano: Decoder) -> None:
    count = asked["kv_count"].ask({"text": PROMPT, "new": 7})
    race = Race(nano, nano.tokenizer.encode(PROMPT), 7)
    for _ in race:
        pass
    for lane in ("cached", "uncached"):
        assert count["positions"][lane] == race.total[lane].positions
        assert count["flops"][lane] == [getattr(step, lane).work.flops for step in race.steps]
        assert count["bytes"][lane] == [getattr(step, lane).work.bytes for step in race.steps]
    written = asked["kv_words"].ask({"text": PROMPT, "new": 7})["shown"]
    assert written == [nano.tokenizer.token(step.id).shown for step in race.steps]
    values = list(asked["kv_race"].ask({"text": PROMPT, "new": 7}))
    steps = [step for value in values for step in value["steps"]]
    assert [step["shown"] for step in steps] == written
    done = values[-1]["done"]
    assert done["measured"] == done["formula"] == race.steps[-1].cache_bytes
    assert done["seconds"]["cached"] == pytest.approx(sum(step["seconds"]["cached"] for step in steps), abs=1e-4)


def test_the_race_holds_what_fits_and_what_was_asked_for(asked: dict[str, Question], nano: Decoder) -> None:
    long = asked["kv_count"].ask({"text": "the cat " * 125, "new": 30})
    assert long["new"] == 256 - len(long["tokens"]) < 30
    first = asked["kv_count"].ask({"text": PROMPT, "first": 10, "new": 20})
    assert first["positions"] == {"uncached": 390, "cached": 29}
    for wrong, sentence in (({"first": 99}, "first is 99; it must be from 1 to"), ({"new": 0}, "new is 0; it must be")):
        with pytest.raises(UserError, match=sentence):
            asked["kv_count"].ask({"text": PROMPT, **wrong})


def test_a_model_with_a_long_context_shows_its_end_on_a_short_one(
    nano: Decoder, tiny_llama: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service()
    service.add(nano)
    service.add(tiny_llama)
    monkeypatch.setattr(kv_cache, "EDGE_CONTEXT", 60)
    edge = {q.name: q for q in questions(service)}["kv_edge"]
    with pytest.raises(UserError, match="tiny-llama reads 64 tokens; no model with a short context is loaded here"):
        edge.ask({"text": PROMPT})
    monkeypatch.setattr(kv_cache, "EDGE_CONTEXT", 100)
    found = edge.ask({"text": PROMPT, "model": "nano"})
    assert (found["model"], found["own"], found["asked_of"]) == ("tiny-llama", False, "nano")
    assert found["positions"] == [61, 1, 1, 1, 64, 64, 64, 64]


def test_guesses_save_passes_and_change_no_token(client: Client, nano: Decoder) -> None:
    """Against the stock model, its likeliest token each time; the page's counts are those of the passes."""
    ids = nano.tokenizer.encode(PROMPT)
    job = client.submit(PROMPT, new_tokens=30, api_name="/speculative")
    answer = job.result(timeout=120)
    text = list(ids)
    with torch.inference_mode():
        for _ in range(30):
            text.append(int(nano.model(torch.tensor([text])).logits[0, -1].argmax()))
    assert [token["id"] for token in answer["tokens"]] == text[len(ids) :]
    assert (answer["same_text"], answer["explained"], answer["differs_at"]) == (True, True, -1)
    assert answer["passes"] == len(answer["steps"]) < 30
    assert answer["passes"] + answer["accepted"] == answer["new_tokens"] == 30
    assert sum(len(step["draft"]) for step in answer["steps"]) == answer["drafted"]
    fresh = [step for part in job.outputs() for step in part["fresh"]]
    assert fresh == answer["steps"]


def test_a_model_drafts_only_where_the_tokens_are_the_same(client: Client) -> None:
    with pytest.raises(AppError, match="draft is model, but no smaller model with the same tokens as nano is loaded"):
        client.predict(PROMPT, draft="model", api_name="/speculative")
    with pytest.raises(AppError, match="length is 0"):
        client.predict(PROMPT, length=0, api_name="/speculative")


def test_a_smaller_model_of_the_same_tokens_drafts(nano: Decoder) -> None:
    """A larger random GPT-2 with nano's vocabulary beside nano: nano drafts, the larger one decides."""
    torch.manual_seed(0)
    config = GPT2Config(n_layer=2, n_head=2, n_embd=80, n_positions=128, vocab_size=50257, initializer_range=0.3)
    large = Decoder.from_model(GPT2LMHeadModel(config), Tokenizer.gpt2(), name="large")
    service = Service()
    service.add(large)
    service.add(nano)
    ask = {question.name: question for question in questions(service)}["speculative"]
    *_, last = ask.ask({"text": PROMPT, "new_tokens": 12, "draft": "model", "model": "large"})
    assert (last["drafter"], last["same_text"]) == ("nano", True)
    assert last["drafted"] > 0
