"""From a slider's input event to painted bars in Chromium, V = 50,257. `python -m bench slider`"""

from __future__ import annotations

import os
import shutil
import statistics
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from gptviz.decoder.decoder import Decoder
from gptviz.service import Service
from gptviz.shell import build

NANO = Path(__file__).resolve().parents[1] / "assets" / "nano"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

# One move: the event, the frame that follows, and the first task after that frame is on screen.
MOVE = """async (n) => {
    const s = document.querySelector("#gv-temperature"), out = [];
    for (let i = 0; i < n; i++) {
        await new Promise((done) => setTimeout(done, 40));
        const begin = performance.now();
        s.value = 0.05 + (i % 90) / 20; s.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => {
            const c = new MessageChannel(); c.port1.onmessage = done; c.port2.postMessage(0);
        }));
        out.push(performance.now() - begin);
    }
    return out;
}"""


def run(*, quick: bool = False) -> dict[str, Any]:
    """Wall time a move and processor time of the page's main thread, in ms."""
    service = Service()
    service.add(Decoder.load(NANO, name="nano", source="bundled"))
    app = build(service)
    _, url, _ = app.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True)
    moves = 60 if quick else 300
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{url}?lesson=next_token")
        page.wait_for_selector(".gv-app[data-shown$=live]")
        page.evaluate(MOVE, 20)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = _busy(session)
        times = sorted(page.evaluate(MOVE, moves))
        busy = _busy(session) - before
        browser.close()
    app.demo.close()
    return {
        "vocabulary": service.decoder().shape.vocabulary,
        "moves": moves,
        "median_ms": round(statistics.median(times), 1),
        "p90_ms": round(times[int(0.9 * moves)], 1),
        "main_thread_ms_per_move": round(busy / moves, 1),
    }


def _busy(session: Any) -> float:
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    return float(1000 * metrics["TaskDuration"])
