"""What opening a page costs: time to the first picture, bytes of first and repeat visit, shift: `bench page`."""

from __future__ import annotations

import statistics
from typing import Any

from playwright.sync_api import Browser, BrowserContext

from gptviz.lessons import PAGES
from tools.browsing import bundled, chromium, served

# Set before the page's own scripts: when the first picture was painted, and how far the layout moved.
WATCH = """
window.bench = { shift: 0 };
new PerformanceObserver((list) => list.getEntries().forEach((e) => (window.bench.shift += e.value)))
    .observe({ type: "layout-shift", buffered: true });
new MutationObserver(() => {
    const app = document.querySelector(".gv-app");
    const shown = app && app.dataset.shown;
    if (!shown) return;
    const kind = shown.endsWith("live") ? "live" : "recorded";
    window.bench.first ??= performance.now();
    window.bench[kind] ??= performance.now();
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-shown"], childList: true });
"""


def run(*, quick: bool = False) -> dict[str, Any]:
    """Each page opened afresh several times: medians in ms since the request, bytes as they came over the wire."""
    rounds = 2 if quick else 3
    with served(bundled()) as url, chromium() as browser:
        found = {page.KEY: _page(browser, f"{url}?lesson={page.KEY}", rounds) for page in PAGES}
    return {"rounds": rounds, "pages": found}


def _page(browser: Browser, address: str, rounds: int) -> dict[str, Any]:
    visits = [_visits(browser, address) for _ in range(rounds)]
    names = ("first_ms", "live_ms", "shift", "first_kb", "own_first_kb", "repeat_kb", "own_repeat_kb")
    return {name: round(statistics.median(v[name] for v in visits), 3) for name in names}


def _visits(browser: Browser, address: str) -> dict[str, float]:
    """A first visit and, in the same context, a second one."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(WATCH)
    first, all_first, own_first = _visit(context, address)
    _, all_repeat, own_repeat = _visit(context, address)
    context.close()
    return {
        "first_ms": first["first"],
        "live_ms": first["live"],
        "shift": first["shift"],
        "first_kb": all_first / 1000,
        "own_first_kb": own_first / 1000,
        "repeat_kb": all_repeat / 1000,
        "own_repeat_kb": own_repeat / 1000,
    }


def _visit(context: BrowserContext, address: str) -> tuple[dict[str, float], float, float]:
    """What the page says of itself, all bytes and those of the project's own files and answers."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    names: dict[str, str] = {}
    sizes: dict[str, float] = {}
    session.on("Network.responseReceived", lambda event: names.update({event["requestId"]: event["response"]["url"]}))
    session.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    page.goto(address)
    page.wait_for_selector(".gv-app[data-shown$=live]")
    page.wait_for_timeout(700)
    told = page.evaluate("window.bench")
    page.close()
    own = sum(size for id, size in sizes.items() if any(part in names.get(id, "") for part in ("/gv/", "/ask/", "?")))
    return told, sum(sizes.values()), own


if __name__ == "__main__":
    import json

    print(json.dumps(run(), indent=2))
