"""Nobody can fill the line: what is not read is dropped, what is left ends; a full line is a sentence with a place."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest
from gradio_client import Client

from gptviz.decoder.decoder import Decoder
from gptviz.lessons.questions import Question
from gptviz.service import Service
from gptviz.shell import App, build
from gptviz.web import answering, events
from gptviz.web.line import Bounds, Full, Line, Turns
from gptviz.web.serving import Serving
from tests.loops import finish

SMALL = Bounds(per_client=6, quick=5, long=4, per_question=4)


class Slow:
    """A question that takes as long as a test likes, on the worker, and says whether it was ended."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.begun, self.ended = threading.Event(), threading.Event()
        self.count = self.steps = 0

    def work(self) -> str:
        self.begun.set()
        self.count += 1
        try:
            for _ in range(400):  # a pass of four seconds, of layers that take a hundredth each
                self.step()
                self.service.worker.breathe()
        finally:
            self.ended.set()
        return "done"

    def step(self) -> None:
        time.sleep(0.01)
        self.steps += 1

    def answer(self, text: str = "") -> str:
        """A long pass."""
        return self.service.worker.run(self.work)

    def flood(self, text: str = "") -> Iterator[str]:
        """More than any buffer takes."""
        self.begun.set()
        for _ in range(100_000):
            yield "x" * 100_000

    def forever(self, text: str = "") -> Iterator[int]:
        """A long text."""
        try:
            for i in range(10_000):
                self.begun.set()
                self.service.worker.run(self.step)
                yield i
        finally:
            self.ended.set()


@pytest.fixture
def slow(nano: Decoder, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Slow, App]]:
    """An app with two slow questions and small bounds."""
    service = Service()
    service.add(nano)
    made = Slow(service)
    from gptviz.lessons import frame

    stock = frame.questions
    more = [Question("slow", made.answer), Question("forever", made.forever, limit=2), Question("flood", made.flood)]
    monkeypatch.setattr(frame, "questions", lambda service: [*stock(service), *more])
    app = build(service, Serving(SMALL))
    _, url, _ = app.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True)
    yield url, made, app
    app.demo.close()


def empty(app: App) -> bool:
    line = app.answering.line
    return not line.clients and not line.questions and not any(line.kinds.values())


def until(condition, seconds: float = 5.0) -> None:
    """Wait until this holds. TimeoutError where it never does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


def test_calls_that_nobody_reads_hold_nobody_up_and_are_dropped(slow, monkeypatch) -> None:
    url, made, app = slow
    with httpx.Client() as client:
        for _ in range(512):
            assert client.post(f"{url}gradio_api/call/slow", json={"data": ["x"]}).status_code == 200
    assert made.count == 0
    assert empty(app)
    assert len(app.events.notes) == events.UNREAD_OF_ONE
    assert Client(url, verbose=False).predict(text="The cat", api_name="/tokenize")["count"] == 2
    monkeypatch.setattr(events, "UNREAD_S", 0.2)
    left = httpx.post(f"{url}gradio_api/call/slow", json={"data": ["x"]}).json()["event_id"]
    time.sleep(0.3)
    late = httpx.get(f"{url}gradio_api/call/slow/{left}")
    assert late.status_code == 404
    assert "dropped" in late.json()["error"]
    assert len(app.events.notes) == 0
    assert made.count == 0


@pytest.mark.parametrize("path", ["ask/slow", "ask/forever", "call/slow", "call/forever"])
def test_a_reader_who_leaves_frees_the_work_within_a_second(slow, path) -> None:
    url, made, app = slow

    async def and_leave() -> int:
        async with httpx.AsyncClient(timeout=30) as reader:
            where, body = f"{url}{path}", {}
            if path.startswith("call"):
                left = (await reader.post(f"{url}gradio_api/{path}", json={"data": ["x"]})).json()["event_id"]
                task = asyncio.create_task(reader.get(f"{url}gradio_api/{path}/{left}"))
            else:
                task = asyncio.create_task(reader.post(where, json=body))
            await asyncio.to_thread(made.begun.wait, 10)
            task.cancel()
        return made.steps

    steps = finish(and_leave())
    until(made.ended.is_set)
    until(lambda: empty(app))
    assert made.steps - steps < 100  # of a hundredth of a second each, of four hundred and more


def test_a_question_in_the_line_is_not_begun_once_its_reader_left(slow) -> None:
    url, made, _ = slow

    async def two() -> None:
        async with httpx.AsyncClient(timeout=30) as reader:
            first = asyncio.create_task(reader.post(f"{url}ask/slow", json={"text": "a"}))
            await asyncio.to_thread(made.begun.wait, 10)
            second = asyncio.create_task(reader.post(f"{url}ask/slow", json={"text": "b"}))
            await asyncio.sleep(0.05)
            second.cancel()
            assert (await first).json() == "done"

    finish(two())
    assert made.count <= 2  # the second may have begun within the first, and was ended there


def test_a_full_line_is_one_sentence_with_a_place_and_leaves_room_for_clicks(slow) -> None:
    url, _, app = slow

    async def many() -> None:
        async with httpx.AsyncClient(timeout=60) as reader:
            tasks = [asyncio.create_task(reader.post(f"{url}ask/forever", json={})) for _ in range(4)]
            await asyncio.to_thread(until, lambda: app.answering.line.kinds[True] == 4)
            full = await reader.post(f"{url}ask/forever", json={})
            assert full.status_code == 503
            assert full.json()["place"] == 5
            assert full.headers["retry-after"] == "2"
            assert full.json()["error"] == "The line is full: yours would be number 5 in it; ask again in 2 seconds."
            click = await reader.post(f"{url}ask/reading", json={"text": "The cat"})
            assert click.json()["count"] == 2
            for task in tasks:
                task.cancel()

    finish(many())
    until(lambda: empty(app))


def test_who_waits_for_a_turn_hears_the_place(slow) -> None:
    url, _, app = slow
    with httpx.Client(timeout=30) as client, ExitStack() as stack:
        streams = [stack.enter_context(client.stream("POST", f"{url}ask/forever", json={})) for _ in range(3)]
        assert [json.loads(next(each.iter_lines())) for each in streams] == [0, 0, {"place": 1}]
    until(lambda: empty(app))


# The line itself


def test_one_client_cannot_take_all_places() -> None:
    line = Line(Bounds(per_client=2, quick=10, per_question=10))
    with line.place("a", "x", long=False), line.place("a", "x", long=False):
        with pytest.raises(Full, match="Your address has all its places") as full, line.place("a", "x", long=False):
            pass
        assert full.value.place == 3
        with line.place("b", "x", long=False):
            pass
    assert not line.clients


def test_the_pace_of_a_client_is_bounded_and_comes_back(monkeypatch) -> None:
    now = [0.0]
    monkeypatch.setattr("gptviz.web.line.time.monotonic", lambda: now[0])
    line = Line(Bounds(per_minute=60))
    for _ in range(60):
        with line.place("a", "x", long=False):
            pass
    with pytest.raises(Full, match="60 questions within a minute") as full, line.place("a", "x", long=False):
        pass
    assert full.value.status == 429
    with line.place("b", "x", long=False):
        pass
    now[0] += 1.0
    with line.place("a", "x", long=False):
        pass


def test_turns_are_taken_in_order_and_can_be_left() -> None:
    async def run() -> None:
        turns = Turns(1)
        turns.take()
        first, second, third = turns.wait(), turns.wait(), turns.wait()
        assert [turns.before(each) for each in (first, second, third)] == [1, 2, 3]
        turns.leave(first)
        turns.done()
        assert second.done()
        assert not third.done()
        turns.leave(second)  # its turn had come: the next has it
        assert third.done()
        turns.done()
        assert turns.free

    finish(run())


def test_a_reader_who_takes_no_more_loses_the_place(slow, monkeypatch) -> None:
    url, made, app = slow
    monkeypatch.setattr(answering, "STALL_S", 0.3)
    with socket.create_connection((httpx.URL(url).host, httpx.URL(url).port)) as quiet:
        quiet.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        head = f"POST /ask/flood HTTP/1.1\r\nHost: {httpx.URL(url).host}\r\nContent-Type: application/json\r\n"
        quiet.sendall(f"{head}Content-Length: 2\r\n\r\n{{}}".encode())
        assert made.begun.wait(10)
        until(lambda: not empty(app))
        until(lambda: empty(app))


def test_a_value_made_while_its_reader_leaves_is_the_last_one() -> None:
    making, go, ended = threading.Event(), threading.Event(), threading.Event()
    kept: list[Iterator[int]] = []  # so that no collector of garbage closes it

    def states() -> Iterator[int]:
        try:
            yield 1
            making.set()
            go.wait(30)
            yield 2
        finally:
            ended.set()

    def asked(text: str = "") -> Iterator[int]:
        """Two values."""
        kept.append(states())
        return kept[0]

    async def leave() -> None:
        values = answering.Answering([]).values(Question("asked", asked), "somebody", {})
        assert await anext(values) == 1
        second = asyncio.ensure_future(anext(values))
        await asyncio.to_thread(making.wait, 30)
        second.cancel()
        with suppress(asyncio.CancelledError):
            await second
        assert not ended.is_set()
        go.set()
        assert await asyncio.to_thread(ended.wait, 30)

    finish(leave())
