"""Every step of every page as it is read: at most 60 words with the numbers of the picture, three to seven steps."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from gptviz.lessons import PAGES
from gptviz.lessons.steps import MOST_WORDS, read

Opener = Callable[..., Page]

# As a reader sees it: without the definitions that a term shows when it is pointed at.
SHOWN = """() => [...document.querySelectorAll('.gv-cur .gv-body > p')].map((p) => {
  const copy = p.cloneNode(true);
  copy.querySelectorAll('.gv-term-means').forEach((n) => n.remove());
  return copy.textContent;
})"""
ODD = re.compile(r"undefined|NaN|null|[{}]|\de[-−+]?\d|−0(\.0)?(?![.\d])|\(\)|\s[.,;:](\s|$)|…")


@pytest.mark.parametrize("lesson", PAGES, ids=lambda page: page.KEY)
def test_a_step_has_few_words_and_none_that_is_odd(open_page: Opener, lesson: object) -> None:
    key, fields = lesson.KEY, lesson.FIELDS  # type: ignore[attr-defined]
    steps = read(key, fields).steps
    assert 3 <= len(steps) <= 7
    page = open_page(key, guesses=0)
    wrong = []
    for number in range(1, len(steps) + 1):
        page.evaluate("step => gptviz.app.step(step)", number)
        page.wait_for_selector(f'.gv-app[data-shown="{key}/{number}/live"]')
        page.wait_for_function("!document.querySelector('.gv-cur .gv-body').textContent.includes('…')")
        words = " ".join(page.evaluate(SHOWN))
        count = len(words.split())
        if count > MOST_WORDS:
            wrong.append(f"step {number} has {count} words: {words}")
        wrong += [f"step {number} says “{words[max(0, m.start() - 30) : m.end() + 10]}”" for m in ODD.finditer(words)]
    assert not wrong, "\n".join(wrong)
