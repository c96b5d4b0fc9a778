"""Where the page asks: one address a question, JSON in, JSON out; a long answer comes line by line and can be left."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import anyio
from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from gptviz.decoder.errors import UserError
from gptviz.lessons.questions import Question
from gptviz.service.wire import as_packed
from gptviz.words import Said, choose, spoken

log = logging.getLogger("gptviz")

AT_ONCE = 64  # questions in a thread each; what they ask of the model waits its turn there
NO_STORE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Asked:
    """The routes of all questions. A bad question gets 400 and one sentence, never a traceback."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self.questions = {question.name: question for question in questions}
        self.limiter: anyio.CapacityLimiter | None = None
        self.running: dict[str, int] = {}

    def route(self) -> Route:
        return Route("/ask/{name}", self.answer, methods=["POST"])

    async def answer(self, request: Request) -> Response:
        spoken.set(choose(request.query_params.get("lang"), request.headers.get("accept-language")))
        question = self.questions.get(request.path_params["name"])
        if question is None:
            return _sentence(UserError("no_question", value=request.path_params["name"]), 404)
        kind = request.headers.get("content-type", "")
        if not kind.startswith("application/json"):  # what a foreign form cannot send
            return _sentence(UserError("asked_in_json"), 415)
        try:
            given = json.loads(await request.body())
        except (ValueError, RecursionError):
            return _sentence(UserError("no_json"), 400)
        if self.limiter is None:
            self.limiter = anyio.CapacityLimiter(AT_ONCE)
        if question.streams:
            return await self._stream(question, given)
        return await anyio.to_thread.run_sync(_once, question, given, limiter=self.limiter)

    async def _stream(self, question: Question, given: Any) -> Response:
        if question.limit is not None and self.running.get(question.name, 0) >= question.limit:
            return _sentence(UserError("busy"), 503)
        try:
            values = question.ask(given)
            first = await asyncio.to_thread(next, values, None)  # bad arguments show at the first value
        except UserError as error:
            return _sentence(error, 400)
        return StreamingResponse(
            self._lines(question.name, values, first), media_type="application/x-ndjson", headers=NO_STORE
        )

    async def _lines(self, name: str, values: Iterator[Any], first: Any) -> AsyncIterator[bytes]:
        """One JSON value a line. When the reader leaves, the generator is closed and frees its work."""
        self.running[name] = self.running.get(name, 0) + 1
        try:
            yield _line(first)
            async for value in iterate_in_threadpool(values):
                yield _line(value)
        except UserError as error:
            yield _line({"error": error.said})
        except Exception:  # the headers are gone: the reader must hear of it in the stream
            log.exception("The question %s failed.", name)
            yield _line({"error": Said("errors.broken")})
        finally:
            self.running[name] -= 1
            close = getattr(values, "close", None)
            if close is not None:
                with anyio.CancelScope(shield=True):
                    await asyncio.to_thread(_closed, close)


def _once(question: Question, given: Any) -> Response:
    try:
        return JSONResponse(as_packed(question.ask(given)), headers=NO_STORE)
    except UserError as error:
        return _sentence(error, 400)
    except Exception:  # whatever it is, the page must get a sentence and the log the cause
        log.exception("The question %s failed.", question.name)
        return _sentence(UserError("broken"), 500)


def _closed(close: Any) -> None:
    try:
        close()
    except ValueError:  # it is just being run in another thread and ends there
        log.debug("A stream was closed while it ran.")


def _line(value: Any) -> bytes:
    return json.dumps(as_packed(value), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _sentence(error: UserError, status: int) -> Response:
    return JSONResponse({"error": error.sentence(spoken.get())}, status_code=status, headers=NO_STORE)
