"""The twins page: the recorded run, a live one, cancelling, and what it looks like on other screens."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gptviz.lessons.page import prose
from playwright.sync_api import Page, expect

from gptviz.lab.teaching import twins
from gptviz.lab.teaching.grammar import verdict

RECORDING = json.loads((Path(__file__).parents[2] / "assets" / "twins.json").read_text(encoding="utf-8"))
Opener = Callable[..., Page]


def recorded(variant: str, data: str = "sentences") -> dict[str, Any]:
    return next(run for run in RECORDING["runs"] if (run["variant"], run["data"]) == (variant, data))


def page_of(open_page: Opener, **asked: Any) -> Page:
    page = open_page("twins", **asked)
    page.wait_for_selector(".gv-twins-mark:visible")
    return page


def reveal(page: Page) -> None:
    page.get_by_role("button", name="Show how it goes on").click()


def written(page: Page) -> list[list[tuple[str, bool]]]:
    """Every sentence on the page as (word, right) pairs, as the reader sees them."""
    return page.eval_on_selector_all(
        ".gv-twins-line",
        """lines => lines.map(line => [...line.childNodes].flatMap(node => node.textContent.split(' ')
            .filter(Boolean).map(word => [word, node.nodeName !== 'S'])))""",
    )


def test_the_recorded_run_says_that_it_is_recorded_and_waits_for_a_guess(open_page: Opener) -> None:
    page = page_of(open_page)
    run = recorded("open")
    expect(page.locator(".gv-twins-mark")).to_contain_text("Recorded run.")
    for part in (
        RECORDING["recorded"],
        RECORDING["command"],
        f"seed {run['seed']}",
        f"torch {RECORDING['versions']['torch']}",
    ):
        expect(page.locator(".gv-twins-mark")).to_contain_text(part)
    expect(page.get_by_text("What they write")).to_be_hidden()
    losses, writing = (
        page.get_by_role("group", name=f"Guess the {what}", exact=True) for what in ("losses", "writing")
    )
    losses.get_by_role("button", name="the one with the mask").click()
    writing.get_by_role("button", name="the one with the mask").click()
    expect(losses).to_contain_text("You guessed “the one with the mask”")
    expect(losses).to_contain_text(f"{run['floor'] - run['twin']['loss']:.3f} below the floor")
    expect(writing).to_contain_text("As you guessed.")
    expect(writing).to_contain_text(f"accepts {100 * run['causal']['valid']:.1f} %")
    expect(page.get_by_text("What they write")).to_be_visible()


def test_every_word_carries_the_grammar_s_verdict(open_page: Opener) -> None:
    page = page_of(open_page)
    reveal(page)
    run = recorded("open")
    lines = [line.split() for name in ("causal", "twin") for line in run[name]["text"].split("\n")]
    assert [[word for word, _ in line] for line in written(page)] == lines
    assert [[right for _, right in line] for line in written(page)] == [verdict(words) for words in lines]
    accepted = page.locator(".gv-twins-lines [aria-label=accepted]").count()
    assert accepted == sum(all(verdict(words)) for words in lines)
    table = page.locator(".gv-twins-ends")
    for name in ("causal", "twin"):
        expect(table).to_contain_text(f"{run[name]['loss']:.4f}")


def test_a_mistake_and_a_text_can_be_chosen(open_page: Opener) -> None:
    page = page_of(open_page)
    page.get_by_label("Targets not shifted").click()
    expect(page.locator(".gv-twins")).to_contain_text("with unshifted targets")
    expect(page.get_by_text("What they write")).to_be_hidden()  # still nobody has guessed
    reveal(page)
    assert written(page)[-1][0][0] == recorded("unshifted")["twin"]["text"].split("\n")[-1].split()[0]
    page.get_by_label("Random tokens").click()
    expect(page.locator(".gv-twins")).to_contain_text("ln 39 = 3.664")
    expect(page.locator(".gv-twins-lines s")).to_have_count(0)


def test_a_live_run_streams_and_ends_with_its_own_figures(open_page: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twins, "train", functools.partial(twins.train, 60))
    *_, expected = twins.train(seed=4)
    page = page_of(open_page)
    page.get_by_label("Seed").fill("4")
    page.get_by_role("button", name=prose("twins")["train"]).click()
    mark = page.locator(".gv-twins-mark")
    expect(mark).to_contain_text("Step ", timeout=60_000)
    expect(page.get_by_text("What they write")).to_be_hidden()
    expect(mark).to_contain_text("60 steps", timeout=120_000)
    expect(mark).to_contain_text("Live run.")
    expect(mark).to_contain_text("seed 4")
    expect(page.get_by_role("button", name=prose("twins")["train"])).to_be_enabled()
    cells = page.locator(".gv-twins-ends tbody tr").nth(0).locator("td")
    for cell, name in zip(cells.all(), ("causal", "twin"), strict=True):
        assert float(cell.inner_text().split()[0]) == pytest.approx(expected[name]["loss"], abs=0.02)
    assert [[right for _, right in line] for line in written(page)] == [
        verdict([word for word, _ in line]) for line in written(page)
    ]


def test_cancel_stops_the_training(open_page: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    step = twins.Twin.step
    monkeypatch.setattr(twins.Twin, "step", lambda self, ids, rate: (steps.append(1), step(self, ids, rate)))
    monkeypatch.setattr(twins, "train", functools.partial(twins.train, 2000))
    page = page_of(open_page)
    losses = page.get_by_role("group", name="Guess the losses", exact=True)
    losses.get_by_role("button", name="the one with the mask").click()
    of_recording = f"{recorded('open')['twin']['loss']:.4f}"
    expect(losses).to_contain_text(of_recording)
    page.get_by_role("button", name=prose("twins")["train"]).click()
    expect(page.locator(".gv-twins-mark")).to_contain_text("of 2000", timeout=60_000)
    expect(losses).not_to_contain_text(of_recording)
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator(".gv-twins-mark")).to_contain_text("Stopped at step")
    expect(losses).to_contain_text("so this is the recorded run (seed 0")
    expect(losses).to_contain_text(of_recording)
    expect(page.get_by_role("button", name=prose("twins")["train"])).to_be_enabled()
    time.sleep(1.5)
    before = len(steps)
    time.sleep(1.5)
    assert len(steps) == before < 4000


def test_a_bad_seed_is_refused_with_a_sentence(open_page: Opener) -> None:
    page = page_of(open_page)
    page.get_by_label("Seed").fill("-3")
    page.get_by_role("button", name=prose("twins")["train"]).click()
    expect(page.get_by_text("-3").last).to_be_visible()
    expect(page.get_by_role("button", name=prose("twins")["train"])).to_be_enabled()
    expect(page.locator(".gv-twins-mark")).to_contain_text("Stopped at step 0")


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1920, True)])
def test_it_fits_the_screen(open_page: Opener, width: int, dark: bool) -> None:
    page = page_of(open_page, width=width, dark=dark)
    reveal(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    figures = page.locator(".gv-twins .gv-fig:visible")
    assert figures.count() == 4
    for box in (figure.bounding_box() for figure in figures.all()):
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert page.evaluate("document.body.classList.contains('dark')") is dark
