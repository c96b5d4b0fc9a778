"""Where the page asks: one address a question, JSON in, JSON out; a long answer comes line by line and can be left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from gptviz.decoder.errors import UserError
from gptviz.lessons.questions import Question
from gptviz.service.ticket import Left
from gptviz.service.wire import as_packed
from gptviz.web.answering import Answering, Place, broken, client_of
from gptviz.web.line import RETRY_S, Full
from gptviz.words import Said, spoken, words

NO_STORE = {"Cache-Control": "no-store"}
NOBODY = Response(status_code=499)  # for a reader who has left


class Asked:
    """The routes of all questions. A bad question gets 400 and one sentence, never a traceback."""

    def __init__(self, answering: Answering) -> None:
        self.answering = answering

    def route(self) -> Route:
        return Route("/ask/{name}", self.answer, methods=["POST"])

    async def answer(self, request: Request) -> Response:
        question = self.answering.questions.get(request.path_params["name"])
        if question is None:
            return sentence("no_question", 404)
        if not request.headers.get("content-type", "").startswith(
            "application/json"
        ):  # what a foreign form cannot send
            return sentence("ask_json", 415)
        try:
            given = await read_json(request)
        except ValueError:
            return sentence("not_json", 400)
        try:
            if question.streams:
                return await self._stream(question, client_of(request), given)
            return await _while_there(request, self._once(question, client_of(request), given))
        except Full as full:
            return full_answer(full)
        except UserError as error:
            return refusal(error.said, 400)
        except Left:
            return NOBODY
        except Exception as error:  # noqa: BLE001 - whatever it is, the page must get a sentence and the log the cause
            return refusal(broken(question.name, error), 500)

    async def _once(self, question: Question, client: str, given: Any) -> Response:
        def write(answer: Any) -> Response:
            return JSONResponse(as_packed(answer), headers=NO_STORE)

        return await self.answering.once(question, client, given, write)

    async def _stream(self, question: Question, client: str, given: Any) -> Response:
        values = self.answering.values(question, client, given)
        first = await anext(values, None)  # bad arguments show at the first value
        lines = self._lines(question.name, values, first)
        return StreamingResponse(lines, media_type="application/x-ndjson", headers=NO_STORE)

    async def _lines(self, name: str, values: AsyncGenerator[Any], first: Any) -> AsyncIterator[bytes]:
        """One JSON value a line. When the reader leaves, the values are closed, and that frees their work."""
        async with aclosing(values):
            try:
                yield _line(first)
                async for value in values:
                    yield _line(value)
            except UserError as error:
                yield _line({"error": error.said})
            except Left:
                return
            except Exception as error:  # noqa: BLE001 - the headers are gone: the reader must hear of it in the stream
                yield _line({"error": broken(name, error)})


async def _while_there(request: Request, answer: Any) -> Response:
    """The answer, unless the reader leaves before it is made; then its work is left too."""
    making = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait([making, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not making.done():
            making.cancel()
            return NOBODY
        return making.result()
    finally:
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def read_json(request: Request) -> Any:
    """The body's JSON. ValueError where it is none, or nested beyond all reason."""
    try:
        return json.loads(await request.body())
    except RecursionError as error:
        raise ValueError from error


def _line(value: Any) -> bytes:
    form = {"place": value.place} if isinstance(value, Place) else as_packed(value)
    return json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def sentence(key: str, status: int) -> Response:
    """One of the sentences of `errors`."""
    return refusal(words(spoken.get()).text(f"errors.{key}"), status)


def refusal(text: str, status: int, **more: Any) -> Response:
    """A sentence as the page reads it, and as Gradio's clients do: in the visitor's language, if it has a key."""
    text = text.text(spoken.get()) if isinstance(text, Said) else text
    return JSONResponse({"error": text, "detail": text, **more}, status_code=status, headers=NO_STORE)


def full_answer(full: Full) -> Response:
    """What one hears who comes when the line is full."""
    response = refusal(full.said, full.status, place=full.place, retry_s=RETRY_S)
    response.headers["Retry-After"] = str(RETRY_S)
    return response
