"""Refuse a request body that is too large before anything reads it."""

from __future__ import annotations

import json

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gptviz.words import Said, spoken


class BodyLimit:
    """ASGI middleware: 413 for a body above `limit` bytes, whether its length is announced or it just keeps coming."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sentence = Said("errors.body_too_large", most=self.limit).text(spoken.get())
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if not announced.isdigit() or int(announced) > self.limit:
            await _refuse(sentence, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:
                raise HTTPException(413, sentence)  # the app's own error handling answers with it
            return message

        await self.app(scope, counted, send)


async def _refuse(sentence: str, send: Send) -> None:
    body = json.dumps({"detail": sentence, "error": sentence}).encode()  # as Gradio's page reads it
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
