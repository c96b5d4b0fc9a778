"""The reference page: its sections as a reader uses them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from gptviz.decoder import gpt
from gptviz.lab.looking import family
from gptviz.lab.teaching import scale
from gptviz.lessons import reference
from gptviz.lessons.reference import SHOW
from gptviz.lessons.steps import read

Opener = Callable[..., Page]
SAY = ".gv-say"
STEPS = [step.state.get("show", "terms") for step in read("reference", reference.FIELDS).steps]
BESIDE = {
    "kinds": ("family", "Encoder, decoder, or both"),
    "server": ("count", "A running server"),
    "api": ("code", "Without a browser"),
}


@pytest.fixture(scope="module")
def page(open_pages: Opener) -> Page:
    """One page for all tests; each opens its section."""
    return open_pages("reference")


def opened(page: Page, section: str) -> None:
    """The section, by its place in the table of contents; two stand beside another one."""
    step, button = BESIDE.get(section, (section, ""))
    number = STEPS.index(step) + 1
    page.locator(".gv-steps .gv-head").nth(number - 1).click()
    page.wait_for_selector(f'.gv-app[data-shown="reference/{number}/live"]')
    if button:
        page.locator(".gv-bar").get_by_role("button", name=button).click()
        expect(page.locator(".gv-bar").get_by_role("button", name=button)).to_have_attribute("aria-pressed", "true")


def said(page: Page, sentence: str) -> None:
    expect(page.locator(SAY)).to_contain_text(sentence)


def test_both_codes_are_those_that_run_and_equal_the_library(page: Page) -> None:
    opened(page, "code")
    said(page, "With nano’s weights both give the library’s logits: less than 0.0001 apart.")
    short, long = page.locator(".gv-rf-col .gv-rf-code").all_inner_texts()
    assert "class ShortGPT(nn.Module):" in short
    assert short.count("def ") == 2
    assert "nn.TransformerEncoderLayer(" in short
    for part in (gpt.LongGPT, gpt.Block, gpt.Attention, gpt.FeedForward):
        assert f"class {part.__name__}(nn.Module):" in long


def test_the_family_marks_what_changed(page: Page) -> None:
    opened(page, "family")
    changed = page.locator(".gv-rf-changed").all_inner_texts()
    assert len(changed) == 7
    assert any("RMSNorm" in text for text in changed)
    total = page.locator(".gv-rf-family tr", has_text="parameters").inner_text()
    assert f"{family.count(family.PUBLIC['gpt2']).total:,}" in total


def test_the_calculator_counts_any_shape(page: Page) -> None:
    opened(page, "count")
    said(page, "gpt2 has 124,439,808 parameters.")
    page.get_by_role("button", name="its own", exact=True).click()
    said(page, "163,037,184")
    page.get_by_role("button", name="tied", exact=True).click()
    page.get_by_label("context C").fill("2048")
    said(page, "125,226,240")
    page.wait_for_function("new URLSearchParams(location.search).get('C') === '2048'")
    page.get_by_label("heads h", exact=True).fill("7")
    expect(page.locator(".gv-rf-trouble")).to_have_text(
        "d is 768, which 7 heads do not divide; it must be a multiple of h."
    )
    page.get_by_label("Start from").select_option("Llama-3-8B")
    said(page, "8,030,261,248")


def test_without_a_card_the_page_says_so(page: Page) -> None:
    opened(page, "server")
    said(page, "No graphics card here: nano’s weights take 13.7 MB")
    expect(page.locator(".gv-rf-server")).to_contain_text("there is no card to watch")


def test_a_setting_opens_on_next_token(open_page: Opener) -> None:
    page = open_page("reference", step=STEPS.index("settings") + 1)
    page.get_by_role("link", name="see it").first.click()
    page.wait_for_selector('.gv-app[data-shown="next_token/1/live"]')
    assert "temperature=0.8" in page.url
    page.go_back()
    page.wait_for_selector('.gv-app[data-shown^="reference/"]')


def test_terms_can_be_found(page: Page) -> None:
    opened(page, "terms")
    every = page.locator(".gv-rf-terms dt").count()
    assert every > 15
    page.get_by_label("Find a term").fill("KV cache")
    assert 1 <= page.locator(".gv-rf-terms dt").count() < every
    page.get_by_label("Find a term").fill("zzz")
    said(page, "No term has “zzz” in it.")
    page.get_by_label("Find a term").fill("")
    assert page.locator(".gv-rf-terms dt").count() == every


def test_the_quiz_judges_and_says_why(page: Page) -> None:
    opened(page, "quiz")
    first = page.locator(".gv-rf-quiz").nth(0)
    first.get_by_role("textbox").fill("400")
    first.get_by_role("button", name="Check").click()
    expect(first).to_contain_text("Not quite. 10 + 11 + … + 29 = 390.")
    first.get_by_role("textbox").fill("390")
    first.get_by_role("textbox").press("Enter")
    expect(first).to_contain_text("Yes.")
    page.get_by_role("button", name="layer 3 and all after it").click()
    said(page, "2 of 8 right so far.")


def test_every_endpoint_is_listed(page: Page) -> None:
    opened(page, "api")
    expect(page.locator(".gv-rf-api")).to_contain_text("/next_token")
    names = page.locator(".gv-rf-api th code").all_inner_texts()
    assert {"/models", "/next_token", "/kv_cache", "/cost"} <= set(names)
    said(page, f"{len(names)} endpoints")


@pytest.mark.parametrize("section", SHOW)
def test_on_a_phone_nothing_sticks_out(page: Page, section: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, section)
    assert page.evaluate("document.querySelector('.gv-app').scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 800})


def test_the_dots_of_scale_stand_where_their_numbers_say(page: Page) -> None:
    opened(page, "scale")
    said(page, "1.72 tokens for each parameter, SmolLM2-135M from 14,868")
    place = "dot => [Number(dot.getAttribute('cx')), Number(dot.getAttribute('cy'))]"
    at = {m.name: page.locator(f'.gv-rf-dot[data-model="{m.name}"]').evaluate(place) for m in scale.TRAINED}
    per_ten = [
        (at["Llama-3-70B"][0] - at["nano"][0]) / math.log10(scale.TRAINED[8].parameters / scale.TRAINED[0].parameters),
        (at["nano"][1] - at["Llama-3-8B"][1]) / math.log10(scale.TRAINED[7].tokens / scale.TRAINED[0].tokens),
    ]
    for m in scale.TRAINED:
        x = at["nano"][0] + per_ten[0] * math.log10(m.parameters / scale.TRAINED[0].parameters)
        y = at["nano"][1] - per_ten[1] * math.log10(m.tokens / scale.TRAINED[0].tokens)
        assert at[m.name] == pytest.approx([x, y], abs=0.5)
    page.locator(".gv-rf-dots").focus()
    page.keyboard.press("ArrowRight")
    said(page, "nano: 3.43 million parameters, 6.14 million tokens")
