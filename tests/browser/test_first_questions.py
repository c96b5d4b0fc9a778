"""What each page really asks for its first screen: the list by which tests/integration/test_passes.py counts passes."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Request

from gptviz.lessons import frame
from gptviz.service import Service
from gptviz.shell import build
from tests.integration.test_passes import FIRST, PROMPT

Asked = tuple[str, dict[str, Any]]


@pytest.fixture(scope="module")
def defaults(service: Service) -> dict[str, dict[str, Any]]:
    """Of each question of the pages, what its arguments are when they are not given."""
    everywhere = {question.name for question in frame.questions(service)}
    return {
        question.name: {name: given.default for name, given in question.signature.parameters.items()}
        for question in build(service).questions
        if question.name not in everywhere
    }


@pytest.mark.parametrize("key", FIRST)
def test_a_first_screen_asks_what_the_passes_are_counted_for(
    url: str, chromium: Browser, defaults: dict[str, dict[str, Any]], key: str
) -> None:
    found: list[Asked] = []

    def note(request: Request) -> None:
        name = request.url.rpartition("/ask/")[2].partition("?")[0]
        if request.method == "POST" and name in defaults:
            given = request.post_data_json.items()
            found.append((name, {k: v for k, v in given if k not in ("text", "model") and defaults[name][k] != v}))

    page = chromium.new_page()
    page.on("request", note)
    page.goto(f"{url}?{urlencode({'lesson': key, 'prompt': PROMPT})}")
    page.wait_for_selector(f'.gv-app[data-shown="{key}/1/live"]')
    page.wait_for_load_state("networkidle")
    page.close()
    assert sorted(found, key=repr) == sorted(FIRST[key], key=repr)
