"""What a server's memory does over many questions, its cache full before the first look: `python -m bench memory`"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import httpx

from bench.load import HERE, PORT, own, serving
from bench.measure import machine

LOOKS = (200, 1_200)  # questions after which the memory is read
KINDS = ("outlook", "column", "head_grid", "true_tokens", "outlook")
CACHE_MB = 64


def run(*, quick: bool = False) -> dict[str, Any]:
    """Resident memory after so many questions, each about a text of its own, and how much it grew between."""
    looks = (10, 40) if quick else LOOKS
    flags = ["--model", "nano", "--offline", "--port", str(PORT), "--cache-mb", str(CACHE_MB), "--per-minute", "0"]
    seen: dict[int, float] = {}
    command = [sys.executable, "app.py", *flags]
    with serving(command, "health") as process, httpx.Client(base_url=HERE, timeout=60) as client:
        for i in range(1, looks[-1] + 1):
            text = own(i, i % 7)
            client.post(f"/ask/{KINDS[i % len(KINDS)]}", json={"text": text}).raise_for_status()
            if i % 10 == 0:
                client.post("/gradio_api/call/v2/generate", json={"text": text}).raise_for_status()
            if i in looks:
                seen[i] = resident_mb(process.pid)
    first, last = (seen[look] for look in looks)
    return {"machine": machine(), "cache_mb": CACHE_MB, "resident_mb": seen, "growth": round(last / first - 1, 4)}


def resident_mb(process: int) -> float:
    """Of a process on Linux."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return round(int(found[1]) / 1024, 1) if found else 0.0
