"""The running app in Chromium. Every page opened here must raise no error and ask no other host for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from gptviz.decoder.decoder import Decoder
from gptviz.service import Service
from tools import browsing

Opener = Callable[..., Page]
PATIENCE = 60_000  # ms: a wait ends when the page is ready; this is for a machine that is busy with other things
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def service(nano: Decoder) -> Service:
    """A service with the bundled model only."""
    service = Service()
    service.add(nano)
    return service


@pytest.fixture(scope="session")
def url(service: Service) -> Iterator[str]:
    """The address of the running app."""
    with browsing.served(service) as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's own browser; CHROMIUM names another."""
    with browsing.chromium() as browser:
        yield browser


@pytest.fixture
def open_page(url: str, chromium: Browser) -> Iterator[Opener]:
    """`open_page("mask", step=2, width=390, dark=True, **more)` opens a page and waits for its live picture.

    Errors of the page, in its console too, and requests to other hosts fail the test at its end. `drawn=False` does not
    wait for the picture. The page's rules about scripts would refuse what Playwright waits with; `ruled` keeps them.
    """
    yield from _opening(url, chromium)


@pytest.fixture(scope="module")
def open_pages(url: str, chromium: Browser) -> Iterator[Opener]:
    """The same for pages that several tests of a module look at, one after another."""
    yield from _opening(url, chromium)


def _opening(url: str, chromium: Browser) -> Iterator[Opener]:
    contexts, trouble = [], []

    def opener(
        lesson: str = "",
        *,
        width: int = 1280,
        height: int = 800,
        dark: bool = False,
        drawn: bool = True,
        ruled: bool = False,
        **more: Any,
    ) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
            bypass_csp=not ruled,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: trouble.append(f"page error: {error}"))
        page.on("console", lambda said: _complaint(said.type, said.text, trouble))
        page.on("request", lambda request: _elsewhere(request.url, url, trouble))
        asked = {name: value for name, value in ({"lesson": lesson} | more).items() if value != ""}
        page.goto(url + ("?" + urlencode(asked) if asked else ""))
        if drawn:
            page.wait_for_selector(".gv-app[data-shown$=live]")
        return page

    yield opener
    for context in contexts:
        context.close()
    assert trouble == []


def _complaint(kind: str, words: str, trouble: list[str]) -> None:
    if kind == "error" and "status of 400" not in words:  # a refused value: the page says the sentence
        trouble.append(f"console: {words}")


def _elsewhere(asked: str, url: str, trouble: list[str]) -> None:
    if not asked.startswith((url.rstrip("/"), "data:", "blob:")):
        trouble.append(f"request to another host: {asked}")
