"""Two thousand seeded bad questions over raw HTTP: a sentence each, never null, 500 or a traceback, and no log."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from gptviz.decoder.decoder import Decoder
from gptviz.lessons import PAGES, frame
from gptviz.lessons.questions import Question
from gptviz.service import Service
from gptviz.shell import build
from gptviz.web.line import Bounds
from gptviz.web.serving import Serving

MARK = "zqxj77"  # in every hostile text: it must not reach the log
FILE = {"path": "/etc/passwd", "url": None, "orig_name": MARK, "meta": {"_type": "gradio.FileData"}}
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1e308,
    -1e308,
    10**15,
    10**16,
    10**400,
    -(10**400),
    -0.0,
    0.5,
    1e-320,
    "nan",
    "inf",
    "-inf",
    "",
    " ",
    "0",
    "1",
    "null",
    MARK,
    MARK + "\x00\x1b[31m\r\n\x7f",
    "\ud800" + MARK,
    "\u202e" + MARK,
    MARK * 9_000,
    "🙂" * 300,
    [],
    [[]],
    [0],
    [-1],
    [10**400],
    [-0.0],
    [None],
    [MARK],
    [[MARK]],
    ["0", 1],
    {},
    {"a": MARK},
    FILE,
    [FILE],
    {"__class__": MARK},
    "../../etc/passwd",
    "<script>" + MARK,
    "'; drop table",
    "${7*7}" + MARK,
    "%s%n" + MARK,
    "{0.__class__}" + MARK,
]
BODIES = [
    b"",
    b"null",
    b"[]",
    b"1",
    b'"zqxj77"',
    b"{",
    b"[" * 200_000,
    b'{"a":' * 50_000,
    b"\xff\xfe",
    b'{"data": null}',
    b'{"data": {}}',
    b'{"data": [NaN, Infinity]}',
    b'{"text": NaN}',
    b"9" * 5_000,
    b'{"text": ' + b"9" * 5_000 + b"}",
    b'{"text": "\\ud800zqxj77"}',
    b'{"data": [[[[[[[["zqxj77"]]]]]]]]}',
    b'{"text": "a", "text": ["zqxj77"]}',
    b"\xef\xbb\xbf{}",
    b'{"": "zqxj77"}',
    b"{}{}",
]
FINE = {200, 400, 404, 413, 415}


def questions(service: Service) -> list[Question]:
    return [*frame.questions(service), *(q for page in PAGES for q in page.questions(service))]


@pytest.fixture(scope="module")
def hostile(nano: Decoder) -> Iterator[tuple[str, list[Question]]]:
    service = Service()
    service.add(nano)
    app = build(service, Serving(Bounds(per_minute=0)))
    _, url, _ = app.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True)
    yield url, app.questions
    app.demo.close()


def dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def sentence(told: Any) -> bool:
    """One sentence that a person can read."""
    if not isinstance(told, str) or not 10 < len(told) < 500:
        return False
    return told.endswith((".", ")")) and told.replace("\xa0", " ").isprintable()


def arguments(rng: random.Random, question: Question) -> dict[str, Any]:
    names = list(question.signature.parameters)
    given: dict[str, Any] = {"text": "The cat sat"} if "text" in names else {}
    for name in rng.sample(names, k=rng.randint(0, min(3, len(names)))):
        given[name] = rng.choice(VALUES)
    if rng.random() < 0.1:
        given[rng.choice(["x", "self", "__class__", "", MARK, "text\x00"])] = rng.choice(VALUES)
    if rng.random() < 0.1:
        given.pop("text", None)
    return given


def ask(client: httpx.Client, question: Question, body: bytes) -> tuple[int, list[Any]]:
    """The status and the first values of an answer."""
    headers = {"content-type": "application/json"}
    with client.stream("POST", f"/ask/{question.name}", content=body, headers=headers) as answer:
        if question.streams and answer.status_code == 200:
            return 200, [json.loads(next(answer.iter_lines()))]
        return answer.status_code, [json.loads(answer.read())]


def call(client: httpx.Client, question: Question, body: bytes, *, by_name: bool) -> tuple[int, list[Any]]:
    """The same by Gradio's protocol; an error event counts as 400."""
    path = f"/gradio_api/call/{'v2/' if by_name else ''}{question.name}"
    left = client.post(path, content=body, headers={"content-type": "application/json"})
    if left.status_code != 200:
        return left.status_code, [left.json()]
    with client.stream("GET", f"{path}/{left.json()['event_id']}") as answer:
        lines = answer.iter_lines()
        kind, data = next(lines).removeprefix("event: "), json.loads(next(lines).removeprefix("data: "))
    return (400, [{"error": data}]) if kind == "error" else (answer.status_code, data)


@pytest.mark.parametrize("part", range(10))
def test_hostile_questions_get_a_sentence_and_leave_no_trace(hostile, part: int, caplog, capfd) -> None:
    url, all_ = hostile
    rng = random.Random(f"hostile {part}")
    wrong: list[Any] = []
    with caplog.at_level(logging.DEBUG, logger="gptviz"), httpx.Client(base_url=url, timeout=60) as client:
        for _ in range(200):
            question = rng.choice(all_)
            given = arguments(rng, question)
            way = rng.choice(["ask", "call", "v2"]) if question.public else "ask"
            odd = rng.random() < 0.15
            body = rng.choice(BODIES) if odd else dumped(given)
            if way == "ask":
                status, values = ask(client, question, body)
            else:
                data = list(given.values())[: rng.randint(0, 9)]
                body = body if odd else dumped({"data": data} if way == "call" else given)
                status, values = call(client, question, body, by_name=way == "v2")
            errors = [value["error"] for value in values if isinstance(value, dict) and "error" in value]
            fine = status in FINE and all(value is not None for value in values) and all(map(sentence, errors))
            if not fine or (status != 200 and not errors):
                wrong.append((question.name, way, body[:200], status, str(values)[:300]))
    assert not wrong, "\n".join(map(str, wrong))
    logged = caplog.text + "".join(capfd.readouterr())
    assert MARK not in logged
    assert "Traceback" not in logged
    assert "\x1b" not in logged


def test_the_log_of_an_error_of_the_servers_own_has_no_input(hostile, monkeypatch, caplog) -> None:
    url, _ = hostile

    def fails(self: Service, text: str, model: str = "") -> None:
        raise RuntimeError(f"went wrong at {text}")

    monkeypatch.setattr(Service, "tokens", fails)
    answer = httpx.post(f"{url}ask/reading", json={"text": MARK})
    assert answer.status_code == 500
    assert answer.json()["error"] == "The server met an error of its own; its log says which."
    left = httpx.post(f"{url}gradio_api/call/v2/tokenize", json={"text": MARK}).json()["event_id"]
    assert "its log says which" in httpx.get(f"{url}gradio_api/call/v2/tokenize/{left}").text
    assert "RuntimeError" in caplog.text
    assert "in tokens" in caplog.text or "fails" in caplog.text
    assert MARK not in caplog.text


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_foreign_form_can_send_is_no_question(hostile, kind: str) -> None:
    url, _ = hostile
    answer = httpx.post(f"{url}ask/reading", content=b'{"text": "a"}', headers={"content-type": kind})
    assert answer.status_code == 415
    assert sentence(answer.json()["error"])
