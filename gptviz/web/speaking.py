"""In which language a visitor is answered: what the address asks for (`?lang=`), else what the browser prefers."""

from __future__ import annotations

from starlette.datastructures import Headers, QueryParams
from starlette.types import ASGIApp, Receive, Scope, Send

from gptviz.words import choose, spoken


class Speaking:
    """ASGI middleware: the language of a request, for every sentence that is said while it is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            asked = QueryParams(scope["query_string"]).get("lang")
            spoken.set(choose(asked, Headers(scope=scope).get("accept-language")))  # a request has a context of its own
        await self.app(scope, receive, send)
