"""Pictures of every page and step: `make screenshots`, or with ARGS="--model nano --page mask".

They go to screenshots/, which is not committed: light and dark at 1280 × 800, a phone's 390 px, and 1920 × 1080 as
presented. `make pictures` takes those of the README: the first step of every page, small files in docs/pictures/.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
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
README = Path(__file__).resolve().parents[1] / "docs" / "pictures"
MOST_BYTES = 60_000  # of one picture of the README
DARK = ("attention", "twins")  # shown dark there, so that both looks are seen


def main() -> None:
    """Start the app with a model and take all pictures that were asked for."""
    asked = flags()
    with served(service_of(asked.model)) as url, chromium() as browser:
        if asked.readme:
            for_readme(browser, url, asked.page)
            return
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
    parser.add_argument("--readme", action="store_true", help="the README's pictures instead")
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


def for_readme(browser: Browser, url: str, keys: list[str]) -> None:
    """One small WebP a page, as it opens."""
    README.mkdir(parents=True, exist_ok=True)
    for key in keys:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        page.goto(f"{url}?lesson={key}&theme={'dark' if key in DARK else 'light'}")
        page.wait_for_selector(".gv-app[data-shown$=live]")
        page.wait_for_timeout(2000)
        small = small_file(page.screenshot())
        (README / f"{key}.webp").write_bytes(small)
        print(README / f"{key}.webp", f"{len(small):,} bytes")
        page.close()


def small_file(png: bytes) -> bytes:
    """The best WebP of at most MOST_BYTES."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    for quality in range(90, 20, -5):
        out = io.BytesIO()
        image.save(out, "WEBP", quality=quality, method=6)
        if out.tell() <= MOST_BYTES:
            break
    return out.getvalue()


def picture(page: Page, file: Path) -> Path:
    """Wait until the live picture is drawn and its colours have settled."""
    page.wait_for_selector(".gv-app[data-shown$=live]")
    page.wait_for_timeout(1200)
    page.screenshot(path=str(file))
    return file


if __name__ == "__main__":
    main()
