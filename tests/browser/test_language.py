"""Everything a visitor reads is said in the visitor's language: in the pseudo-language all of it stands in brackets."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page

from gptviz.lessons import PAGES

PROMPT = "The cat sat on the mat. The cat"
# What stays as it is: tokens and texts of a model, its name, and what was typed.
AS_IS = (
    ".gv-token, .gv-tok, .gv-tick, .gv-word, .gv-ctx, .gv-line i, .gv-name, .gv-below span, .gv-twlines, .gv-model b, "
    "code, textarea, input, option"
)
# Letters outside of brackets, in visible texts and in the attributes that are read out. "The" is the first token of the
# prompt, before which there is no blank.
LEFT = """asis => {
  const left = [];
  let depth = 0;
  const texts = document.createTreeWalker(document.querySelector(".gv-app"), NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    let outside = "";
    for (const c of node.data) {
      if (c === "⟦") depth++;
      else if (c === "⟧") depth--;
      else if (!depth) outside += c;
    }
    const own = node.data.trim();
    const parent = node.parentElement;
    if (own === "The" || own.startsWith("·")) continue;
    if (!/[A-Za-z]{2,}/.test(outside) || parent.closest(`style, script, ${asis}`)) continue;
    if (parent.checkVisibility({ visibilityProperty: true })) left.push(`${parent.className}: ${own}`);
  }
  for (const name of ["title", "aria-label", "placeholder", "alt"])
    for (const node of document.querySelectorAll(`.gv-app [${name}]`)) {
      const said = node.getAttribute(name);
      if (/[A-Za-z]{2,}/.test(said) && !said.includes("⟦") && !said.startsWith("·")) left.push(`${name}: ${said}`);
    }
  return [depth, left];
}"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    found = chromium.new_page(viewport={"width": 1280, "height": 800})
    yield found
    found.close()


def opened(page: Page, url: str, **fields: str) -> Page:
    page.goto(f"{url}?{urlencode({'lang': 'qps', 'prompt': PROMPT, **fields})}")
    page.wait_for_selector(".gv-app[data-shown], [role=alert]:not(:empty)")
    page.wait_for_load_state("networkidle")
    return page


@pytest.mark.parametrize("lesson", [lesson.KEY for lesson in PAGES])
def test_every_text_of_a_page_is_from_the_words(page: Page, url: str, lesson: str) -> None:
    opened(page, url, lesson=lesson)
    assert page.evaluate(LEFT, AS_IS) == [0, []]


def test_the_menus_are_from_the_words(page: Page, url: str) -> None:
    opened(page, url, lesson="next_token")
    for button in page.locator(".gv-menubtn").all():
        button.click()
        _, left = page.evaluate(LEFT, AS_IS)
        # The test's model: its name, and its facts, which have no words where it was not loaded from a source.
        assert [text for text in left if text not in (": nano", ": cpu, float32, bundled")] == []
        page.keyboard.press("Escape")


@pytest.mark.parametrize("lesson", ["training", "prefix", "mask"])
def test_an_error_is_said_in_the_visitors_language(page: Page, url: str, lesson: str) -> None:
    asked: list[str] = []
    page.on("response", lambda response: asked.append(response.url) if response.status == 400 else None)
    opened(page, url, lesson=lesson, prompt="" if lesson == "mask" else "a")
    said = page.locator("[role=alert]").filter(has_text="⟦téxt").first
    said.wait_for()
    assert said.inner_text().startswith("⟦téxt îš émptý" if lesson == "mask" else "⟦téxt hàš 1 tökéñ")
    assert asked
    assert page.evaluate(LEFT, AS_IS) == [0, []]
