"""A page below a path: behind a proxy that takes the path off its requests, or leaves it on."""

from __future__ import annotations

from starlette.datastructures import URL
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class Prefix:
    """ASGI middleware: takes `prefix` off the path of a request that still has it; others go by as they are.

    The prefix alone is sent on to the same with a slash, since all addresses of the page are relative to it.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self.app, self.prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or not self.prefix:
            await self.app(scope, receive, send)
            return
        path: str = scope["path"]
        if path == self.prefix and scope["type"] == "http":
            query = URL(scope=scope).query
            await RedirectResponse(f"{self.prefix}/{'?' + query if query else ''}", 308)(scope, receive, send)
            return
        if path.startswith(self.prefix + "/"):
            raw = scope.get("raw_path") or path.encode()
            scope = {**scope, "path": path[len(self.prefix) :], "raw_path": raw[len(self.prefix.encode()) :]}
        await self.app(scope, receive, send)
