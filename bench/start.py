"""A cold start: from the command to the first word, to a server that answers, and to the model being ready."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from tests.proxy import free_port

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 120.0


def run(*, quick: bool = False) -> dict[str, Any]:
    """Seconds, medians of several starts of a process."""
    found = [_start() for _ in range(1 if quick else 3)]
    return {name: round(statistics.median(each[name] for each in found), 2) for name in found[0]}


def _start() -> dict[str, float]:
    port, begin = free_port(), time.perf_counter()
    command = [sys.executable, "-u", "app.py", "--model", "nano", "--offline", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        said = time.perf_counter() - begin
        while time.perf_counter() - begin < LIMIT_S:
            try:
                if httpx.get(f"http://127.0.0.1:{port}/health", timeout=5).json()["status"] == "ready":
                    return {"first_word_s": said, "ready_s": time.perf_counter() - begin}
            except httpx.HTTPError:
                time.sleep(0.05)
        raise TimeoutError("the app did not start")
    finally:
        process.kill()
        process.wait()
