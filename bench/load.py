"""A class at once: N clients on loopback, each asking at the same moment: `python -m bench load`.

The server runs in a process of its own, and so does, before it, the library's plain `generate` behind Gradio's queue.
Nothing leaves the machine, and every request ends within LIMIT_S.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from bench.measure import machine

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 300.0
NEW = 20
CLIENTS = {"nano": 100, "smollm2-135m": 30}
PORT = int(os.environ.get("BENCH_PORT", "7790"))
TEXT = "the cat sat on a mat and one day saw how rain fell over an old town near green hills by its long quiet road"
HERE = f"http://127.0.0.1:{PORT}"
WORDS = TEXT.split()

Work = Callable[[httpx.AsyncClient, int], Awaitable[None]]


def run(*, quick: bool = False, models: list[str] | None = None) -> dict[str, Any]:
    """Seconds at the median and at the 95th of 100, and errors, of each kind of request, by model."""
    figures: dict[str, Any] = {"machine": machine(), "models": {}}
    for model in models or list(CLIENTS):
        clients = 4 if quick else CLIENTS[model]
        with serving([sys.executable, "app.py", "--model", model, "--offline", "--port", str(PORT)], "health"):
            found = asyncio.run(all_of(gptviz(model), clients, HERE))
        with serving([sys.executable, "-m", "bench.plain", model, str(PORT)], "config"):
            library = _call("generate", lambda i: {"text": own(i), "new": NEW})
            found |= asyncio.run(all_of({"library generate": library}, clients, HERE))
        figures["models"][model] = {"clients": clients, "load": os.getloadavg()[0], **found}
    return figures


def own(i: int, salt: int = 0) -> str:
    """A text of 32 words that no other client has."""
    return " ".join(WORDS[(i * 7 + salt * 13 + k * (1 + i % 5)) % len(WORDS)] for k in range(31)) + f" {i}"


def gptviz(model: str) -> dict[str, Work]:
    """What is asked, in this order; no prompt was asked before but the page's own."""
    first = "When Mary and John went to the store, John gave a drink to"

    async def page(client: httpx.AsyncClient, i: int) -> None:
        document = await client.get("/", headers={"accept-encoding": "br"})
        assert document.status_code == 200, document.status_code
        for name, args in (("status", {}), ("outlook", {"text": first, "model": model}), ("reading", {"text": first})):
            await _ask(client, name, args)

    async def same(client: httpx.AsyncClient, i: int) -> None:
        await _ask(client, "outlook", {"text": own(10_000), "model": model})

    async def alone(client: httpx.AsyncClient, i: int) -> None:
        await _ask(client, "outlook", {"text": own(i), "model": model})

    generate = _call("generate", lambda i: {"text": own(i, 1), "max_new_tokens": NEW})
    return {"page": page, "same prompt": same, "own prompt": alone, "generate": generate}


async def _ask(client: httpx.AsyncClient, name: str, args: dict[str, Any]) -> None:
    answer = await client.post(f"/ask/{name}", json=args)
    assert answer.status_code == 200, answer.text[:200]


def _call(name: str, data: Callable[[int], dict[str, Any]]) -> Work:
    """An endpoint of Gradio's: the question is left at one address, the answer read at another."""

    async def work(client: httpx.AsyncClient, i: int) -> None:
        left = await client.post(f"/gradio_api/call/v2/{name}", json=data(i))
        assert left.status_code == 200, left.text[:200]
        last = ""
        async with client.stream("GET", f"/gradio_api/call/v2/{name}/{left.json()['event_id']}") as answer:
            async for line in answer.aiter_lines():
                last = line if line.startswith("event:") else last
        assert last == "event: complete", last

    return work


async def all_of(works: dict[str, Work], clients: int, base: str) -> dict[str, Any]:
    """Each kind of request in its turn: one to warm up, then all clients at once."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=base, timeout=LIMIT_S, limits=limits, trust_env=False) as client:
        for work in works.values():  # warm: what is made once at the first question is no one's wait
            await work(client, clients + 1)
        return {name: await _at_once(client, work, clients) for name, work in works.items()}


async def _at_once(client: httpx.AsyncClient, work: Work, clients: int) -> dict[str, Any]:
    async def timed(i: int) -> float | str:
        begin = time.perf_counter()
        try:
            await work(client, i)
        except (AssertionError, httpx.HTTPError) as error:
            return f"{type(error).__name__}: {error}"
        return time.perf_counter() - begin

    begin = time.perf_counter()
    found = await asyncio.gather(*(timed(i) for i in range(clients)))
    seconds = sorted(x for x in found if isinstance(x, float))
    errors = [x for x in found if isinstance(x, str)]
    return {
        "p50_s": round(statistics.median(seconds), 3) if seconds else None,
        "p95_s": round(seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))], 3) if seconds else None,
        "all_s": round(time.perf_counter() - begin, 3),
        "errors": len(errors),
        "first_error": errors[0] if errors else None,
    }


@contextmanager
def serving(command: list[str], ready: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process of its own, up and ready; ended afterwards."""
    environment = {**os.environ, "GRADIO_ANALYTICS_ENABLED": "False"}
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=quiet, stderr=quiet)
    try:
        _wait(process, f"http://127.0.0.1:{PORT}/{ready}")
        yield process
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    end = time.monotonic() + 180
    while time.monotonic() < end and process.poll() is None:
        try:
            answer = httpx.get(address, timeout=5, trust_env=False)
            if answer.status_code == 200 and answer.json().get("status", "ready") == "ready":
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise RuntimeError(f"The server at {address} did not come up.")


if __name__ == "__main__":
    import json

    print(json.dumps(run(models=sys.argv[1:] or None), indent=2))
