"""The anatomy page as a student uses it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from gptviz.lab.looking import anatomy, family, twice

PROMPT = "The cat sat on the mat."


def opened(open_page, prompt=PROMPT, **options):
    page = open_page("anatomy", prompt, **options)
    page.wait_for_selector(".gv-flow .gv-box")
    page.wait_for_selector(".gv-w-tokenvector .gv-guess")
    return page


def said(locator) -> str:
    return locator.inner_text().replace("\u00a0", " ")


def reveal(page) -> None:
    page.get_by_role("button", name="Show the counts", exact=True).click()


def test_every_box_has_its_shape_and_hides_its_count(open_page, nano):
    page = opened(open_page)
    names = page.locator(".gv-flow .gv-box b").all_inner_texts()
    assert names == [
        "Token table",
        "Position table",
        "Norm",
        "Attention",
        "Norm",
        "Feed-forward",
        "Final norm",
        "LM head",
    ]
    assert said(page.locator(".gv-flow .gv-dims").first) == f"50,257 × {nano.shape.width}"
    assert "Block × 4" in said(page.locator(".gv-blockhead"))
    assert f"{nano.shape.parameters:,}" not in said(page.locator(".gv-scheme"))


def test_a_guess_uncovers_the_counts(open_page, nano):
    page = opened(open_page)
    box = page.locator(".gv-ask:visible").first
    box.get_by_role("button", name="the token table", exact=True).click()
    expect(box.locator(".gv-answer")).to_contain_text("As you guessed")
    expect(page.locator(".gv-sums")).to_contain_text(f"{nano.shape.parameters:,}")


def test_the_totals_of_gpt2_small_stand_beside_the_loaded_models(open_page):
    page = opened(open_page)
    reveal(page)
    sums = said(page.locator(".gv-sums"))
    for number in ("124,439,808", "163,037,184", "38,597,376 = 23.7 %"):
        assert number in sums


def test_a_box_opens_its_modules(open_page, nano):
    page = opened(open_page)
    reveal(page)
    page.locator(".gv-flow .gv-box", has_text="Feed-forward").click()
    detail = said(page.locator(".gv-boxdetail"))
    d = nano.shape.width
    assert "transformer.h.0.mlp.c_fc" in detail
    assert f"weight [{d}, {4 * d}]" in detail
    assert f"{8 * d * d + 5 * d:,}" in detail  # two matrices and their biases
    page.locator(".gv-flow .gv-box", has_text="LM head").click()
    assert "shared with transformer.wte" in said(page.locator(".gv-boxdetail"))


def test_the_position_table_ends(open_page, nano):
    page = opened(open_page)
    figure = page.locator(".gv-w-positionnorms:visible").first
    norms = anatomy.positions(nano.model).norms
    expect(figure.locator(".gv-say")).to_contain_text(f"{norms[-1]:.3f}")
    expect(figure.locator(".gv-say")).to_contain_text("the last row there is")
    text = said(figure.locator("section > .gv-cap"))
    assert "GPT-2’s has 1024, of 768 numbers each" in text
    assert text.count("IndexError: index out of range in self") == 2
    figure.locator("canvas").focus()
    page.keyboard.press("Home")
    expect(figure.locator(".gv-say")).to_contain_text(f"{norms[0]:.3f}")


def test_the_stream_is_uncovered_by_a_guess_and_read_with_arrow_keys(open_page, nano):
    page = opened(open_page)
    ids = nano.tokenizer.encode(PROMPT)
    found = anatomy.stream(nano, nano.run(ids, residual=True))
    assert page.locator(".gv-w-streamnorms canvas:visible").count() == 0
    page.locator(".gv-ask:visible").nth(1).locator(".gv-chip").first.click()
    over = page.locator(".gv-w-streamnorms .gv-over")
    over.wait_for()
    sentence = page.locator(".gv-w-streamnorms .gv-say")
    expect(sentence).to_contain_text(f"{found.norms[-1][-1]:.2f}"[:4])
    over.focus()
    page.keyboard.press("ArrowDown")
    expect(sentence).to_contain_text("After the final norm")
    expect(sentence).to_contain_text(f"{found.final[-1]:.2f}"[:4])


def test_another_token_shows_its_own_neighbours(open_page, nano):
    page = opened(open_page)
    cat = nano.tokenizer.encode(" cat")[0]
    page.locator(".gv-tokchip", has_text="·cat").click()
    expect(page.locator(".gv-w-tokenvector .gv-say")).to_contain_text(f"row {cat:,}")
    expect(page.locator(".gv-w-tokenvector .gv-say")).to_contain_text("exactly 0")
    near = anatomy.token_vector(nano, cat).near_in
    shown = page.locator(".gv-w-tokenvector .gv-guess .gv-tok").all_inner_texts()
    assert shown == [nano.tokenizer.token(n.id).shown for n in near]


def test_both_implementations_are_shown_and_compared(open_page):
    page = opened(open_page)
    code = page.locator(".gv-code")
    assert code.inner_text().strip() == twice.sources()["short"].strip()
    page.get_by_role("button", name="from primitives", exact=True).click()
    assert code.inner_text().strip() == twice.sources()["long"].strip()
    page.get_by_role("button", name="Check that they are equal", exact=True).click()
    expect(page.locator(".gv-w-sources .gv-say")).to_contain_text("All three prefer the same token")


def test_the_family_marks_what_changed(open_page):
    page = opened(open_page)
    assert page.locator(".gv-family .gv-changed").all_inner_texts() == [
        "before each sublayer, one more at the end",
        "RMSNorm",
        "rotary (RoPE)",
        "SwiGLU, 3 matrices",
        "8",
        "none",
        "its own matrix",
    ]


def test_the_calculator_counts_what_python_counts(open_page):
    page = opened(open_page)
    totals = page.locator(".gv-calc .gv-totals b")
    expect(totals.first).to_have_text("124,439,808")
    page.get_by_label("Start from a public model").select_option("Llama-3-8B")
    expect(totals.first).to_have_text("8,030,261,248")
    page.get_by_label("blocks L", exact=True).fill("16")
    half = family.build(4096, 16, 32, 128256, 8192, False, "swiglu", 8, 14336)
    expect(totals.first).to_have_text(f"{family.count(half).total:,}")
    page.get_by_label("key/value heads", exact=True).fill("5")
    expect(page.locator(".gv-calc .gv-say")).to_contain_text("which 5 key/value heads do not divide")
    page.get_by_label("key/value heads", exact=True).fill("")
    expect(page.locator(".gv-calc .gv-say")).to_contain_text("it must be a whole number")


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_runs_over_the_edge_of_a_phone(open_page, dark):
    page = opened(open_page, width=390, dark=dark)
    reveal(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
