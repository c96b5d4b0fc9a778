"""From a slider's input event to painted bars in Chromium, V = 50,257. `python -m bench slider`"""

from __future__ import annotations

import statistics
from typing import Any

from tools.browsing import bundled, chromium, served

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
    service = bundled()
    moves = 60 if quick else 300
    with served(service) as url, chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{url}?lesson=next_token")
        page.wait_for_selector(".gv-app[data-shown$=live]")
        page.evaluate(MOVE, 20)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = _busy(session)
        times = sorted(page.evaluate(MOVE, moves))
        busy = _busy(session) - before
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
