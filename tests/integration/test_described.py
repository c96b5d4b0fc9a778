"""Endpoints as people, clients and agents see them: described, with defaults, and docs/api.md as the code has it."""

from __future__ import annotations

import inspect
import re

import httpx
import pytest
from gradio_client import Client

from gptviz.decoder.decoder import Decoder
from gptviz.lessons import PAGES, frame
from gptviz.lessons.described import default_text, gives, takes
from gptviz.lessons.questions import Question
from gptviz.service import Service
from tools import api


def public() -> list[Question]:
    service = Service()
    asked = [*frame.questions(service), *(q for page in PAGES for q in page.questions(service))]
    return [question for question in asked if question.public]


PUBLIC = {question.name: question for question in public()}


@pytest.fixture(scope="module")
def info(api_url: str) -> dict:
    return httpx.get(f"{api_url}gradio_api/info").json()["named_endpoints"]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_argument_has_a_default_and_is_described(info: dict, name: str) -> None:
    question = PUBLIC[name]
    told = info[f"/{name}"]
    assert told["description"].endswith((".", "?"))
    assert [p["parameter_name"] for p in told["parameters"]] == list(question.signature.parameters)
    for parameter in told["parameters"]:
        known = question.signature.parameters[parameter["parameter_name"]]
        assert known.default is not inspect.Parameter.empty
        assert parameter["parameter_has_default"]
        assert parameter["parameter_default"] == known.default
        assert parameter["python_type"]["description"] == takes(name, known.name) != ""
    (answer,) = told["returns"]
    assert answer["label"] == name
    assert answer["python_type"]["type"].startswith(("dict(", "list[dict("))


def test_what_may_be_chosen_is_listed(info: dict) -> None:
    def choices(name: str, parameter: str) -> list[str]:
        found = next(p for p in info[name]["parameters"] if p["parameter_name"] == parameter)
        return found["type"]["enum"]

    assert choices("/attention", "stage") == ["weights", "scores", "masked"]
    assert choices("/generate", "strategy") == ["greedy", "sample", "beam"]
    assert choices("/prefix", "method") == ["truncate", "edit"]
    assert "wrong_way" in choices("/mask", "direction")


@pytest.mark.parametrize("name", PUBLIC)
def test_an_answer_holds_what_its_description_names_and_a_call_runs_as_pasted(client: Client, name: str) -> None:
    line = api.call(PUBLIC[name]).replace("steps=0", "steps=2")  # a training; 0 would be the page's whole one
    assert line.replace("steps=2", "steps=0") in api.FILE.read_text(encoding="utf-8")
    found = eval(line, {"app": client})
    first = found[0] if isinstance(found, list) else found
    assert gives(name), f"[gives.{name}] of endpoints.toml is missing"
    assert set(gives(name)) <= set(first)


def test_the_document_is_what_the_code_says() -> None:
    assert api.FILE.read_text(encoding="utf-8") == api.document(), "make api writes docs/api.md anew"


def test_the_first_lines_of_the_document_run_as_pasted(api_url: str) -> None:
    python, shell = re.findall(r"```(?:python|sh)\n(.*?)```", api.HEAD, re.DOTALL)
    names: dict = {}
    exec(python.replace("http://127.0.0.1:7860", api_url), names)
    assert names["app"].predict(api_name="/models")[0]["name"] == "nano"
    sent = re.search(r"-d '(.*)'", shell).group(1)
    route = f"{api_url}gradio_api/call/tokenize"
    event = httpx.post(route, content=sent, headers={"content-type": "application/json"}).json()["event_id"]
    assert '"count": 2' in httpx.get(f"{route}/{event}").text


def test_without_a_text_the_first_example_is_read(client: Client, nano: Decoder) -> None:
    found = client.predict(api_name="/tokenize")
    assert [token["id"] for token in found["tokens"]] == nano.tokenizer.encode(default_text())


@pytest.mark.parametrize("data", [[], ["hi"], [{"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}]])
def test_too_few_arguments_get_one_sentence_and_leave_no_trace(api_url: str, capfd, data: list) -> None:
    event = httpx.post(f"{api_url}gradio_api/call/attention", json={"data": data}).json()["event_id"]
    told = httpx.get(f"{api_url}gradio_api/call/attention/{event}").text
    assert f"attention got {len(data)} arguments; it needs 6: text, layer, head, stage, open_layers, model." in told
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_file_in_place_of_a_text_gets_one_sentence(api_url: str, capfd) -> None:
    file = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
    event = httpx.post(f"{api_url}gradio_api/call/tokenize", json={"data": [file, ""]}).json()["event_id"]
    told = httpx.get(f"{api_url}gradio_api/call/tokenize/{event}").text
    assert "text is a file; no argument of tokenize takes one." in told
    assert "Traceback" not in "".join(capfd.readouterr())


def test_an_endpoint_that_is_not_there_is_404_without_a_trace(api_url: str, capfd) -> None:
    answer = httpx.post(f"{api_url}gradio_api/call/nope", json={"data": []})
    assert answer.status_code == 404
    assert answer.json()["detail"].endswith("lists them.")
    assert "Traceback" not in "".join(capfd.readouterr())
