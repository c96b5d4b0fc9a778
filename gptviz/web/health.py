"""How the server does, for whatever watches it: a container's health check, a proxy, a script that waits."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gptviz.service import Service


class Health:
    """GET /health: `{status, model, fraction}`.

    `status` is "ready", or "loading" while a larger model is on its way and the one named answers; `fraction` says how
    much of it is there, from 0 to 1, and is null where that cannot be known.
    """

    def __init__(self, service: Service) -> None:
        self.service = service

    def route(self) -> Route:
        return Route("/health", self.answer, methods=["GET", "HEAD"])

    async def answer(self, request: Request) -> JSONResponse:
        now = self.service.status
        told = {
            "status": "loading" if now.loading else "ready",
            "model": self.service.default,
            "fraction": now.fraction,
        }
        return JSONResponse(told, headers={"Cache-Control": "no-store"})
