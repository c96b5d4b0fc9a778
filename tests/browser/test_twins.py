"""The twins page: the recorded run, a live one, stopping it, and the floor."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from gptviz.lab.teaching import judged, twins
from gptviz.lab.teaching.grammar import CHOICES, FLOOR, verdict
from tests.training import Watched

RECORDING = json.loads((Path(__file__).parents[2] / "assets" / "twins.json").read_text(encoding="utf-8"))
Opener = Callable[..., Page]


def recorded(variant: str, data: str = "sentences") -> dict[str, Any]:
    return twins.recorded(RECORDING, variant, data)


def written(page: Page) -> list[list[tuple[str, bool]]]:
    """Every sentence on the page as (word, right) pairs, as the reader sees them."""
    return page.eval_on_selector_all(
        ".gv-twlines p",
        """lines => lines.map(line => [...line.childNodes].flatMap(node => node.textContent.split(' ')
            .filter(Boolean).map(word => [word, node.nodeName !== 'I'])))""",
    )


def said(page: Page) -> str:
    return page.locator(".gv-say").inner_text().replace("\u00a0", " ")


def percent(share: float) -> str:
    return f"{100 * share:.{1 if share < 0.0995 else 0}f} %"


def test_it_opens_on_the_recorded_end_and_says_so(open_page: Opener) -> None:
    page = open_page("twins")
    run = recorded("open")
    assert RECORDING["recorded"] in page.locator(".gv-twmark").inner_text()
    assert RECORDING["command"] in str(page.locator(".gv-twmark").get_attribute("title"))
    for part in (percent(run["twin"]["valid"]), percent(run["causal"]["valid"])):
        assert part in said(page)
    assert page.get_by_role("button", name="Train both again, live").is_visible()
    values = page.locator(".gv-twsvg .gv-twvalue").all_text_contents()
    assert values == [f"{run['causal']['loss']:.2f}", f"{run['twin']['loss']:.4f}"]
    lines = [line.split() for name in ("causal", "twin") for line in run[name]["text"].split("\n")[: judged.QUOTED]]
    shown = written(page)
    assert [[word for word, _ in line] for line in shown] == lines
    assert [[right for _, right in line] for line in shown] == [verdict(words) for words in lines]


def test_the_scrubber_shows_what_both_wrote_on_the_way(open_page: Opener) -> None:
    page = open_page("twins", step=4)
    run = recorded("open")
    slider = page.get_by_label("The step of training that is shown")
    for at, pause in ((50, 50), (60, 50), (0, 0), (100, 100)):
        slider.fill(str(at))
        sketch = next(s for s in run["causal"]["sketches"] if s["step"] == pause)
        first = sketch["text"].split("\n")[0]
        expect(page.locator(".gv-writer.gv-is-causal p").first).to_have_text(first)
        if at:
            assert f"{run['causal']['losses'][at - 1]:.2f}" in said(page)
    page.wait_for_function("new URLSearchParams(location.search).get('at') === '100'")


def test_the_floor_is_the_sum_of_the_free_choices(open_page: Opener) -> None:
    page = open_page("twins", step=2)
    costs = [float(x) for x in page.locator(".gv-places .gv-cost b").all_text_contents()]
    assert costs == [round(log(k), 2) for k in CHOICES]
    assert f"{FLOOR:.3f}" in page.locator(".gv-twsum").inner_text()
    assert f"{17 * FLOOR:.2f}" in said(page)


def test_each_mistake_has_its_own_answer(open_page: Opener) -> None:
    page = open_page("twins", step=5, guesses=0)
    body = page.locator(".gv-cur .gv-body")
    expect(body).to_contain_text(percent(recorded("unshifted")["twin"]["repeats_input"]).replace(" ", "\u00a0"))
    page.get_by_role("button", name="mask upside down").first.click()
    expect(body).to_contain_text("nothing before")
    assert written(page)[-1][0][0] == recorded("wrong_way")["twin"]["text"].split("\n")[3].split()[0]
    page.get_by_role("button", name="random words", exact=True).click()
    expect(page.locator(".gv-twsvg")).to_contain_text("3.66")
    expect(page.locator(".gv-twlines i")).to_have_count(0)


def test_a_live_run_streams_and_ends_with_its_own_figures(open_page: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("SAMPLES", 60), ("EVALUATED", 200), ("PREFIXED", 20), ("SKETCHED", 20)):
        monkeypatch.setattr(judged, name, count)
    monkeypatch.setattr(twins, "train", functools.partial(twins.train, recipe=twins.Recipe(steps=30)))
    *_, expected = twins.train(seed=4)
    page = open_page("twins")
    page.get_by_label("Seed").fill("4")
    page.get_by_label("Seed").press("Tab")
    page.get_by_role("button", name="Train both again, live").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator(".gv-twmark")).to_contain_text("Trained here just now", timeout=120_000)
    assert "seed 4" in page.locator(".gv-twmark").inner_text()
    assert page.get_by_role("button", name="Train both again, live").is_visible()
    values = [float(x) for x in page.locator(".gv-twsvg .gv-twvalue").all_text_contents()]
    assert values == pytest.approx([getattr(expected, name).loss for name in ("causal", "twin")], abs=0.02)
    for line in written(page):
        assert [right for _, right in line] == verdict([word for word, _ in line])
    page.get_by_label("The step of training that is shown").fill("10")
    expect(page.locator(".gv-writer.gv-is-causal small")).to_contain_text("after 10 steps")


def test_stopping_ends_the_training(open_page: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Watched(monkeypatch)
    page = open_page("twins", step=3)
    page.get_by_role("button", name="Train both again, live").click()
    page.wait_for_function("/step [1-9]/.test(document.querySelector('.gv-twgo').textContent)")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".gv-say")).to_contain_text("Stopped after")
    expect(page.get_by_role("button", name="Train both again, live")).to_be_enabled()
    assert training.ended.wait(60)
    assert 0 < training.steps < training.asked


@pytest.mark.parametrize(("width", "height", "number"), [(390, 844, 1), (390, 844, 2), (1920, 1080, 1)])
def test_it_fits_the_screen(open_page: Opener, width: int, height: int, number: int) -> None:
    page = open_page("twins", step=number, width=width, height=height)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for box in (each.bounding_box() for each in page.locator(".gv-twchart:visible, .gv-twlower").all()):
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
