"""A picture as a file: it opens from a disk, offline, and shows the numbers it was made from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import gptviz
from gptviz.decoder.decoder import Decoder
from tests.browser.conftest import Opener

TEXT = "When Mary and John went to the store, John gave a drink to"
RESULTS = {
    "attention": lambda m: m.attention(TEXT, 3, 1),
    "masked": lambda m: m.attention(TEXT, 1, 2, "masked"),
    "mask": lambda m: m.mask(TEXT, [1], "none", 6, " dog"),
    "mask closed": lambda m: m.mask(TEXT),
    "prefix": lambda m: m.prefix(TEXT, 5, [0, 2], "none"),
    "prefix edited": lambda m: m.prefix(TEXT, 5, method="edit"),
    "next_token": lambda m: m.next_token(TEXT, temperature=0.7, top_k=40),
    "lens": lambda m: m.lens(TEXT),
    "attribution": lambda m: m.attribution(TEXT),
    "neurons": lambda m: m.neurons(TEXT, 2),
    "routes": lambda m: m.routes(TEXT),
    "patching": lambda m: m.patching(TEXT, TEXT.replace("John gave", "Mary gave")),
    "kv_cache": lambda m: m.kv_cache(TEXT, 12),
    "one token": lambda m: m.attention("The", 0, 0),
    "long": lambda m: m.attention("The quick brown fox met a lazy dog. " * 14, 1, 1),
    "html": lambda m: m.attention('</script><img src=x onerror="document.title=1">', 0, 0),
}


@pytest.fixture(scope="module")
def model(nano: Decoder) -> gptviz.Model:
    return gptviz.Model(nano)


@pytest.fixture
def from_disk(chromium: Browser) -> Iterator:
    """Opens a file with the network cut; an error, or a wish for anything else, fails the test."""
    trouble: list[str] = []
    contexts = []

    def opened(path: Path, width: int = 1100, height: int = 600, dark: bool = False) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, offline=True, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else trouble.append(r.url))
        page.goto(path.as_uri())
        expect(page.locator(".gv-app[data-shown$=live]")).to_be_visible()
        expect(page.locator(".gv-fail")).to_be_hidden()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


def table(page: Page) -> dict:
    return page.evaluate("gptviz.app.picture().table()")


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_saved_in_python_opens_offline(model: gptviz.Model, from_disk, tmp_path: Path, name: str) -> None:
    page = from_disk(RESULTS[name](model).save_html(tmp_path / "a picture.html"), dark=name == "mask")
    assert page.locator(".gv-say").inner_text()
    assert page.title().endswith("gptviz")
    assert page.locator("img").count() == 0
    page.wait_for_timeout(300)
    expect(page.locator(".gv-notice")).to_be_hidden()  # nothing that the picture asks is missing


def test_the_numbers_are_those_of_the_result(model: gptviz.Model, from_disk, tmp_path: Path) -> None:
    found = model.attention(TEXT, 3, 1)
    page = from_disk(found.save_html(tmp_path / "head.html"))
    rows = table(page)["rows"]
    assert [row[0] for row in rows] == found.tokens
    for row, weights in zip(rows, found.matrix.tolist(), strict=True):
        for cell, weight in zip(row[1:], weights, strict=True):
            said = float(re.sub(r"[^\d.]", "", cell))
            assert said == pytest.approx(100 * weight, abs=0.6), (cell, weight)
    words = page.locator(".gv-from").inner_text()
    assert words == f"nano: {TEXT}"


def test_what_the_file_does_not_hold_is_said_and_the_picture_stays(
    model: gptviz.Model, from_disk, tmp_path: Path
) -> None:
    page = from_disk(model.attention(TEXT, 3, 1).save_html(tmp_path / "head.html"))
    before = page.locator(".gv-say").inner_text()
    page.evaluate("gptviz.app.set({ head: '0.0' })")
    expect(page.locator(".gv-notice")).to_contain_text("This file holds")
    expect(page.locator(".gv-say")).to_have_text(before)
    assert page.evaluate("gptviz.app.state.fields.head") == "3.1"


@pytest.mark.parametrize("lesson", ["attention", "mask", "next_token", "training", "twins", "reference"])
def test_the_page_saves_what_is_on_its_stage(open_page: Opener, from_disk, tmp_path: Path, lesson: str) -> None:
    page = open_page(lesson)
    said = page.locator(".gv-say").inner_text()
    page.get_by_role("button", name="Menu").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save this picture as a file").click()
    assert download.value.suggested_filename == f"gptviz-{lesson}.html"
    path = tmp_path / "saved.html"
    download.value.save_as(path)
    saved = from_disk(path, width=1280, height=800)
    expect(saved.locator(".gv-say")).to_have_text(said)
    if lesson in ("attention", "mask"):
        assert table(saved)["rows"] == page.evaluate("gptviz.app.picture().table()")["rows"]
