"""Opening every page on one prompt: how many forward passes that takes, counted by the decoder itself."""

from __future__ import annotations

from typing import Any

import pytest

from gptviz.decoder.decoder import Decoder
from gptviz.lessons import PAGES, kv_cache
from gptviz.service import Service
from gptviz.service.wire import as_packed
from gptviz.shell import build

PROMPT = "The cat sat on the mat because the cat was tired."
MOST = 4  # the text as it is, without its mask, and both again with another ending
# What each page asks before anything is clicked, arguments left out where they are the usual ones;
# tests/browser/test_first_questions.py holds it against the pages.
FIRST: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "next_token": [("outlook", {})],
    "inside": [("column", {}), ("grid", {})],
    "attention": [
        ("head_grid", {}),
        ("head_rows", {"layer": 2, "head": 0, "first": 11, "last": 11}),
        ("head_rows", {"layer": 2, "head": 0, "last": 11}),
    ],
    "mask": [("true_tokens", {"direction": "none"})],
    "prefix": [("two_checks", {"direction": "none"})],
    "training": [("shifted", {}), ("learned", {})],  # the step of learning runs on a copy, which is not counted
    "twins": [("twins_recorded", {})],
    "kv_cache": [("kv_count", {}), ("kv_words", {})],
    "reference": [],  # words alone
}


@pytest.fixture
def opened(nano: Decoder) -> Any:
    """Open a page by key: ask what it asks; a model's own induction heads and rounding are measured before."""
    service = Service()
    service.add(nano)
    questions = {question.name: question for question in build(service).questions}
    service.panel(nano, nano.tokenizer.encode("Something else"))

    def open_page(key: str, text: str = PROMPT) -> None:
        for name, given in FIRST[key]:
            has_text = "text" in questions[name].signature.parameters
            as_packed(questions[name].ask({**given, **({"text": text} if has_text else {})}))

    return open_page


def test_every_page_is_opened() -> None:
    assert list(FIRST) == [page.KEY for page in PAGES]


@pytest.mark.parametrize("order", [1, -1], ids=["in order", "the last page first"])
def test_all_pages_on_one_prompt_take_few_passes(opened: Any, nano: Decoder, order: int) -> None:
    spent: dict[str, int] = {}
    for key in list(FIRST)[::order]:
        start = nano.passes
        opened(key)
        spent[key] = nano.passes - start
    assert spent.pop("kv_cache") == kv_cache.NEW  # it shows written text: one step a token, with a cache
    assert sum(spent.values()) <= MOST, spent
    before = nano.passes
    for key in FIRST:
        opened(key)
    assert nano.passes == before  # the second visit is free


def test_another_prompt_is_another_pass(opened: Any, nano: Decoder) -> None:
    for text in (PROMPT, PROMPT + " It slept."):
        before = nano.passes
        opened("next_token", text)
        assert nano.passes == before + 1
