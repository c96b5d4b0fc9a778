"""The page's document as it leaves: what the browser should fetch at once is named in it, and it is compressed."""

from __future__ import annotations

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Document:
    """ASGI middleware: puts `head` into Gradio's HTML document, which would otherwise add it only once it runs.

    Only the page itself passes through here as a whole; everything else goes by untouched.
    """

    def __init__(self, app: ASGIApp, head: str) -> None:
        self.app, self.head = app, head.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].rstrip("/") in _roots(scope)
        if not is_page:
            await self.app(scope, receive, send)
            return
        if scope["path"] and scope["path"] == scope.get("root_path"):  # the page's addresses are relative to its slash
            query = scope["query_string"].decode("latin-1")
            await RedirectResponse(f"{scope['path']}/{'?' + query if query else ''}", 308)(scope, receive, send)
            return
        packs = "br" in Headers(scope=scope).get("accept-encoding", "")
        start: Message = {}
        body = bytearray()

        async def gather(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                await self._send(start, bytes(body), packs, send)

        await self.app(scope, receive, gather)

    async def _send(self, start: Message, body: bytes, packs: bool, send: Send) -> None:
        headers = MutableHeaders(raw=list(start["headers"]))
        if headers.get("content-type", "").startswith("text/html") and "content-encoding" not in headers:
            body = body.replace(b"<head>", b"<head>" + self.head, 1)
            # Gradio's only address from the root: it would be lost below a path.
            body = body.replace(b'href="/manifest.json"', b'href="./manifest.json"')
            headers["Vary"] = "Accept-Encoding"
            if packs:
                body = brotli.compress(body, quality=5)
                headers["Content-Encoding"] = "br"
            headers["Content-Length"] = str(len(body))
        await send({**start, "headers": headers.raw})
        await send({"type": "http.response.body", "body": body})


def _roots(scope: Scope) -> set[str]:
    root = scope.get("root_path", "").rstrip("/")
    return {"", root}
