"""The page behind a real nginx, below a path that it takes off or leaves on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Response

from gptviz.service import Service
from tests.proxy import KINDS, needs_nginx, nginx
from tools.browsing import served

LIVE = ".gv-app[data-shown$=live]"
LOADED = "document.fonts.ready.then(() => [...document.fonts].filter((f) => f.status === 'loaded').length)"


@pytest.fixture(scope="module")
def port(service: Service) -> Iterator[int]:
    """The port of an app that was told it is below /gptviz."""
    with served(service, root_path="/gptviz") as url:
        yield int(url.rstrip("/").rpartition(":")[2])


@needs_nginx
@pytest.mark.parametrize("kind", KINDS)
def test_page_fonts_and_pictures_are_there_behind_nginx(
    chromium: Browser, port: int, kind: str, tmp_path: Path
) -> None:
    with nginx(tmp_path, kind, port) as address:
        context = chromium.new_context()
        page = context.new_page()
        page.set_default_timeout(60_000)
        answers: list[Response] = []
        page.on("response", lambda answer: answers.append(answer))
        page.goto(address)
        page.wait_for_selector(LIVE)
        assert page.evaluate(LOADED) > 0
        asked = {answer.url: answer.status for answer in answers}
        assert all(status == 200 for status in asked.values()), asked
        assert all(url.startswith((address, "data:", "blob:")) for url in asked), asked
        assert any("/ask/" in url for url in asked)
        context.close()
