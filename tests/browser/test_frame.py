"""The frame: address, history, steps, guesses, views, keyboard, errors; the same for every page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from gptviz.lessons import PAGES, frame
from gptviz.lessons.steps import read

Opener = Callable[..., Page]
KEYS = [page.KEY for page in PAGES]
FIRST = frame.examples("en")[0]["text"]


def asked(page: Page) -> dict[str, str]:
    """The address's query."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def shown(page: Page, what: str) -> None:
    """Wait until this page and step is drawn live."""
    page.wait_for_selector(f'.gv-app[data-shown="{what}/live"]')


@pytest.fixture(scope="module")
def opened(open_pages: Opener) -> Callable[[str], Page]:
    """One page a lesson for all tests here that only look at it; each test says the size it looks at."""
    kept: dict[str, Page] = {}

    def get(key: str) -> Page:
        if key not in kept:
            kept[key] = open_pages(key, guesses=0)
        return kept[key]

    return get


def at(page: Page, key: str, number: int, width: int, height: int) -> None:
    """The step at this size."""
    page.set_viewport_size({"width": width, "height": height})
    page.locator(".gv-steps li").nth(number - 1).locator(".gv-head").click()
    shown(page, f"{key}/{number}")


def stage(page: Page) -> dict[str, float]:
    box: Any = page.locator(".gv-stage").bounding_box()
    assert box is not None
    return {name: round(value, 1) for name, value in box.items()}


@pytest.mark.parametrize("key", KEYS)
def test_a_first_screen_is_mostly_stage_and_stays_so_in_every_step(opened: Callable[[str], Page], key: str) -> None:
    page = opened(key)
    at(page, key, 1, 1280, 800)
    first = stage(page)
    assert first["width"] * first["height"] >= 0.6 * 1280 * 800
    assert first["y"] + first["height"] <= 800
    assert page.locator(".gv-frame").evaluate("node => node.offsetHeight") <= 104
    assert page.locator(".gv-question").evaluate("node => node.getBoundingClientRect().top") <= 170
    for number in range(1, page.locator(".gv-steps li").count() + 1):
        at(page, key, number, 1280, 800)
        assert stage(page) == first
        assert page.evaluate("document.querySelector('.gv-app').scrollHeight") <= 800
        assert page.evaluate("document.querySelector('.gv-app').scrollWidth") <= 1280
        assert asked(page).get("step", "1") == str(number)
        page.wait_for_function("!document.querySelector('.gv-cur .gv-body').textContent.includes('…')")
        words = page.locator(".gv-say").inner_text() + page.locator(".gv-cur .gv-body").inner_text()
        assert not any(bad in words for bad in ("{", "undefined", "NaN", "e-", "e−")), words


@pytest.mark.parametrize("key", KEYS)
def test_a_phone_shows_the_picture_and_the_open_step(opened: Callable[[str], Page], key: str) -> None:
    page = opened(key)
    at(page, key, 2, 390, 844)
    assert page.evaluate("document.querySelector('.gv-app').scrollWidth") <= 390
    expect(page.locator(".gv-cur .gv-head")).to_be_in_viewport()
    expect(page.locator(".gv-fig")).to_be_in_viewport()


@pytest.mark.parametrize("key", KEYS)
def test_embedded_it_fits_a_small_box(opened: Callable[[str], Page], key: str) -> None:
    page = opened(key)
    page.set_viewport_size({"width": 360, "height": 300})
    page.evaluate("gptviz.app.look('embed', '1')")
    expect(page.locator(".gv-frame")).to_be_hidden()
    assert page.evaluate("document.querySelector('.gv-app').scrollWidth") <= 360
    assert page.evaluate("document.querySelector('.gv-app').scrollHeight") <= 300
    page.evaluate("gptviz.app.look('embed', '')")


@pytest.mark.parametrize("key", KEYS)
def test_the_numbers_are_there_as_a_table(opened: Callable[[str], Page], key: str) -> None:
    page = opened(key)
    at(page, key, 1, 1280, 800)
    page.evaluate("gptviz.app.look('table', '1')")
    expect(page.locator(":is(.gv-numbers, .gv-fig) table").locator("visible=true").first).to_be_visible()
    page.evaluate("gptviz.app.look('table', '')")


def test_back_and_reload_keep_page_step_and_prompt(open_page: Opener) -> None:
    page = open_page("next_token")
    page.locator(".gv-prompt").fill("The cat sat on the")
    page.locator(".gv-run").click()
    page.wait_for_function("new URLSearchParams(location.search).get('prompt') === 'The cat sat on the'")
    page.get_by_role("button", name="Next step").click()
    shown(page, "next_token/2")
    page.reload()
    shown(page, "next_token/2")
    assert page.locator(".gv-prompt").input_value() == "The cat sat on the"
    page.go_back()
    shown(page, "next_token/1")
    page.go_back()
    page.wait_for_function("!new URLSearchParams(location.search).has('prompt')")
    expect(page.locator(".gv-prompt")).to_have_value(FIRST)


def test_a_link_opens_its_page_with_its_state(open_page: Opener) -> None:
    page = open_page("next_token", step=3, top_k=7)
    expect(page.locator(".gv-sl output").nth(1)).to_have_text("7")
    assert asked(page)["top_k"] == "7"


def test_a_bad_value_of_the_address_is_left_out_and_named(open_page: Opener) -> None:
    page = open_page("next_token", temperature="hot", top_k="-3", step="99")
    expect(page.locator(".gv-notice")).to_contain_text("step, temperature, top_k")
    shown(page, "next_token/1")


def test_an_old_link_opens_the_page_that_took_its_place(open_page: Opener) -> None:
    page = open_page("anatomy", prompt="The cat")
    shown(page, "inside/1")


def test_a_guess_leaves_the_picture_until_it_is_answered(open_page: Opener) -> None:
    page = open_page("next_token", step=2)
    expect(page.locator(".gv-sl output").first).to_have_text("1")
    page.get_by_role("button", name="they grow").click()
    expect(page.locator(".gv-sl output").first).to_have_text("2")
    expect(page.locator(".gv-ask [role=status]")).to_contain_text("All others together go from")
    expect(page.locator(".gv-ask [role=status]")).to_contain_text("Yes.")


def test_guesses_can_be_switched_off_by_a_link(open_page: Opener) -> None:
    page = open_page("next_token", step=2, guesses=0)
    expect(page.locator(".gv-sl output").first).to_have_text("2")
    expect(page.locator(".gv-ask")).to_have_count(0)


def test_arrow_keys_step_and_cross_to_the_next_page(open_page: Opener) -> None:
    last = len(read("next_token", PAGES[0].FIELDS).steps)
    page = open_page("next_token", step=last, guesses=0)
    page.keyboard.press("ArrowRight")
    shown(page, f"{KEYS[1]}/1")
    page.keyboard.press("ArrowLeft")
    shown(page, f"next_token/{last}")


def test_presenting_shows_stage_and_title_alone(open_page: Opener) -> None:
    page = open_page("next_token", step=2, present=1, width=1920, height=1080)
    expect(page.locator(".gv-big")).to_be_visible()
    expect(page.locator(".gv-frame")).to_be_hidden()
    expect(page.locator(".gv-side")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator(".gv-frame")).to_be_visible()


def test_an_error_is_one_sentence_and_the_old_picture_goes(open_page: Opener) -> None:
    page = open_page("next_token")
    page.locator(".gv-prompt").fill("word " * 400)
    page.locator(".gv-run").click()
    expect(page.locator(".gv-fail")).to_contain_text("text has 401 tokens; nano reads at most 256 at once.")
    expect(page.locator(".gv-fig")).to_be_hidden()
    assert page.locator(".gv-prompt").input_value().startswith("word word")


def test_what_is_typed_stays_text(open_page: Opener) -> None:
    page = open_page("next_token", prompt="<img src=x onerror=alert(1)> <b>bold</b> ${1+1}")
    expect(page.locator(".gv-ctx")).to_contain_text("onerror")
    assert page.locator(".gv-app img, .gv-ctx b").count() == 0


def test_the_stage_is_one_tab_stop_away(open_page: Opener) -> None:
    page = open_page("next_token")
    page.locator("body").press("Tab")
    expect(page.locator(".gv-skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#gv-stage")).to_be_focused()


def test_the_menu_leads_to_the_endpoints(url: str, chromium: Browser) -> None:
    page = chromium.new_page()  # Gradio's own page asks for things that are not there, which is its affair
    page.goto(f"{url}?lesson=next_token")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Use without a browser").click()
    expect(page.get_by_text("/next_token", exact=False).first).to_be_visible()
    page.close()


def test_a_theme_that_was_asked_for_stays(open_page: Opener) -> None:
    page = open_page("next_token", theme="dark")
    page.wait_for_timeout(1500)  # Gradio sets a theme of its own when it has started
    assert page.evaluate("document.body.classList.contains('dark')")


def test_the_prompt_says_its_tokens_and_what_is_odd_about_it(open_page: Opener) -> None:
    page = open_page("next_token", prompt="The cat ")
    count = page.locator(".gv-count")
    expect(count).to_have_text("3 tokens")
    count.click()
    expect(page.locator(".gv-reading")).to_contain_text("The text ends in a blank")
    page.keyboard.press("Escape")
    expect(page.locator(".gv-reading")).to_be_hidden()


def test_what_a_vocabulary_changes_is_named(open_page: Opener) -> None:
    page = open_page("next_token")
    losses = [
        {"kind": "unknown", "was": "東", "became": "<unk>"},
        {"kind": "normalised", "was": "e\u0301", "became": "é"},
        {"kind": "lost", "was": "␡", "became": ""},
        {"kind": "added", "was": "", "became": "<s>"},
    ]
    page.evaluate("found => gptviz.app.parts.frame.count(found)", {"count": 9, "losses": losses})
    page.locator(".gv-count").click()
    expect(page.locator(".gv-reading p")).to_have_text(
        [
            "“東” is unknown to this vocabulary and read as <unk>.",
            "“e\u0301” is read as “é”.",
            "“␡” is dropped.",
            "<s> is added in front.",
        ]
    )


def test_a_wait_counts_its_seconds_beside_the_picture(open_page: Opener) -> None:
    page = open_page("next_token")
    said = page.locator(".gv-waiting")
    expect(said).to_be_hidden()
    page.evaluate("""() => {
      const held = [], ask = window.fetch;
      window.fetch = (...args) => new Promise((go) => held.push(() => go(ask(...args))));
      window.letGo = () => ((window.fetch = ask), held.forEach((go) => go()));
    }""")
    page.locator(".gv-prompt").fill("a text of its own")
    page.get_by_role("button", name="Run").click()
    expect(said).to_have_text("computing, 2 s")
    page.evaluate("window.letGo()")
    expect(said).to_be_hidden()
