"""The page Inside: what it shows equals what the decoder gives."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Page, expect

from gptviz.decoder.decoder import Decoder
from gptviz.lab.looking import anatomy, depth
from gptviz.lab.looking.attribution import attribution
from gptviz.lab.looking.neurons import neurons
from gptviz.lab.looking.order import order
from gptviz.lab.looking.patching import patching
from gptviz.lab.looking.routes import routes
from gptviz.lessons import frame
from gptviz.words import words

PROMPT = frame.examples("en")[0]["text"]
SAY = words("en").numbers


@pytest.fixture(scope="module")
def tab(open_pages: Callable[..., Page]) -> Page:
    return open_pages("inside", guesses=0)


def step(page: Page, number: int) -> None:
    page.locator(".gv-steps li").nth(number - 1).locator(".gv-head").click()
    page.wait_for_selector(f'.gv-app[data-shown="inside/{number}/live"]')


def test_every_layer_says_what_norm_and_head_make_of_its_vector(tab: Page, nano: Decoder) -> None:
    step(tab, 1)
    ids = nano.tokenizer.encode(PROMPT)
    run = nano.run(ids, residual=True)
    assert run.residual is not None
    shown = tab.locator(".gv-inside-column .gv-word").all_text_contents()
    for layer in range(nano.shape.layers + 1):
        p = nano.head(run.residual[layer, -1]).double().softmax(-1)
        best = nano.tokenizer.token(int(p.argmax())).shown
        word, share = shown[2 * layer], shown[2 * layer + 1]
        assert best.startswith(word.rstrip("…")) or word == "(space)"
        assert share == SAY.percent(float(p.max()))


@pytest.mark.parametrize(
    "text", [PROMPT, "The old fox met a lazy dog near the river. " * 12, "The capital of France is"]
)
def test_the_sentence_tells_when_the_answer_comes(open_page: Callable[..., Page], nano: Decoder, text: str) -> None:
    run = nano.run(nano.tokenizer.encode(text), residual=True)
    said = depth.depth(nano, run, [len(run.ids) - 1]).ids[:, 0].tolist()  # [L+1]
    there = [id == said[-1] for id in said]
    last = len(said) - 1
    settled = next(r for r in range(last + 1) if all(there[r:]))
    once = next(r for r in range(1, last + 1) if there[r])
    key = "from_start" if settled == 0 else "back" if once < settled else "top" if settled == last else "late"
    token = nano.tokenizer.token
    values = {"token": token(run.ids[-1]).shown, "answer": _word(token(said[-1]).shown), "last": last - 1}
    p = float(nano.head(run.residual[-1, -1]).double().softmax(-1).max())
    page = open_page("inside", prompt=text)
    sentence = words("en").text(f"inside.said_{key}", **values, p=p, settles=settled - 1, once=once - 1)
    expect(page.locator(".gv-say")).to_have_text(sentence)


def _word(shown: str) -> str:
    return words("en").text("inside.space") if set(shown) <= set("·⍽⏎") else shown


def test_a_click_on_another_token_follows_its_column(tab: Page, nano: Decoder) -> None:
    step(tab, 1)
    tab.locator(".gv-inside-column text[data-place='3']").click()
    expect(tab.locator(".gv-picked")).to_have_text("·John")
    tab.wait_for_url(re.compile(r"[?&]at=3(&|$)"))
    tab.evaluate("gptviz.app.set({ at: -1 })")


def test_the_table_shows_the_tokens_own_row(tab: Page, nano: Decoder) -> None:
    step(tab, 2)
    ids = nano.tokenizer.encode(PROMPT)
    expect(tab.locator(".gv-say")).to_contain_text(f"{ids[-1]:,}")
    found = anatomy.token_vector(nano, ids[-1])
    near = tab.locator(".gv-near p span").all_inner_texts()
    assert near == [SAY.decimal(n.cosine, 2) for n in found.near_in]


def test_twins_start_alike_and_part(tab: Page, nano: Decoder) -> None:
    step(tab, 3)
    ids = nano.tokenizer.encode(PROMPT)
    pair = depth.pairs(nano.run(ids, residual=True))[0]
    token = nano.tokenizer.token(ids[pair.first]).shown
    end = SAY.percent(max(0.0, float(pair.cosine[-1])))
    expect(tab.locator(".gv-say")).to_contain_text(f"The two {token}")
    expect(tab.locator(".gv-say")).to_contain_text(end)


def test_the_account_of_parts_multiplies_to_the_odds(tab: Page, nano: Decoder) -> None:
    step(tab, 5)
    ids = nano.tokenizer.encode(PROMPT)
    logits = nano.run(ids, last_only=True).logits[-1].double()
    order = logits.argsort(descending=True, stable=True).tolist()
    there = [id for id in order[1:] if id in set(ids)]
    rival = next(id for id in there if len(nano.tokenizer.token(id).shown.strip("·")) >= 4)  # a word of the text
    odds = float((logits[order[0]] - logits[rival]).exp())
    expect(tab.locator(".gv-total-row .gv-n")).to_have_text(SAY.times(odds))
    found = attribution(nano, ids, against=rival)
    strongest = sorted(found.parts, key=lambda part: -abs(part.value))[:11]
    rows = tab.locator(".gv-account p .gv-n").all_inner_texts()
    assert rows[: len(strongest)] == [SAY.times(math.exp(part.value)) for part in strongest]


def test_neurons_are_told_by_what_they_push(tab: Page, nano: Decoder) -> None:
    step(tab, 4)
    tab.locator(".gv-inside-stream .gv-addbar[data-layer='1']").click()
    expect(tab.locator(".gv-neurons")).to_be_visible()
    found = neurons(nano, nano.tokenizer.encode(PROMPT), 1, -1, 8)
    rows = tab.locator(".gv-neurons p[data-neuron]")
    expect(rows).to_have_count(8)
    expect(tab.locator(".gv-layerslider")).to_have_value("1")
    for row, neuron in zip(rows.all(), found.neurons, strict=True):
        assert row.locator("b").text_content() == str(neuron.index)
        assert row.locator(".gv-n").text_content() == SAY.percent(neuron.share)
        pushed = row.locator("code").all_text_contents()
        up, down = neuron.pushes_up[:3], neuron.pushes_down[:3]
        assert pushed == [nano.tokenizer.token(id).shown for id in (*up, *down)]


@pytest.mark.parametrize("least", [0.02, 0.08])
def test_the_route_keeps_what_matters(open_page: Callable[..., Page], nano: Decoder, least: float) -> None:
    page = open_page("inside", step=5, show="column", keep=100 * least)
    ids = nano.tokenizer.encode(PROMPT)
    found = routes(nano, ids, -1, least)
    heads = {(edge.layer, edge.head) for edge in found.edges}
    reached = {edge.key for edge in found.edges if edge.layer == 0}
    reached |= {own.place for own in found.places if own.layer == 0 and own.stayed >= least}
    token = nano.tokenizer.token(ids[-1]).shown
    values = {"token": token, "least": least, "tokens": len(reached), "of": len(ids), "heads": len(heads)}
    expect(page.locator(".gv-say")).to_have_text(words("en").text("inside.route_say", **values))
    lines = {(edge.layer, edge.query, edge.key) for edge in found.edges if edge.query != edge.key}
    stays = [own for own in found.places if own.stayed >= least and own.place != len(ids) - 1]
    assert page.locator(".gv-route").count() == len(lines) + len(stays)
    page.locator(".gv-keep input").fill("0")
    expect(page.locator(".gv-route")).to_have_count(0)


def test_the_map_of_copied_places_is_the_labs(tab: Page, nano: Decoder) -> None:
    step(tab, 6)
    expect(tab.locator(".gv-patchstate")).to_have_text("")
    ids = nano.tokenizer.encode(PROMPT)
    source = nano.tokenizer.encode(tab.locator(".gv-source").input_value())
    assert [a != b for a, b in zip(ids, source, strict=True)].count(True) == 3  # two names exchanged, one stands twice
    found = list(patching(nano, ids, source))[-1]
    cells = tab.locator(".gv-inside-patching rect[data-layer]")
    assert cells.count() == nano.shape.layers * len(ids)
    zero = tab.locator(".gv-inside-patching rect[data-layer='0'][data-at='0']")
    zero.hover()
    expect(tab.locator(".gv-say")).to_contain_text("exactly nothing comes back")
    layer, place = divmod(int(found.matrix[:, 1:-1].argmax()), len(ids) - 2)
    tab.locator(f".gv-inside-patching rect[data-layer='{layer}'][data-at='{place + 1}']").hover()
    expect(tab.locator(".gv-say")).to_contain_text(SAY.percent(float(found.matrix[layer, place + 1])))


def test_a_source_of_another_length_is_one_sentence(open_page: Callable[..., Page]) -> None:
    page = open_page("inside", step=6)
    page.locator(".gv-source").fill("One two")
    page.locator(".gv-source").blur()
    expect(page.locator(".gv-say")).to_contain_text("source has 2 tokens; it must have as many as text, 14.")
    assert page.locator(".gv-inside-patching rect").count() == 0
    page.locator(".gv-source").fill(PROMPT.replace("Mary", "Anna"))  # another text may be tried at once
    page.locator(".gv-source").blur()
    expect(page.locator(".gv-inside-patching rect[data-layer='0']").first).to_be_attached()


def test_the_count_is_the_models_own(tab: Page, nano: Decoder) -> None:
    step(tab, 7)
    total = sum(p.numel() for p in {id(p): p for p in nano.model.parameters()}.values())
    expect(tab.locator(".gv-say")).to_contain_text(f"{total:,}")


def test_no_two_equal_tokens_is_said(open_page: Callable[..., Page]) -> None:
    page = open_page("inside", step=3, prompt="The cat sat", guesses=0)
    expect(page.locator(".gv-say")).to_have_text(
        "No token stands twice in this text, so there are no twins to compare."
    )


@pytest.mark.parametrize("tokens", [1, 40, 41, 256])
def test_texts_of_any_length_are_shown(open_page: Callable[..., Page], tokens: int) -> None:
    page = open_page("inside", prompt=("a" + " a" * (tokens - 1)))
    assert page.locator(".gv-inside-column .gv-outline").count() == 1
    expect(page.locator(".gv-inside-column .gv-picked")).to_have_css("visibility", "visible")  # its token's name
    expect(page.locator(".gv-alltext")).to_be_visible(visible=tokens > 40)


def test_the_overview_of_a_long_text_leads_to_any_place(open_page: Callable[..., Page], nano: Decoder) -> None:
    text = "a" + " a" * 199
    page = open_page("inside", prompt=text)
    strip = page.locator(".gv-alltext canvas")
    box = strip.bounding_box()
    assert box is not None
    left = page.evaluate("44 * Number(getComputedStyle(document.querySelector('.gv-stage')).getPropertyValue('--u'))")
    strip.click(position={"x": left + (box["width"] - left) * 50.5 / 200, "y": 8})
    page.wait_for_url(re.compile(r"[?&]at=50(&|$)"))
    page.wait_for_selector(".gv-alltext canvas[data-sure]")
    strip.hover(position={"x": left + (box["width"] - left) * 120.5 / 200, "y": 8})
    run = nano.run(nano.tokenizer.encode(text))
    p = float(run.logits[120].double().softmax(-1).max())
    expect(page.locator(".gv-say")).to_contain_text(SAY.percent(p))


def test_sureness_is_the_largest_probability_of_every_row(nano: Decoder) -> None:
    ids = nano.tokenizer.encode(PROMPT) * 12  # more rows than are read at once
    p = nano.run(ids).logits.double().softmax(-1).amax(-1)
    assert torch.allclose(depth.sureness(nano, ids).double(), p, atol=1e-5)  # logits near 20 are rounded to 2e-6


def test_depth_equals_the_head_applied_by_hand(nano: Decoder) -> None:
    ids = nano.tokenizer.encode(PROMPT)
    run = nano.run(ids, residual=True)
    assert run.residual is not None
    found = depth.depth(nano, run, [0, 5])
    p = nano.head(run.residual[:, [0, 5]]).softmax(-1)
    assert torch.equal(found.ids, p.argmax(-1))
    assert torch.allclose(found.p, p.amax(-1), atol=1e-6)


def test_words_swapped_and_arrows_that_count_distances(open_page: Callable[..., Page], nano: Decoder) -> None:
    """The lab's numbers for this text; the score is Σ cos of the distance, and moving both on changes no digit."""
    page = open_page("inside", step=3, guesses=0)
    page.get_by_role("button", name="with no places told").click()
    expect(page.locator(".gv-say")).to_contain_text("one layer notices nothing")
    words = [t.shown for t in nano.tokenizer.tokens(nano.tokenizer.encode(PROMPT)[:12])]
    found = order(words)
    shown = [f"{value:.2f}" for d in found.depths for value in (d.moved, d.with_positions)]
    assert page.locator(".gv-swapbar b").all_inner_texts() == ["exactly 0", *shown[1:]]
    waves = [2 * math.pi * 10_000 ** (i / 8) for i in range(8)]
    score = page.locator(".gv-swapscore strong")
    for apart in (5, 17, 64):
        page.locator("#gv-swap_apart").fill(str(apart))
        expect(score).to_have_text(f"{sum(math.cos(2 * math.pi * apart / w) for w in waves):.4f}".replace("-", "−"))
        before = score.inner_text()
        page.locator("#gv-swap_both").fill("1234")
        expect(page.locator(".gv-swapscore")).to_contain_text(f"query {1234 + apart:,} with key 1,234")
        assert score.inner_text() == before
        page.locator("#gv-swap_both").fill("0")
