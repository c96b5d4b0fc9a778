"""Record what each page asks for its first picture: `python -m tools.record nano smollm2-135m`.

The answers go to assets/recorded/MODEL/PAGE.json, by question. The page shows them, marked "recorded", until the live
answer is there. Run it again whenever an answer of a first picture changes; a test compares them with live ones.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Response

from gptviz.lessons import PAGES
from gptviz.lessons.frame import question_key
from tools.browsing import chromium, served, service_of

FOLDER = Path(__file__).resolve().parents[1] / "assets" / "recorded"
MOST = 60_000  # characters of one answer: a first picture has to be small
LIVE = (".gv-app[data-shown$=live]", 120_000)


def main(models: list[str]) -> None:
    """Record every page that reads the prompt, for each of the models."""
    with chromium() as browser:
        for model in models:
            with served(service_of(model)) as url:
                for page in PAGES:
                    if getattr(page, "PROMPTED", True):
                        write(model, page.KEY, asked(browser, f"{url}?lesson={page.KEY}"))


def asked(browser: Browser, address: str) -> dict[str, Any]:
    """All questions of the page's first picture with their answers, as they went over the wire."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    answers: list[Response] = []
    page.route("**/recorded/*/*.json", lambda route: route.fulfill(json={}))  # what an older page asked
    page.on("response", lambda response: answers.append(response) if "/ask/" in response.url else None)
    page.goto(address)
    page.wait_for_selector(LIVE[0], timeout=LIVE[1])
    page.wait_for_load_state("networkidle")
    found = {}
    for response in answers:
        name, body = response.url.partition("?")[0].rsplit("/", 1)[1], response.text()
        if name != "status" and response.ok and len(body) <= MOST and "\n" not in body:
            found[question_key(name, json.loads(response.request.post_data or "{}"))] = json.loads(body)
    page.close()
    return found


def write(model: str, page: str, found: dict[str, Any]) -> None:
    """Keep the answers of one page."""
    path = FOLDER / model / f"{page}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{path}: {len(found)} answers, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:] or ["nano"])
