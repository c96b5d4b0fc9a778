"""WCAG 2.2 AA as axe-core checks it: every page, every step, light and dark, under its rules about scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from gptviz.lessons import PAGES

THEME = "dark => { if (document.body.classList.contains('dark') !== dark) gptviz.app.theme(); }"
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RULES = {  # the dark theme has the same elements in other colours
    "light": {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]},
    "dark": {"runOnly": ["color-contrast"], "resultTypes": ["violations"]},
}


def violations(page: Page, theme: str) -> list[str]:
    """One line a violation: the rule, how many places, the first of them."""
    found: Any = page.evaluate("rules => axe.run(document, rules)", RULES[theme])
    return [
        f"{v['id']} ({len(v['nodes'])}): {v['nodes'][0]['html'][:160]} {v['nodes'][0]['failureSummary'][:200]}"
        for v in found["violations"]
    ]


@pytest.mark.parametrize("key", [page.KEY for page in PAGES])
def test_no_page_and_no_step_has_a_violation(open_page: Callable[..., Page], key: str) -> None:
    page = open_page(key, guesses=0, ruled=True)  # what those rules refuse is a complaint in the console
    page.evaluate(AXE.read_text(encoding="utf-8"))
    wrong = []
    for number in range(1, page.locator(".gv-steps li").count() + 1):
        page.locator(".gv-steps li").nth(number - 1).locator(".gv-head").click()
        page.wait_for_selector(f'.gv-app[data-shown="{key}/{number}/live"]')
        for theme in ("light", "dark"):
            page.evaluate(THEME, theme == "dark")
            wrong += [f"step {number}, {theme}: {line}" for line in violations(page, theme)]
    assert wrong == []
