"""Refuse a request body that is too large before anything reads it."""

from __future__ import annotations

import json

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """ASGI middleware: 413 for a body above `limit` bytes, whether its length is announced or it just keeps coming."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app, self.limit = app, limit
        self.sentence = f"The request is too large; at most {limit:,} bytes are read."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if not announced.isdigit() or int(announced) > self.limit:
            await self._refuse(send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:
                raise HTTPException(413, self.sentence)  # the app's own error handling answers with it
            return message

        await self.app(scope, counted, send)

    async def _refuse(self, send: Send) -> None:
        sentence = json.dumps({"detail": self.sentence, "error": self.sentence}).encode()  # as Gradio's page reads it
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(sentence)).encode())]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": sentence})
