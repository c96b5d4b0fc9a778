"""Gradio's protocol for programs, without Gradio's queue: a call is left at one address and its answer read at another.

A call that nobody comes to read is only a note here. Work begins when its reader is there, and ends when the reader
goes, so a thousand calls that are never read hold nobody up.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from gptviz.decoder.errors import UserError
from gptviz.lessons.questions import Question
from gptviz.service.ticket import Left
from gptviz.service.wire import as_json
from gptviz.web.answering import Answering, Place, broken, client_of
from gptviz.web.ask import NO_STORE, read_json, refusal, sentence
from gptviz.words import spoken

UNREAD_S = 10.0
BEAT_S = 15.0  # between two signs of life, which keep proxies from closing a quiet stream
UNREAD = 2_000  # calls that are not read yet, the oldest out first
UNREAD_OF_ONE = 250  # of one client
BEHIND = 64  # values that a slow reader may be behind: then some are left out, since the last one is the whole
UNREAD_BYTES = 64 * 2**20

Send = Callable[[str, Any], None]  # kind ("start", "value", "end", "error", "beat"), what it holds


@dataclass
class Call:
    """One call as it was left."""

    question: Question
    given: Any  # a list of all arguments, or an object of some
    client: str
    size: int
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    at: float = field(default_factory=time.monotonic)


class Notes:
    """The calls whose readers have not come yet."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, Call] = OrderedDict()
        self._bytes = 0

    def add(self, call: Call) -> None:
        """Keep it for UNREAD_S; where there is no room, the oldest of the same client goes, then the oldest of all."""
        self.tidy()
        mine = [id for id, other in self._calls.items() if other.client == call.client]
        if len(mine) >= UNREAD_OF_ONE:
            self.take(mine[0])
        self._calls[call.id] = call
        self._bytes += call.size
        while len(self._calls) > UNREAD or self._bytes > UNREAD_BYTES:
            self.take(next(iter(self._calls)))

    def take(self, id: str) -> Call | None:
        """The call, which is then no longer here."""
        call = self._calls.pop(id, None)
        if call is not None:
            self._bytes -= call.size
        return call

    def tidy(self) -> None:
        """Drop what was left too long ago."""
        late = time.monotonic() - UNREAD_S
        while self._calls and next(iter(self._calls.values())).at < late:
            self.take(next(iter(self._calls)))

    def __len__(self) -> int:
        return len(self._calls)


@dataclass
class Session:
    """What a client of Gradio's reads on one stream: the messages of all its calls."""

    waiting: list[str] = field(default_factory=list)
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    messages: asyncio.Queue[dict[str, Any] | None] = field(default_factory=asyncio.Queue)


class Events:
    """The routes that Gradio's clients use."""

    def __init__(self, answering: Answering, functions: dict[int, str]) -> None:
        self.answering = answering
        self.functions = functions  # Gradio's number of a function: the question's name
        self.notes = Notes()
        self._sessions: dict[str, Session] = {}  # that are being read
        self._left: OrderedDict[str, list[str]] = OrderedDict()  # calls of sessions that nobody reads yet

    def routes(self) -> list[Route]:
        base = "/gradio_api"
        return [
            Route(f"{base}/call/{{name}}", self.leave, methods=["POST"]),
            Route(f"{base}/call/v2/{{name}}", self.leave, methods=["POST"]),
            Route(f"{base}/call/{{name}}/{{id}}", self.read, methods=["GET"]),
            Route(f"{base}/call/v2/{{name}}/{{id}}", self.read, methods=["GET"]),
            Route(f"{base}/queue/join", self.join, methods=["POST"]),
            Route(f"{base}/queue/data", self.listen, methods=["GET"]),
            Route(f"{base}/cancel", self.cancel, methods=["POST"]),
            Route(f"{base}/reset", self.cancel, methods=["POST"]),
        ]

    # One call, one reader

    async def leave(self, request: Request) -> Response:
        """POST call/NAME with {"data": […]}, or call/v2/NAME with the arguments by name: {"event_id"}."""
        question = self._named(request.path_params["name"])
        if question is None:
            return sentence("no_endpoint", 404)
        try:
            body = await read_json(request)
            by_name = "/call/v2/" in request.url.path
            call = self._call(question, body if by_name else _data(body), request)
        except ValueError as error:
            return _no_call(error)
        self.notes.add(call)
        return JSONResponse({"event_id": call.id}, headers=NO_STORE)

    async def read(self, request: Request) -> Response:
        """GET call/NAME/ID: the values, then the end or a sentence, as server-sent events."""
        self.notes.tidy()
        call = self.notes.take(request.path_params["id"])
        if call is None:
            return refusal(UserError("no_event", seconds=UNREAD_S).said, 404)
        return _events(self._simple(call))

    async def _simple(self, call: Call) -> AsyncIterator[str]:
        messages: asyncio.Queue[str | None] = asyncio.Queue()
        names = {"value": "generating", "end": "complete", "error": "error", "beat": "heartbeat"}

        def send(kind: str, value: Any) -> None:
            if kind in names and not (kind == "value" and messages.qsize() > BEHIND):
                data = value if kind in ("error", "beat") else [value]
                messages.put_nowait(f"event: {names[kind]}\ndata: {json.dumps(data)}\n\n")
            if kind in ("end", "error"):
                messages.put_nowait(None)

        task = asyncio.create_task(self._run(call, send))
        try:
            while (message := await _next(messages, lambda: send("beat", None))) is not None:
                yield message
        finally:
            await _ended(task)

    # Many calls, one reader

    async def join(self, request: Request) -> Response:
        """POST queue/join with {"data", "fn_index", "session_hash"}: {"event_id"}; read under the session."""
        try:
            body = await read_json(request)
            body = body if isinstance(body, dict) else {}
            session, number = body.get("session_hash"), body.get("fn_index")
            question = self._named(self.functions.get(number, "")) if isinstance(number, int) else None
            if question is None or not isinstance(session, str) or not 0 < len(session) <= 64:
                return sentence("no_endpoint", 404)
            call = self._call(question, _data(body), request)
        except ValueError as error:
            return _no_call(error)
        if session in self._sessions:
            self._start(self._sessions[session], call)
        else:
            self.notes.add(call)
            self._left.setdefault(session, []).append(call.id)
            while len(self._left) > UNREAD:
                self._left.popitem(last=False)
        return JSONResponse({"event_id": call.id}, headers=NO_STORE)

    async def listen(self, request: Request) -> Response:
        """GET queue/data?session_hash=…: the messages of all calls of the session, until none is left."""
        session = request.query_params.get("session_hash", "")
        self.notes.tidy()
        calls = [call for id in self._left.pop(session, []) if (call := self.notes.take(id)) is not None]
        if not calls or session in self._sessions:
            return refusal(UserError("no_event", seconds=UNREAD_S).said, 404)
        return _events(self._session(session, calls))

    async def _session(self, name: str, calls: list[Call]) -> AsyncIterator[str]:
        session = self._sessions[name] = Session()
        try:
            for call in calls:
                self._start(session, call)
            while session.running or not session.messages.empty():
                message = await _next(session.messages, lambda: session.messages.put_nowait({"msg": "heartbeat"}))
                if message is not None:
                    yield f"data: {json.dumps(message)}\n\n"
            yield f"data: {json.dumps({'msg': 'close_stream'})}\n\n"
        finally:
            del self._sessions[name]
            for task in list(session.running.values()):
                await _ended(task)

    def _start(self, session: Session, call: Call) -> None:
        first = True

        def send(kind: str, value: Any) -> None:
            nonlocal first
            message: dict[str, Any] = {"event_id": call.id, "msg": "process_starts"}
            if kind in ("end", "error"):
                output = {"error": value, "title": "Error"} if kind == "error" else {"data": [value]}
                message |= {"msg": "process_completed", "output": output, "success": kind == "end"}
            elif kind == "value" and session.messages.qsize() > BEHIND:
                return
            elif kind == "value":  # after the first one Gradio's clients expect what has changed: here, all of it
                form = value if first else [["replace", [], value]]
                message |= {"msg": "process_generating", "output": {"data": [form]}, "success": True}
                first = False
            elif kind == "place":
                message |= {"msg": "estimation", "rank": value - 1, "queue_size": value, "rank_eta": None}
            session.messages.put_nowait(message)

        def done(task: asyncio.Task[None]) -> None:
            session.running.pop(call.id, None)
            session.messages.put_nowait(None)

        task = session.running[call.id] = asyncio.create_task(self._run(call, send))
        task.add_done_callback(done)

    async def cancel(self, request: Request) -> Response:
        """POST cancel with {"event_id"}: the call's work ends."""
        try:
            body = await read_json(request)
        except ValueError:
            return sentence("not_json", 400)
        id = body.get("event_id") if isinstance(body, dict) else None
        if not isinstance(id, str):
            return sentence("not_a_call", 400)
        self.notes.take(id)
        for session in self._sessions.values():
            if (task := session.running.get(id)) is not None:
                await _ended(task)
                message = {"msg": "process_completed", "event_id": id, "output": {"data": []}, "success": True}
                session.messages.put_nowait(message)
        return JSONResponse({"success": True}, headers=NO_STORE)

    # Both

    def _named(self, name: str) -> Question | None:
        question = self.answering.questions.get(name)
        return question if question is not None and question.public else None

    def _call(self, question: Question, given: Any, request: Request) -> Call:
        """UserError for what is no call at all; bad values are for its reader to hear."""
        if not isinstance(given, list | dict):
            raise UserError("not_a_call")
        length = request.headers.get("content-length", "0")
        return Call(question, given, client_of(request), int(length) if length.isdigit() else 0)

    async def _run(self, call: Call, send: Send) -> None:
        question, client = call.question, call.client
        try:
            send("start", None)
            given = _by_name(question, call.given)
            if question.streams:
                value: Any = None
                async with aclosing(self.answering.values(question, client, given)) as values:
                    async for found in values:
                        if isinstance(found, Place):
                            send("place", found.place)
                            continue
                        value = as_json(found)
                        send("value", value)
            else:
                value = await self.answering.once(question, client, given, as_json)
            send("end", value)
        except UserError as error:
            send("error", error.sentence(spoken.get()))
        except Left:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the reader must hear of it
            send("error", broken(question.name, error))


def _no_call(error: ValueError) -> Response:
    """What one hears who sent no call: its own sentence, or that the body is no JSON."""
    return refusal(error.said, 400) if isinstance(error, UserError) else sentence("not_json", 400)


def _data(body: Any) -> Any:
    data = body.get("data") if isinstance(body, dict) else None
    if not isinstance(data, list):
        raise UserError("not_a_call")
    return data


def _by_name(question: Question, given: Any) -> dict[str, Any]:
    """The arguments by name. UserError unless a list has all of them, and for a file, which no question takes."""
    names = list(question.signature.parameters)
    if isinstance(given, list):
        if len(given) != len(names):
            raise UserError("arguments", name=question.name, n=len(given), most=len(names), names=names)
        given = dict(zip(names, given, strict=True))
    for name, value in given.items():
        if any(isinstance(item, dict) and "meta" in item for item in (value if isinstance(value, list) else [value])):
            raise UserError("is_file", name=name, question=question.name)
    return given


async def _next(messages: asyncio.Queue[Any], beat: Callable[[], None]) -> Any:
    while True:
        try:
            return await asyncio.wait_for(messages.get(), BEAT_S)
        except TimeoutError:
            beat()


async def _ended(task: asyncio.Task[None]) -> None:
    """The task, cancelled and over, so that its work is left."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _events(lines: AsyncIterator[str]) -> Response:
    return StreamingResponse(lines, media_type="text/event-stream", headers=NO_STORE)
