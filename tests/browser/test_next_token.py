"""The next-token page as a student uses it, and its formulas against Python's."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.lab.writing import sampling, strategies
from gptviz.lab.writing.sampling import Settings, stages
from gptviz.words import words

PROMPT = "The dog did not cross the road because it was"
LIVE = '.gv-app[data-shown$="live"]'


@pytest.fixture(scope="module")
def tab(open_pages: Callable[..., Page]) -> Page:
    """One tab for most tests: opening the page takes longer than most of them."""
    return open_pages("next_token", prompt=PROMPT, guesses=0)


@pytest.fixture
def page(tab: Page) -> Page:
    """The tab at its first step."""
    step(tab, 1)
    return tab


def step(page: Page, number: int) -> None:
    page.locator(".gv-steps li").nth(number - 1).locator(".gv-head").click()
    page.wait_for_selector(f'.gv-app[data-shown="next_token/{number}/live"]')


def slide(page: Page, name: str, value: float) -> None:
    """Move a slider as a hand does: the input's own event, then the paint of the next frame."""
    page.locator(f"#gv-{name}").evaluate(
        "(node, value) => { node.value = value; node.dispatchEvent(new Event('input', { bubbles: true })) }", str(value)
    )


def painted(page: Page, stamp: str) -> None:
    page.wait_for_selector(f'.gv-next_token[data-painted="{stamp}"]')


def numbers(page: Page) -> list[str]:
    """What stands beside the bars: all others first, then the likeliest token down."""
    return page.locator(".gv-row .gv-n").all_inner_texts()


def last_logits(nano: Decoder, text: str = PROMPT) -> Tensor:
    return nano.run(nano.tokenizer.encode(text), last_only=True).logits[-1]


def expected(p: Tensor, order: Tensor, tokens: int) -> list[str]:
    """The numbers of a picture with so many rows, from a distribution [V]."""
    shares = [float(p[order[tokens:]].sum()), *p[order[:tokens]].tolist()]
    return words("en").numbers.percent_list(shares)


def sampling_script(page: Page) -> str:
    """The address of the page's own formulas."""
    found = page.evaluate(
        "performance.getEntriesByType('resource').map((e) => e.name).find((n) => n.endsWith('/next_token/sampling.js'))"
    )
    assert isinstance(found, str)
    return found


# The formulas

CASES = [
    Settings(),
    Settings(0),
    Settings(1e-6),
    Settings(100),
    Settings(0.7, 40, 0.9),
    Settings(2.0, 0, 0.95),
    Settings(2.0, 0, 0.95, True),
    Settings(0.4, 0, 0.6, True),
    Settings(1.3, 1),
    Settings(1.0, 499),
    Settings(1.0, 500),
    Settings(1.0, 501),
    Settings(1.0, 0, 0),
    Settings(1.0, 0, 1e-8),
    Settings(5.0, 17, 0.33),
    Settings(min_p=0.1),
    Settings(min_p=1.0),
    Settings(2.0, 50, 0.9, min_p=0.03),
    Settings(0, min_p=0.5),
    Settings(repetition_penalty=1.3),
    Settings(repetition_penalty=0.7),
    Settings(0.8, 40, 0.95, min_p=0.05, repetition_penalty=1.2),
    Settings(1.5, 0, 0.8, True, repetition_penalty=2.5),
]
PAST = [3, 3, 499, 17, 0, 250, 251, 252, 41]  # the text so far


def sets_of_logits() -> dict[str, Tensor]:
    make = torch.Generator().manual_seed(4)
    smooth = torch.randn(500, generator=make) * 4
    ties = torch.randint(0, 12, (500,), generator=make).float()
    masked = torch.where(torch.rand(500, generator=make) < 0.3, -math.inf, smooth)
    huge = smooth * 1e4
    zeros = torch.where(ties > 5, 0.0, -0.0)
    return {"smooth": smooth, "ties": ties, "masked": masked, "huge": huge, "zeros": zeros}


def test_the_browser_computes_what_python_computes(page: Page) -> None:
    """Order, every probability of every stage, the kept count and the entropies, on random logits, ties, extremes."""
    run = """async ([logits, cases, url]) => {
        const S = await import(url);
        const given = Float32Array.from(logits, (x) => x === null ? -Infinity : x);
        return cases.map(([temperature, topK, topP, topPFirst, minP, penalty, past]) => {
            const ready = S.prepare(given, past, penalty);
            const r = S.stages(ready, { temperature, topK, topP, topPFirst, minP });
            return { order: [...ready.order], raw: [...ready.raw], tempered: [...r.tempered], final: [...r.final],
                     kept: r.kept, entropies: [r.entropyRaw, r.entropyTempered, r.entropyFinal] };
        });
    }"""
    cases = [[s.temperature, s.top_k, s.top_p, s.top_p_first, s.min_p, s.repetition_penalty, PAST] for s in CASES]
    for name, logits in sets_of_logits().items():
        sent = [None if x == -math.inf else x for x in logits.tolist()]
        for settings, theirs in zip(CASES, page.evaluate(run, [sent, cases, sampling_script(page)]), strict=True):
            ours = stages(logits, settings, PAST)
            assert theirs["order"] == ours.order.tolist(), (name, settings)
            assert theirs["kept"] == int(ours.kept.sum()), (name, settings)
            for part in ("raw", "tempered", "final"):
                mine = getattr(ours, part)[ours.order]
                found = torch.tensor(theirs[part], dtype=torch.float64)
                assert torch.allclose(found, mine, atol=1e-12, rtol=1e-9), (name, settings, part)
                assert abs(float(found.sum()) - 1) < 1e-6
            mine = [sampling.entropy(p) for p in (ours.raw, ours.tempered, ours.final)]
            assert theirs["entropies"] == pytest.approx(mine, abs=1e-9)


def test_the_browser_draws_what_python_draws(page: Page) -> None:
    logits = sets_of_logits()["smooth"]
    run = """async ([logits, seed, n, url]) => {
        const S = await import(url);
        const ready = S.prepare(Float32Array.from(logits));
        const { final, kept } = S.stages(ready, { temperature: 1.4, topK: 30, topP: 1, topPFirst: false });
        const counts = new Map();
        const ranks = S.draws(final, kept, seed, n, 0);
        for (const r of ranks) counts.set(r, (counts.get(r) || 0) + 1);
        return { ids: [...ranks].map((r) => ready.order[r]), one: S.uniform(seed, 7),
                 chi: S.chiSquare(final, kept, counts, n) };
    }"""
    for seed, n in ((0, 1000), (4294967295, 50), (12, 3)):
        theirs = page.evaluate(run, [logits.tolist(), seed, n, sampling_script(page)])
        result = stages(logits, Settings(1.4, 30))
        ours = sampling.draws(result, seed, n)
        assert theirs["ids"] == ours
        assert theirs["one"] == sampling.uniform(seed, 7)
        chi = sampling.chi_square(result, ours)
        assert theirs["chi"]["freedom"] == chi.freedom
        assert theirs["chi"]["statistic"] == pytest.approx(chi.statistic, abs=1e-9)
        assert theirs["chi"]["p"] == pytest.approx(chi.p_value, abs=1e-9)


# The bars


def test_bars_show_the_models_own_numbers(page: Page, nano: Decoder) -> None:
    result = stages(last_logits(nano), Settings())
    shown = numbers(page)
    assert shown == expected(result.raw, result.order, len(shown) - 1)
    assert (
        page.locator(".gv-row .gv-name").first.inner_text() == f"all {nano.shape.vocabulary - len(shown) + 1:,} others"
    )
    names = [nano.tokenizer.token(int(id)).shown for id in result.order[: len(shown) - 1]]
    assert page.locator(".gv-row .gv-name").all_inner_texts()[1:] == names


@pytest.mark.parametrize(
    ("moves", "settings"),
    [
        ({"temperature": 2}, Settings(2.0)),
        ({"temperature": 0}, Settings(0.0)),
        ({"temperature": 0.5, "top_k": 5}, Settings(0.5, 5)),
        ({"temperature": 1.5, "top_p": 0.9}, Settings(1.5, 0, 0.9)),
    ],
)
def test_sliders_shape_the_bars_over_the_whole_vocabulary(
    page: Page, nano: Decoder, moves: dict[str, float], settings: Settings
) -> None:
    for name, value in moves.items():
        slide(page, name, value)
    k, p = settings.top_k, f"{settings.top_p:g}"
    painted(page, f"{settings.temperature:g} {k} {p}")
    result = stages(last_logits(nano), settings)
    shown = numbers(page)
    assert shown == expected(result.final, result.order, len(shown) - 1)
    kept = int(result.kept.sum())
    cut = page.locator(".gv-row").evaluate_all("rows => rows.slice(1).map((r) => r.classList.contains('gv-cutrow'))")
    assert cut == [rank >= kept for rank in range(len(shown) - 1)]


def test_a_penalty_puts_the_rows_in_another_order(page: Page, nano: Decoder) -> None:
    """Min-p and the penalty stand behind a button; rows and numbers are Python's for the same text."""
    expect(page.locator("#gv-repetition_penalty")).to_be_hidden()
    page.get_by_role("button", name="More rules").click()
    slide(page, "repetition_penalty", 1.5)
    slide(page, "min_p", 0.05)
    ids = nano.tokenizer.encode(PROMPT)
    result = stages(last_logits(nano), Settings(min_p=0.05, repetition_penalty=1.5), ids)
    plain = stages(last_logits(nano), Settings())
    assert result.order[:8].tolist() != plain.order[:8].tolist()
    names = page.locator(".gv-row .gv-name")
    first = nano.tokenizer.tokens(result.order[:8].tolist())
    for row, token in enumerate(first, 1):
        expect(names.nth(row)).to_have_text(token.shown)
    shown = numbers(page)
    assert shown == expected(result.final, result.order, len(shown) - 1)
    page.wait_for_function("new URLSearchParams(location.search).get('repetition_penalty') === '1.5'")
    page.get_by_role("button", name="Reset").click()
    expect(names.nth(1)).to_have_text(nano.tokenizer.token(int(plain.order[0])).shown)


def test_every_token_that_was_read_says_what_was_expected_there(page: Page, nano: Decoder) -> None:
    """By pointer and by arrow keys; the first has nothing before it."""
    ids = nano.tokenizer.encode(PROMPT)
    at = 6
    result = stages(last_logits(nano, nano.tokenizer.decode(ids[:at])), Settings())
    page.locator(".gv-ctx [role=option]").nth(at).hover()
    rows = page.locator(".gv-instead p span:first-child")
    best = nano.tokenizer.tokens(result.order[:5].tolist())
    assert rows.first.inner_text() == best[0].shown
    assert rows.all_inner_texts()[:5] == [token.shown for token in best]
    expect(page.locator(".gv-came span").first).to_have_text(nano.tokenizer.token(ids[at]).shown)
    expect(page.locator(".gv-say")).to_contain_text(words("en").numbers.percent(float(result.raw[ids[at]])))
    page.locator(".gv-ctx [tabindex='0']").focus()
    page.keyboard.press("Home")
    expect(page.locator(".gv-instead")).to_contain_text("comes first")
    page.keyboard.press("Tab")
    expect(page.locator(".gv-instead")).to_be_hidden()


def test_the_sentence_says_what_the_others_hold(page: Page, nano: Decoder) -> None:
    slide(page, "temperature", 2)
    painted(page, "2 0 1")
    before, after = (stages(last_logits(nano), Settings(t)) for t in (1.0, 2.0))
    tokens = len(numbers(page)) - 1
    shares = [words("en").numbers.percent(float(s.tempered[s.order[tokens:]].sum())) for s in (after, before)]
    expect(page.locator(".gv-say")).to_have_text(
        f"At temperature 2, all others together hold {shares[0]}; it was {shares[1]}."
    )


def test_the_order_of_the_two_rules_changes_what_is_kept(page: Page, nano: Decoder) -> None:
    step(page, 5)
    first, second = (int(stages(last_logits(nano), Settings(2.0, 0, 0.9, f)).kept.sum()) for f in (False, True))
    assert first != second
    body = page.locator(".gv-cur .gv-body")
    expect(body).to_contain_text(f"it keeps {first:,} tokens")
    expect(body).to_contain_text(f"keeps {second:,}")


def test_the_address_carries_the_settings_and_a_link_brings_them_back(open_page: Callable[..., Page]) -> None:
    page = open_page("next_token", prompt=PROMPT, temperature=1.5, top_p=0.8)
    painted(page, "1.5 0 0.8")
    slide(page, "temperature", 0.7)
    painted(page, "0.7 0 0.8")
    page.wait_for_function("new URLSearchParams(location.search).get('temperature') === '0.7'")
    page.reload()
    painted(page, "0.7 0 0.8")


# Draws


def test_a_thousand_draws_are_the_seeds_own(page: Page, nano: Decoder) -> None:
    step(page, 6)
    page.get_by_role("button", name="Draw 1,000").click()
    result = stages(last_logits(nano), Settings(1.5))
    drawn = sampling.draws(result, 0, 1000)
    best = int(result.order[0])
    say = words("en").numbers.percent
    token = nano.tokenizer.token(best).shown
    expect(page.locator(".gv-say")).to_have_text(
        f"1,000 darts: {token} was hit {say(drawn.count(best) / 1000)} of the time, "
        f"{say(float(result.final[best]))} was expected."
    )
    p = sampling.chi_square(result, drawn).p_value
    expect(page.locator(".gv-fit")).to_contain_text(say(p))


def test_another_setting_forgets_the_draws(page: Page) -> None:
    step(page, 6)
    page.locator(".gv-acts").get_by_role("button", name="Draw one").click()
    expect(page.locator(".gv-say")).to_contain_text("The dart fell on")
    slide(page, "temperature", 1)
    expect(page.locator(".gv-say")).to_contain_text("The bars laid end to end")


# Writing


def test_four_habits_write_what_python_writes(page: Page, nano: Decoder) -> None:
    step(page, 7)
    page.get_by_role("button", name="Write", exact=True).click()
    expect(page.get_by_role("button", name="Write", exact=True)).to_be_visible()
    ids = nano.tokenizer.encode(PROMPT)
    settings = [None, Settings(), Settings(0.8, 0, 0.95)]
    *_, last = strategies.contest(nano, ids, settings, beams=4, seed=0, max_new_tokens=24)
    for card, text in zip(page.locator(".gv-way").all(), last.texts, strict=True):
        shown = "".join(token.shown.replace("·", " ", 1) for token in nano.tokenizer.tokens(text.ids))
        expect(card.locator(".gv-written")).to_have_text(shown.strip())
        assert card.locator(".gv-loop").count() == sum(loop.stop - loop.start for loop in text.loops)


def test_the_end_ignored_the_text_runs_on(open_page: Callable[..., Page], nano: Decoder) -> None:
    """The end token is marked; a written token says what else could have come; a link leads to its attention."""
    page = open_page("next_token", prompt="The cat sat on the", step=7, ignore_end=1, new=10)
    page.get_by_role("button", name="Write", exact=True).click()
    expect(page.get_by_role("button", name="Write", exact=True)).to_be_visible()
    ids = nano.tokenizer.encode("The cat sat on the")
    *_, greedy = strategies.write(nano, ids, None, seed=0, start=0, max_new_tokens=10, ignore_end=True)
    card = page.locator(".gv-way").first
    end = greedy.ids.index(nano.tokenizer.end_of_text)
    assert len(greedy.ids) == 10
    expect(card.locator(".gv-written span")).to_have_count(10)
    expect(card.locator(".gv-endmark").first).to_have_text(nano.tokenizer.token(greedy.ids[end]).shown)
    expect(page.locator(".gv-say")).to_contain_text(f"wanted to end after {end} tokens")
    card.locator(".gv-written span").first.hover()
    first = stages(last_logits(nano, "The cat sat on the"), Settings()).order[:5].tolist()
    expect(page.locator(".gv-instead p span:first-child").first).to_have_text(nano.tokenizer.token(first[0]).shown)
    card.locator(".gv-look").click()
    page.wait_for_selector('.gv-app[data-shown="attention/1/live"]')
    said = nano.tokenizer.decode(greedy.ids[:end])
    assert page.evaluate("new URLSearchParams(location.search).get('prompt')") == "The cat sat on the" + said


def test_stopping_ends_the_writing_on_the_server(page: Page) -> None:
    page.evaluate("gptviz.app.set({ new: 200 })")
    step(page, 7)
    page.locator(".gv-num input").nth(1).fill("200")
    page.locator(".gv-num input").nth(1).press("Tab")
    page.get_by_role("button", name="Write", exact=True).click()
    page.wait_for_function("document.querySelector('.gv-written').textContent.length > 3")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Write", exact=True)).to_be_visible()
    written = page.locator(".gv-written").first.inner_text()
    page.wait_for_timeout(400)
    assert page.locator(".gv-written").first.inner_text() == written


# Any text


@pytest.mark.parametrize("text", ["a", "Größe, naïve, 東京, 🙂👍🏽", " ", "x " * 120])
def test_any_text_is_shown(open_page: Callable[..., Page], nano: Decoder, text: str) -> None:
    page = open_page("next_token", prompt=text)
    best = nano.tokenizer.token(int(last_logits(nano, text).argmax())).shown
    assert page.locator(".gv-row .gv-name").nth(1).inner_text() == best
