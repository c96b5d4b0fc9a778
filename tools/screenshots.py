"""Pictures of every page and step: `make screenshots`, or with ARGS="--model nano --page mask".

They go to screenshots/, which is not committed: light and dark at 1280 × 800, a phone's 390 px, and 1920 × 1080 as
presented.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page

from gptviz.lessons import PAGES
from gptviz.lessons.steps import read
from tools.browsing import chromium, served, service_of

LOOKS = {
    "light": (1280, 800, ""),
    "dark": (1280, 800, "&theme=dark"),
    "phone": (390, 844, ""),
    "present": (1920, 1080, "&present=1"),
}
PATIENCE = 120_000  # ms


def main() -> None:
    """Start the app with a model and take all pictures that were asked for."""
    asked = flags()
    with served(service_of(asked.model)) as url, chromium() as browser:
        for look in asked.look:
            for file in pictures(browser, url, look, asked.page, Path(asked.out)):
                print(file)


def flags() -> argparse.Namespace:
    """What to take pictures of."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="", help="a name of the catalogue; the best to be had without it")
    parser.add_argument("--page", nargs="*", default=[page.KEY for page in PAGES], help="keys of pages")
    parser.add_argument("--look", nargs="*", default=list(LOOKS), choices=list(LOOKS))
    parser.add_argument("--out", default="screenshots")
    return parser.parse_args()


def pictures(browser: Browser, url: str, look: str, keys: list[str], out: Path) -> Iterator[Path]:
    """One picture a step, in one look."""
    width, height, more = LOOKS[look]
    out.mkdir(parents=True, exist_ok=True)
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(PATIENCE)
    for lesson in PAGES:
        if lesson.KEY not in keys:
            continue
        for number in range(1, len(read(lesson.KEY, lesson.FIELDS).steps) + 1):
            page.goto(f"{url}?lesson={lesson.KEY}&step={number}&guesses=0{more}")
            yield picture(page, out / f"{lesson.KEY}-{number}-{look}.png")
    page.close()


def picture(page: Page, file: Path) -> Path:
    """Wait until the live picture is drawn and its colours have settled."""
    page.wait_for_selector(".gv-app[data-shown$=live]")
    page.wait_for_timeout(1200)
    page.screenshot(path=str(file))
    return file


if __name__ == "__main__":
    main()
