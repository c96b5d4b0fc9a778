"""The gate before everything: what is there at all, who may ask, and what browsers are told about the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gptviz.web.ask import refusal
from gptviz.words import Said

# What the app has, and what it needs of Gradio; all else of the toolkit is not there.
NAME = r"[A-Za-z0-9_]{1,64}"
OPEN = re.compile(
    rf"""/?|/gv/.*|/ask/{NAME}|/health|/metrics|/config/?|/theme\.css|/robots\.txt|/favicon\.ico|/manifest\.json
    |/(assets|static|svelte)/.*|/pwa_icon(/\d+)?
    |/gradio_api/(info|openapi\.json|startup-events|theme\.css|app_id|user|reset|cancel|queue/join|queue/data)/?
    |/gradio_api/mcp(/.*)?|/gradio_api/heartbeat/[A-Za-z0-9]{{1,64}}|/gradio_api/call/(v2/)?{NAME}(/[0-9a-f]{{32}})?""",
    re.VERBOSE,
)
HOST = re.compile(r"[A-Za-z0-9._-]{1,253}(:\d{1,5})?|\[[0-9A-Fa-f:.%]{2,60}\](:\d{1,5})?")
METHODS = ("GET", "HEAD", "POST", "OPTIONS", "DELETE")  # an agent deletes its session
POLICY = (
    "default-src 'self'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; "
    "form-action 'none'"
)
TOLD = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # the address holds the prompt
    "Content-Security-Policy": POLICY.format(scripts=""),
}


@dataclass(frozen=True)
class Hosts:
    """The names this server answers to (none: to any), and whether a proxy before it may say whom it speaks for."""

    names: frozenset[str] = frozenset()
    proxied: bool = False

    def knows(self, host: str) -> bool:
        name = _name(host)
        if not HOST.fullmatch(host):
            return False
        ends = tuple(known for known in self.names if known.startswith("."))
        return not self.names or name in self.names or name.endswith(ends)


class Gate:
    """ASGI middleware: 404 for what is not there, 403 for another page's questions, 421 for another host's."""

    def __init__(self, app: ASGIApp, hosts: Hosts | None = None) -> None:
        self.app, self.hosts = app, hosts or Hosts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # there are none
            await receive()
            await send({"type": "websocket.close"})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope["gptviz.client"] = self._client(scope, headers)

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(raw=list(message["headers"]))
                for name, value in TOLD.items():
                    found.setdefault(name, value)
                message = {**message, "headers": found.raw}
            await send(message)

        refused = self._refused(scope, headers)
        await (refusal(*refused) if refused else self.app)(scope, receive, told)

    def _refused(self, scope: Scope, headers: Headers) -> tuple[Said, int] | None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if not OPEN.fullmatch(path) or scope["method"] not in METHODS:
            return Said("errors.no_address"), 404
        if not self.hosts.knows(headers.get("host", "")) and path != "/health":
            return Said("errors.other_host"), 421
        if scope["method"] not in ("GET", "HEAD", "OPTIONS") and not self._own(headers):
            return Said("errors.other_origin"), 403
        return None

    def _own(self, headers: Headers) -> bool:
        """Whether a browser asks for the page of this very server; programs do not say where they come from."""
        site = headers.get("sec-fetch-site")
        if site is not None:  # browsers set it themselves, where the page is safe or local
            return site in ("same-origin", "none")
        origin = headers.get("origin")
        if origin is None:
            return True
        here = {headers.get("host", ""), headers.get("x-forwarded-host", "") if self.hosts.proxied else ""} - {""}
        return urlsplit(origin).netloc in here or (bool(self.hosts.names) and self.hosts.knows(urlsplit(origin).netloc))

    def _client(self, scope: Scope, headers: Headers) -> str:
        """The address of who asks: the last that the proxy adds, where there is one."""
        said = headers.get("x-forwarded-for", "") if self.hosts.proxied else ""
        return said.rpartition(",")[2].strip()[:64] or (scope["client"] or ("",))[0]


def _name(host: str) -> str:
    """`example.org:80` without the port, in small letters."""
    return re.sub(r":\d+$", "", host).strip("[]").lower()
