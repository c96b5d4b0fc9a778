"""The page's document as it leaves: what the browser should fetch at once is named in it, and it is compressed."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import OrderedDict

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gptviz.web.gate import POLICY

SEEN = ("host", "x-forwarded-host", "x-forwarded-proto")  # headers that Gradio's document depends on
KEPT = 16  # documents; one for each name the server is reached by, twice
INLINE = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)


class Document:
    """ASGI middleware: puts `head` into Gradio's HTML document, which would otherwise add it only once it runs.

    Only the page itself passes through here as a whole; everything else goes by untouched. It is made once for each
    name that the server is reached by. Its inline scripts, which are Gradio's, are allowed by their hashes.
    """

    def __init__(self, app: ASGIApp, head: str) -> None:
        self.app, self.head = app, head.encode()
        self._made: OrderedDict[tuple[object, ...], tuple[Message, bytes]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].rstrip("/") in _roots(scope)
        if not is_page:
            await self.app(scope, receive, send)
            return
        if scope["path"] and scope["path"] == scope.get("root_path"):  # the page's addresses are relative to its slash
            query = scope["query_string"].decode("latin-1")
            await RedirectResponse(f"{scope['path']}/{'?' + query if query else ''}", 308)(scope, receive, send)
            return
        headers = Headers(scope=scope)
        packs = "br" in headers.get("accept-encoding", "")
        key = (scope.get("root_path"), packs, *(headers.get(name) for name in SEEN))
        if key in self._made:
            self._made.move_to_end(key)
        else:
            start, body = await self._whole(scope, receive)
            if start["status"] != 200:
                await send(start)
                await send({"type": "http.response.body", "body": body})
                return
            self._made[key] = self._finished(start, body, packs)
            if len(self._made) > KEPT:
                self._made.popitem(last=False)
        start, body = self._made[key]
        await send({**start, "headers": list(start["headers"])})
        await send({"type": "http.response.body", "body": body})

    async def _whole(self, scope: Scope, receive: Receive) -> tuple[Message, bytes]:
        """Gradio's answer to the plain question for the page: its own query reads files, and ours is the browser's."""
        start: Message = {}
        body = bytearray()

        async def gather(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
            else:
                body.extend(message.get("body", b""))

        seen = [(name, value) for name, value in scope["headers"] if name.decode("latin-1") in SEEN]
        await self.app({**scope, "headers": seen, "query_string": b""}, receive, gather)
        return start, bytes(body)

    def _finished(self, start: Message, body: bytes, packs: bool) -> tuple[Message, bytes]:
        headers = MutableHeaders(raw=list(start["headers"]))
        body = body.replace(b"<head>", b"<head>" + self.head, 1)
        # Gradio's only address from the root: it would be lost below a path.
        body = body.replace(b'href="/manifest.json"', b'href="./manifest.json"')
        hashes = "".join(f" 'sha256-{_digest(script)}'" for script in INLINE.findall(body))
        headers["Content-Security-Policy"] = POLICY.format(scripts=hashes)
        headers["Vary"] = "Accept-Encoding"
        if packs:
            body = brotli.compress(body, quality=9)
            headers["Content-Encoding"] = "br"
        headers["Content-Length"] = str(len(body))
        return {**start, "headers": headers.raw}, body


def _digest(script: bytes) -> str:
    return base64.b64encode(hashlib.sha256(script).digest()).decode()


def _roots(scope: Scope) -> set[str]:
    root = scope.get("root_path", "").rstrip("/")
    return {"", root}
