"""The mask page as a student uses it: open layers, guess, and read what moved."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from gptviz.decoder.attention import MaskRule
from gptviz.lab.masking import leak

PROMPT = "When Mary and John went to the store, John gave a drink to"
MAP_GUESS = "that row and all rows after it"

# Colours of the map left of the edit, row by row: "zero", "warn" or "key", from the pixels.
ROWS = """(column) => {
  const canvas = document.querySelector(".gv-map canvas"), c = canvas.getContext("2d");
  const ratio = canvas.width / canvas.clientWidth;
  const wide = (canvas.clientWidth - 42) / document.querySelectorAll(".gv-pickstrip .gv-tok").length;
  return [...document.querySelector(".gv-gutter").children].map((chip) => {
    const [r, g, b] = c.getImageData((2 + column * wide + 3) * ratio, (chip.offsetTop + 4) * ratio, 1, 1).data;
    return Math.abs(r - b) < 14 ? "zero" : r > b ? "warn" : "key";
  });
}"""

# A widget mounted with nothing to draw yet: the controls outside a guess that can be used, then every one pressed.
EARLY = """(name) => {
  const ask = { question: "?", options: ["a", "b"] };
  const chunks = Array(7).fill(0).map(() => Array(8).fill(0));
  const words = { ...ask, map: ask, heads: ask, loss: ask, loss_note: "" };
  const fixed = { words, evidence: "", answer: "", codes: [], chunks };
  const root = document.createElement("div"), calls = [];
  document.body.append(root);
  const server = new Proxy({}, { get: (_, fn) => async () => { calls.push(fn); throw fn; } });
  const trigger = (event) => event === "act" && calls.push(event);
  gptviz.mount[name](root, { props: {}, trigger, server, fixed })(null);
  const own = [...root.querySelectorAll("button, input, select")]
    .filter((n) => !n.closest(".gv-ask, .gv-cover, [hidden]"));
  const usable = own.filter((n) => !n.disabled).length;
  const waiting = root.textContent.includes("Waiting for the model.");
  root.querySelectorAll(".gv-ask button, .gv-skip").forEach((n) => n.click());
  for (const n of own) { n.disabled = false; n.click(); n.dispatchEvent(new Event("change")); }
  return { usable, waiting, calls };
}"""


@pytest.fixture
def mask(open_page) -> Page:
    page = open_page("mask", PROMPT)
    page.wait_for_selector(".gv-layer")
    return page


def layer(page: Page, k: int):
    return page.locator(".gv-layer").nth(k)


def settled(page: Page) -> None:
    page.wait_for_function("!document.querySelector('.gv-map').hasAttribute('aria-busy')")


def test_with_every_mask_on_the_left_is_exactly_zero(mask):
    expect(mask.locator(".gv-mask-summary")).to_contain_text("everything to its left is exactly 0 in all 6 rows")
    assert mask.evaluate(ROWS, 2) == ["zero"] * 6
    expect(mask.locator(".gv-mask-cell")).to_contain_text("After layer 3, ·the (put at position 7) moved by")


def test_one_open_layer_waits_for_a_guess_and_fills_the_rows_after_it(mask):
    layer(mask, 1).click()
    settled(mask)
    cover = mask.locator(".gv-map .gv-cover")
    expect(cover).to_be_visible()
    expect(mask.locator(".gv-mask-summary")).to_have_text("Guess first: which rows will move?")
    mask.get_by_role("button", name=MAP_GUESS).click()
    expect(cover).to_be_hidden()
    expect(mask.locator(".gv-maskfig .gv-answer")).to_contain_text("As you guessed. Layer 1 was open")
    expect(mask.locator(".gv-mask-summary")).to_contain_text(
        "up to layer 0 everything to its left is exactly 0; from layer 1 on"
    )
    assert mask.evaluate(ROWS, 2) == ["zero", "zero", "warn", "warn", "warn", "warn"]


def test_the_numbers_on_the_map_are_those_of_the_endpoint(mask, nano):
    mask.locator(".gv-mask-side").get_by_role("button", name="last", exact=True).click()
    mask.get_by_role("button", name=MAP_GUESS).click()
    settled(mask)
    canvas = mask.locator(".gv-map .gv-over")
    canvas.focus()
    for key in ["ArrowUp"] * 9 + ["ArrowLeft"] * 20 + ["ArrowDown"] * 4 + ["ArrowRight"] * 3:
        canvas.press(key)
    ids = nano.tokenizer.encode(PROMPT)
    found = leak.contamination(nano, ids, 7, leak.one_token(nano, " the"), MaskRule("none", frozenset({3})))
    expected = float(found.change[4, 3])
    expect(mask.locator(".gv-mask-cell")).to_contain_text(f"After layer 3, ·John (position 3) moved by {expected:.3f}")


def test_all_layers_the_wrong_way_mirror_the_map(mask):
    mask.locator(".gv-mask-side").get_by_role("button", name="all", exact=True).click()
    mask.get_by_role("button", name=MAP_GUESS).click()
    mask.get_by_role("button", name="only forward").click()
    settled(mask)
    assert mask.evaluate(ROWS, 2) == ["zero", *["warn"] * 5]
    assert mask.evaluate(ROWS, 12) == ["zero"] * 6


def test_causal_closes_everything_and_a_chip_opens_again(mask):
    layer(mask, 0).click()
    mask.get_by_role("button", name=MAP_GUESS).click()
    settled(mask)
    mask.locator(".gv-mask-side").get_by_role("button", name="causal").click()
    settled(mask)
    assert mask.evaluate(ROWS, 2) == ["zero"] * 6
    layer(mask, 3).click()
    settled(mask)
    expect(mask.locator(".gv-layer[aria-pressed=true]")).to_have_count(2)
    assert "warn" in mask.evaluate(ROWS, 2)


def test_a_new_prompt_keeps_the_layers_open_and_says_so_everywhere(mask):
    layer(mask, 1).click()
    mask.get_by_role("button", name=MAP_GUESS).click()
    mask.get_by_role("button", name="a tenth to a half").click()
    settled(mask)
    mask.get_by_test_id("textbox").first.fill("The old man and the sea were not the best of friends")
    mask.get_by_role("button", name="Run", exact=True).click()
    expect(mask.locator(".gv-mask-summary")).to_contain_text("from layer 1 on, every row has moved")
    settled(mask)
    expect(mask.locator(".gv-layer[aria-pressed=true]")).to_have_text("layer 1open")
    expect(mask.locator(".gv-leakheads .gv-say")).to_contain_text("The heads of the open layers give")
    assert mask.evaluate(ROWS, 1) == ["zero", "zero", "warn", "warn", "warn", "warn"]


def test_another_token_and_another_word(mask):
    mask.locator(".gv-pickstrip .gv-tok").nth(2).click()
    settled(mask)
    assert mask.evaluate(ROWS, 1) == ["zero"] * 6
    assert mask.evaluate(ROWS, 5)[1:] == ["key"] * 5
    box = mask.get_by_label("Replace it by")
    box.fill(" green ideas")
    box.press("Enter")
    expect(mask.locator(".gv-mask-summary")).to_contain_text('replacement is " green ideas", which is 2 tokens')
    box.fill(" or")
    box.press("Enter")
    expect(mask.locator(".gv-mask-summary")).to_contain_text("·and → ·or")


def test_heads_and_loss_wait_for_their_own_guesses(mask, nano):
    layer(mask, 2).click()
    settled(mask)
    expect(mask.locator(".gv-leaks .gv-cover:visible")).to_have_count(2)
    mask.get_by_role("button", name="a tenth to a half").click()
    mask.get_by_role("button", name="it hardly changes").click()
    expect(mask.locator(".gv-leaks .gv-cover:visible")).to_have_count(0)
    mass = leak.leaked_mass(nano, nano.tokenizer.encode(PROMPT), MaskRule("none", frozenset({2})))
    expect(mask.locator(".gv-leakheads .gv-say")).to_contain_text(f"{100 * float(mass[2].mean()):.1f} %")
    expect(mask.locator(".gv-leakbar")).to_have_count(4)
    expect(mask.locator(".gv-leaks .gv-answer").nth(1)).to_contain_text(
        re.compile(r"\d\.\d\d nats a token with all masks on")
    )


def test_influence_runs_on_request_and_has_an_empty_upper_triangle(mask):
    box = mask.locator(".gv-w-influence")
    box.get_by_role("button", name="right of the diagonal").click()
    box.get_by_role("button", name="Run 14 prompts").click()
    expect(box.locator(".gv-answer")).to_contain_text(
        "As you guessed. 0 of 91 pairs right of the diagonal moved, 91 of 91 left of it."
    )
    over = box.locator(".gv-over")
    over.focus()
    over.press("ArrowRight")
    expect(box.locator(".gv-say").last).to_contain_text("by exactly 0: it comes later, and the mask hides it.")
    layer(mask, 1).click()
    settled(mask)
    expect(box.locator(".gv-reveal, .gv-fig > .gv-cap")).to_contain_text("before you changed the layers")
    box.get_by_role("button", name="Run 14 prompts").click()
    expect(box.locator(".gv-figtitle .gv-cap")).to_have_text("layer 1 open above")
    expect(box.locator(".gv-say").last).to_contain_text("a leak")
    expect(box.locator(".gv-tally")).to_contain_text("of 91 pairs right of the diagonal moved")
    expect(box.locator(".gv-ask")).to_be_hidden()  # it asks about a model with every mask on


def test_the_three_ways_are_compared_on_the_chosen_layer(mask):
    box = mask.locator(".gv-w-ways")
    expect(box.locator("pre")).to_have_count(3)
    box.get_by_role("button", name="one pair exactly equal").click()
    expect(box.locator("tr").nth(1)).to_contain_text("0, exactly")
    before = box.locator("tr").nth(2).inner_text()
    box.get_by_label("Layer").select_option("0")
    expect(box.locator("tr").nth(2)).not_to_have_text(before)


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1920, True)])
def test_nothing_sticks_out_of_the_page(open_page, width, dark):
    page = open_page("mask", PROMPT, width=width, dark=dark)
    page.wait_for_selector(".gv-layer")
    layer(page, 0).click()
    page.get_by_role("button", name=MAP_GUESS).click()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    chip, canvas = layer(page, 0).bounding_box(), page.locator(".gv-map canvas").first.bounding_box()
    assert chip["x"] + chip["width"] <= canvas["x"]


def test_a_single_token_and_hostile_text_are_drawn_as_text(open_page):
    page = open_page("mask", "Hi")
    page.wait_for_selector(".gv-layer")
    expect(page.locator(".gv-mask-summary")).to_contain_text("stands first, so nothing is left of it")
    hostile = open_page("mask", "<img src=x onerror=document.title='owned'> ${1+1} {{value}}")
    hostile.wait_for_selector(".gv-layer")
    assert hostile.locator(".gv-w-mask img").count() == 0
    assert hostile.title() == "gptviz"


@pytest.mark.parametrize("name", ["mask", "influence", "prefix", "prefixes"])
def test_nothing_can_be_asked_before_there_is_data(mask, name):
    assert mask.evaluate(EARLY, name) == {"usable": 0, "waiting": True, "calls": []}
    mask.wait_for_timeout(500)  # an error of the page, now or in what was set off, fails the test at its end
