"""The scripts of gptviz/widgets/kit on an empty page, without the app: an address from which they can be imported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route

from gptviz import widgets

WIDGETS = Path(widgets.__file__).parent
ADDRESS = "http://kit.test/"
KINDS = {".js": "text/javascript", ".css": "text/css"}


def serve(route: Route) -> None:
    """One file of gptviz/widgets, or an empty page."""
    name = route.request.url.removeprefix(ADDRESS).partition("?")[0]
    if name:
        file = WIDGETS / name
        route.fulfill(body=file.read_text(encoding="utf-8"), content_type=KINDS[file.suffix])
    else:
        route.fulfill(body="<!doctype html><html lang=en><title>kit</title><body></body>", content_type="text/html")


@pytest.fixture(scope="session")
def kit(chromium: Browser) -> Iterator[Page]:
    """A page on which `await import("/kit/NAME.js")` works."""
    page = chromium.new_page()
    page.route(ADDRESS + "**", serve)
    page.goto(ADDRESS)
    yield page
    page.close()
