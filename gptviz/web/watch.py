"""For operators: an access log and figures for Prometheus, both without a word of what was asked."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gptviz.words import Said

if TYPE_CHECKING:
    from gptviz.service import Service
    from gptviz.web.line import Line

log = logging.getLogger("gptviz.access")
ASKED = re.compile(r"/(ask|gradio_api/call(?:/v2)?)/([A-Za-z0-9_]+)")
KINDS = {"": "page", "gv": "file", "assets": "file", "static": "file", "health": "health", "metrics": "metrics"}
BUCKETS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


class Watch:
    """ASGI middleware: each request once it has ended, by kind and question; an unknown question has no name."""

    def __init__(
        self, app: ASGIApp, questions: Iterable[str], figures: Figures | None = None, logs: bool = False
    ) -> None:
        self.app, self.questions, self.figures, self.logs = app, frozenset(questions), figures, logs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 499  # unless an answer begins, the reader has left

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, seen)
        finally:
            kind, question = self._label(scope["path"].removeprefix(scope.get("root_path", "")))
            seconds = time.perf_counter() - begin
            if self.figures is not None:
                self.figures.count(kind, question, status, seconds)
            if self.logs:
                client = scope.get("gptviz.client") or (scope["client"] or ("-",))[0]
                log.info("%s %s %s %s %d %.3f", client, scope["method"], kind, question or "-", status, seconds)

    def _label(self, path: str) -> tuple[str, str]:
        if found := ASKED.match(path):
            return found[1].split("/")[-1].replace("v2", "call"), found[2] if found[2] in self.questions else ""
        return KINDS.get(path.split("/")[1] if "/" in path else "", "other"), ""


class Figures:
    """GET /metrics. Prometheus' own client is imported here only, so that nothing needs it without the flag."""

    def __init__(self, service: Service, line: Line) -> None:
        import prometheus_client as p

        self._registry = p.CollectorRegistry()
        p.ProcessCollector(registry=self._registry)
        names = ["kind", "question", "status"]
        self._requests: Any = p.Counter("gptviz_requests", Said("door.metric_requests"), names, registry=self._registry)
        self._seconds: Any = p.Histogram(
            "gptviz_seconds", Said("door.metric_seconds"), ["kind"], registry=self._registry, buckets=BUCKETS
        )
        for name, text, value in (
            ("gptviz_line_quick", Said("door.metric_line_quick"), lambda: line.kinds[False]),
            ("gptviz_line_long", Said("door.metric_line_long"), lambda: line.kinds[True]),
            ("gptviz_worker_waiting", Said("door.metric_waiting"), lambda: service.worker.waiting),
            ("gptviz_cache_bytes", Said("door.metric_cache"), lambda: service.cache_bytes),
            ("gptviz_models", Said("door.metric_models"), lambda: len(service.names)),
        ):
            p.Gauge(name, text, registry=self._registry).set_function(value)

    def count(self, kind: str, question: str, status: int, seconds: float) -> None:
        """One request that has ended."""
        self._requests.labels(kind, question, status).inc()
        self._seconds.labels(kind).observe(seconds)

    def route(self) -> Route:
        return Route("/metrics", self.answer, methods=["GET"])

    async def answer(self, request: Request) -> Response:
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)
