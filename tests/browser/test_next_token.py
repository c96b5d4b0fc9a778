"""The next-token page as a student uses it, and its formulas against Python's."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import TimeoutError

from gptviz.lab.writing import sampling, strategies
from gptviz.lab.writing.sampling import Settings, stages
from gptviz.lessons.next_token import COMPARED

PROMPT = "The dog did not cross the road because it was"
STATE = ".gv-writer p[aria-live]"


@pytest.fixture(scope="module")
def trouble() -> list[str]:
    """What went wrong in the shared tab: errors of the page, requests to other hosts."""
    return []


@pytest.fixture(scope="module")
def tab(url, chromium, trouble):
    """One tab for most tests: opening the page takes longer than most of them."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: trouble.append(f"page error: {error}"))
    page.on("request", lambda r: None if r.url.startswith((url, "data:", "blob:")) else trouble.append(r.url))
    page.goto(f"{url}?{urlencode({'lesson': 'next_token', 'prompt': PROMPT})}")
    page.wait_for_selector(".gv-prow .gv-ptok")
    yield page
    context.close()


@pytest.fixture
def page(tab, trouble):
    """The tab with the prompt asked anew and the knobs untouched."""
    ask(tab, "Once")  # equal values from Python are not drawn again
    ask(tab, PROMPT)
    tab.get_by_role("button", name="Reset", exact=True).click()
    tab.get_by_role("button", name="greedy", exact=True).click()
    settled(tab)
    yield tab
    assert trouble == []


def ask(page, text: str) -> None:
    """Run a prompt and wait until its bars are drawn; each prompt makes its own rows."""
    page.evaluate("document.querySelector('.gv-prows .gv-prow').dataset.old = 1")
    page.locator(".gv-prompt textarea").fill(text)
    for _ in range(20):  # a click is ignored while the prompt before is still being answered
        page.get_by_role("button", name="Run", exact=True).click()
        with suppress(TimeoutError):
            page.wait_for_selector(".gv-prows .gv-prow:first-child:not([data-old])", timeout=2000)
            return
    raise AssertionError(f"the bars of {text!r} never came")


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("−", "-")


def column(page, k: int) -> list[str]:
    """The numbers of one stage, from the likeliest token down."""
    return [plain(t) for t in page.locator(f".gv-prows .gv-stage{k} > span").all_inner_texts()]


def knob(page, name: str, value) -> None:
    page.get_by_label(name, exact=True).fill(str(value))


def settled(page) -> None:
    """Two frames and the pause after which the panels below follow."""
    page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => done()), 160))")


def last_logits(nano, text=PROMPT):
    return nano.run(nano.tokenizer.encode(text), last_only=True).logits[-1]


def expected(p: float) -> str:
    """The page's way to write a probability."""
    x = 100 * p
    if p in (0, 1):
        return f"{x:.0f} %"
    if x > 99.9:
        return "> 99.9 %"
    if x < 1e-3:
        mantissa, exponent = f"{x:.0e}".split("e")
        return f"{mantissa}e{int(exponent)} %"
    return f"{x:.{1 if x >= 9.95 else 2 if x >= 0.0995 else 3}f} %"


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
]


def sets_of_logits():
    make = torch.Generator().manual_seed(4)
    smooth = torch.randn(500, generator=make) * 4
    ties = torch.randint(0, 12, (500,), generator=make).float()
    masked = torch.where(torch.rand(500, generator=make) < 0.3, -math.inf, smooth)
    huge = smooth * 1e4
    zeros = torch.where(ties > 5, 0.0, -0.0)
    return {"smooth": smooth, "ties": ties, "masked": masked, "huge": huge, "zeros": zeros}


def test_the_browser_computes_what_python_computes(page):
    """Order, every probability of every stage, the kept count and the entropies, on random logits, ties, extremes."""
    run = """([logits, cases]) => {
        const S = gptviz.sampling, ready = S.prepare(Float32Array.from(logits, (x) => x === null ? -Infinity : x));
        return cases.map(([temperature, topK, topP, topPFirst]) => {
            const r = S.stages(ready, { temperature, topK, topP, topPFirst });
            return { order: [...ready.order], raw: [...ready.raw], tempered: [...r.tempered], final: [...r.final],
                     kept: r.kept, entropies: [r.entropyRaw, r.entropyTempered, r.entropyFinal] };
        });
    }"""
    cases = [[s.temperature, s.top_k, s.top_p, s.top_p_first] for s in CASES]
    for name, logits in sets_of_logits().items():
        sent = [None if x == -math.inf else x for x in logits.tolist()]
        for settings, theirs in zip(CASES, page.evaluate(run, [sent, cases]), strict=True):
            ours = stages(logits, settings)
            assert theirs["order"] == ours.order.tolist(), (name, settings)
            assert theirs["kept"] == int(ours.kept.sum()), (name, settings)
            for part in ("raw", "tempered", "final"):
                mine = getattr(ours, part)[ours.order]
                found = torch.tensor(theirs[part], dtype=torch.float64)
                assert torch.allclose(found, mine, atol=1e-12, rtol=1e-9), (name, settings, part)
                assert abs(float(found.sum()) - 1) < 1e-6
            mine = [sampling.entropy(p) for p in (ours.raw, ours.tempered, ours.final)]
            assert theirs["entropies"] == pytest.approx(mine, abs=1e-9)


def test_the_browser_draws_what_python_draws(page):
    logits = sets_of_logits()["smooth"]
    run = """([logits, seed, n]) => {
        const S = gptviz.sampling, ready = S.prepare(Float32Array.from(logits));
        const { final, kept } = S.stages(ready, { temperature: 1.4, topK: 30, topP: 1, topPFirst: false });
        const counts = new Map();
        const ranks = S.draws(final, kept, seed, n, 0);
        for (const r of ranks) counts.set(r, (counts.get(r) || 0) + 1);
        return { ids: [...ranks].map((r) => ready.order[r]), one: S.uniform(seed, 7),
                 chi: S.chiSquare(final, kept, counts, n) };
    }"""
    for seed, n in ((0, 1000), (4294967295, 50), (12, 3)):
        theirs = page.evaluate(run, [logits.tolist(), seed, n])
        result = stages(logits, Settings(1.4, 30))
        ours = sampling.draws(result, seed, n)
        assert theirs["ids"] == ours
        assert theirs["one"] == sampling.uniform(seed, 7)
        chi = sampling.chi_square(result, ours)
        assert theirs["chi"]["freedom"] == chi.freedom
        assert theirs["chi"]["statistic"] == pytest.approx(chi.statistic, abs=1e-9)
        assert theirs["chi"]["p"] == pytest.approx(chi.p_value, abs=1e-9)


def test_bad_settings_get_the_servers_sentence(page):
    for values in ((-1, 0, 1), (math.nan, 0, 1), (math.inf, 0, 1), (1, -1, 1), (1, 1.5, 1), (1, 0, -0.5), (1, 0, 2)):
        found = page.evaluate(
            "([t, k, p]) => gptviz.sampling.check({ temperature: t, topK: k, topP: p })", list(values)
        )
        with pytest.raises(ValueError, match="it must be") as error:
            Settings(*values)
        assert found == str(error.value)


# The bars


def test_bars_show_the_models_own_numbers(page, nano):
    result = stages(last_logits(nano), Settings())
    best = result.order[:20]
    assert column(page, 0)[:20] == [expected(float(p)) for p in result.raw[best]]
    others = page.locator(".gv-ptail").inner_text()
    assert others == f"{nano.shape.vocabulary - 20:,} others"
    assert column(page, 0)[20] == expected(float(result.raw[result.order[20:]].sum()))


def test_knobs_change_the_bars_without_the_server(page, nano):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    knob(page, "temperature", 2)
    knob(page, "top-k", 7)
    settled(page)
    result = stages(last_logits(nano), Settings(2.0, 7))
    best = result.order[:20]
    assert column(page, 1)[:20] == [expected(float(p)) for p in result.tempered[best]]
    assert column(page, 2)[:7] == [expected(float(p)) for p in result.final[best[:7]]]
    assert column(page, 2)[7:] == ["left out"] * 14
    assert page.locator(".gv-prows .out .gv-ptok").count() == 13  # still there, greyed
    assert asked == []


def test_extremes_and_bad_values(page):
    knob(page, "temperature", 0)
    settled(page)
    assert column(page, 2)[0] == "100 %"
    assert set(column(page, 2)[1:]) == {"left out"}
    assert "greedy" in page.locator(".gv-pfig .gv-say").inner_text()
    knob(page, "temperature", "1e-6")
    settled(page)
    assert column(page, 1)[0] == "100 %"
    knob(page, "temperature", 100)
    settled(page)
    assert not any("NaN" in text for text in column(page, 1))
    before = column(page, 2)
    knob(page, "top-k", -1)
    settled(page)
    assert "top_k is -1; it must be a whole number from 0 (off) up." in page.locator(".gv-trouble").inner_text()
    assert column(page, 2) == before  # the last good value stays
    knob(page, "top-p", "")
    assert "top_p is nan" in page.locator(".gv-trouble").inner_text()
    knob(page, "top-k", 10**6)
    assert "all are kept" in page.locator(".gv-trouble").inner_text()


def test_sliders_answer_to_the_keyboard(page):
    slider = page.get_by_label("temperature slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("temperature", exact=True).input_value() == "1.05"
    page.keyboard.press("Home")
    assert page.get_by_label("temperature", exact=True).input_value() == "0"
    top_k = page.get_by_label("top-k slider")
    top_k.focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("top-k", exact=True).input_value() == "1"
    page.keyboard.press("End")
    assert page.get_by_label("top-k", exact=True).input_value() == "50257"


def test_tokens_that_read_alike_stay_two_bars(page):
    rows = page.evaluate("""() => {
        const root = document.createElement("div"); document.body.append(root);
        const bars = gptviz.bars(root, { onforce: () => {} }), S = gptviz.sampling;
        const ready = S.prepare(Float32Array.from([3, 2, 1]));
        bars.names([{ id: 0, shown: "·a", bytes: [32, 97] }, { id: 1, shown: "·a", bytes: [194, 183, 97] },
                    { id: 2, shown: "b", bytes: [98] }], 3, 3);
        bars.draw(ready, S.stages(ready, { temperature: 1, topK: 0, topP: 1 }));
        const out = [...root.querySelectorAll(".gv-prows .gv-prow")].map((row) => row.innerText.replace(/\\s+/g, " "));
        root.remove();
        return out;
    }""")
    assert len(rows) == 3
    assert "id 0" in rows[0]
    assert "id 1" in rows[1]
    assert "66.5" in rows[0]
    assert "24.5" in rows[1]


def test_three_hundred_moves_leave_the_last_value_and_flat_memory(page):
    """Moves arrive faster than frames; what stays on screen is the last one, and nothing piles up."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")

    def heap() -> int:
        session.send("HeapProfiler.collectGarbage")
        return session.send("Runtime.getHeapUsage")["usedSize"]

    move = """(n) => { const s = document.querySelector('[aria-label="temperature slider"]');
        for (let i = 1; i <= n; i++) {
            s.value = (i % 100) / 20; s.dispatchEvent(new Event("input", { bubbles: true }));
        }
        return document.querySelectorAll("*").length; }"""
    page.evaluate(move, 300)
    settled(page)
    before = heap()
    count = page.evaluate(move, 300)
    page.evaluate(move, 337)
    settled(page)
    assert page.get_by_label("temperature", exact=True).input_value() == "1.85"
    assert page.evaluate("document.querySelector('.gv-w-next_token .gv-widget').dataset.painted") == "1.85 0 1"
    assert heap() - before < 1_000_000
    assert abs(page.evaluate("document.querySelectorAll('*').length") - count) < 50


def test_a_slider_move_costs_less_than_a_frame(page, nano):
    """Main-thread time of one move, V = 50,257: numbers, rows, layout, paint. Processor time, so that other programs
    on the machine do not count; the bench measures the wait itself."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
        return 1000 * metrics["TaskDuration"]  # ms

    move = """async (n) => {
        const s = document.querySelector('[aria-label="temperature slider"]');
        for (let i = 0; i < n; i++) {
            s.value = 0.05 + (i % 80) / 20; s.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        }
    }"""
    assert nano.shape.vocabulary == 50257
    page.evaluate(move, 20)  # compiled once
    settled(page)
    before = busy()
    page.evaluate(move, 100)
    assert (busy() - before) / 100 < 16


# Draws and the order


def test_a_thousand_draws_against_theory(page, nano):
    knob(page, "temperature", 5)  # at 1 this model is so sure that there is nothing to compare
    knob(page, "top-k", 6)
    settled(page)
    page.get_by_role("button", name="Draw 1,000", exact=True).click()
    result = stages(last_logits(nano), Settings(5.0, 6))
    chi = sampling.chi_square(result, sampling.draws(result, 0, 1000))
    verdict = page.locator(".gv-pair .gv-fig").first.locator("p.gv-cap").last
    page.wait_for_function("document.querySelector('.gv-pair').innerText.includes('χ²')")
    assert f"χ² = {chi.statistic:.1f} with {chi.freedom} degrees" in verdict.inner_text()
    page.get_by_role("button", name="Draw one", exact=True).click()
    page.wait_for_function("document.querySelector('.gv-pair').innerText.includes('Draw 1,001')")
    knob(page, "temperature", 3)
    settled(page)
    assert "Nothing drawn yet" in page.locator(".gv-pair").inner_text()


def test_the_order_keeps_different_sets(page, nano):
    page.get_by_role("button", name="Show it: temperature 2, top-p 0.9").click()
    settled(page)
    late = int(stages(last_logits(nano), Settings(2.0, 0, 0.9)).kept.sum())
    early = int(stages(last_logits(nano), Settings(2.0, 0, 0.9, True)).kept.sum())
    said = page.locator(".gv-pair .gv-say").last.inner_text()
    assert late > early
    assert said.startswith(f"Temperature first keeps {late:,} tokens; top-p first keeps {early:,}.")
    page.get_by_role("button", name="top-p → temperature").click()
    settled(page)
    assert f"{early:,} kept" in page.locator(".gv-prowhead").inner_text()


# Writing


def written(page) -> list[str]:
    return page.locator(".gv-draft .gv-new").all_inner_texts()


def ready(page, count: int) -> None:
    page.wait_for_function(
        "(n) => document.querySelectorAll('.gv-draft .gv-new').length === n && "
        "!document.querySelector('.gv-pfig').hasAttribute('aria-busy')",
        arg=count,
    )


def test_writing_by_steps_equals_greedy_and_can_be_undone_and_branched(page, nano):
    ids = nano.tokenizer.encode(PROMPT)
    for n in (1, 2, 3):
        page.get_by_role("button", name="Next token", exact=True).click()
        ready(page, n)
    expected_ids = []
    for _ in range(3):
        expected_ids.append(sampling.greedy(nano.run(ids + expected_ids, last_only=True).logits[-1]))
    assert written(page) == [nano.tokenizer.token(i).shown for i in expected_ids]
    page.get_by_role("button", name="Undo").click()
    ready(page, 2)
    after = nano.run(ids + expected_ids[:2], last_only=True).logits[-1]
    second = int(stages(after, Settings()).order[1])
    page.locator(".gv-ptok").nth(1).click()
    ready(page, 3)
    assert written(page)[2] == nano.tokenizer.token(second).shown
    branch = page.locator(".gv-branches .gv-chip")
    assert branch.all_inner_texts() == [nano.tokenizer.token(expected_ids[2]).shown]
    branch.click()
    ready(page, 3)
    assert written(page)[2] == nano.tokenizer.token(expected_ids[2]).shown


def test_running_on_streams_and_says_why_it_stopped(page, nano):
    page.get_by_label("tokens to write").fill("5")
    page.get_by_role("button", name="draw", exact=True).click()
    knob(page, "top-k", 3)
    page.get_by_role("button", name="Run on").click()
    page.wait_for_function(f"/Stopped|ended the text/.test(document.querySelector('{STATE}').innerText)")
    ids, story = nano.tokenizer.encode(PROMPT), []
    while len(story) < 5 and 50256 not in story:
        logits = nano.run(ids + story, last_only=True).logits[-1]
        story.append(sampling.draw(stages(logits, Settings(1.0, 3)), 0, len(story)))
    assert written(page) == [nano.tokenizer.token(i).shown for i in story]


def click_while_writing(page, name: str) -> None:
    """Press a button of the writer as soon as three tokens are there; from outside it would come too late."""
    page.evaluate(
        """(name) => new Promise((done) => { const timer = setInterval(() => {
            if (document.querySelectorAll(".gv-draft .gv-new").length < 3) return;
            clearInterval(timer);
            [...document.querySelectorAll(".gv-writer button")].find((b) => b.innerText === name).click();
            done();
        }, 2); })""",
        name,
    )


def test_cancel_goes_back_to_where_the_run_began(page):
    page.get_by_role("button", name="Next token", exact=True).click()
    ready(page, 1)
    page.get_by_role("button", name="draw", exact=True).click()
    knob(page, "temperature", 5)
    page.get_by_label("tokens to write").fill("200")
    page.get_by_role("button", name="Run on").click()
    click_while_writing(page, "Cancel")
    ready(page, 1)
    assert "Cancelled" in page.locator(STATE).inner_text()


def test_pause_keeps_the_text_and_run_on_continues(page):
    page.get_by_role("button", name="draw", exact=True).click()
    knob(page, "temperature", 5)
    page.get_by_label("tokens to write").fill("200")
    page.get_by_role("button", name="Run on").click()
    click_while_writing(page, "Pause")
    page.wait_for_function(f"document.querySelector('{STATE}').innerText.includes('Paused')")
    kept = written(page)
    assert len(kept) > 2
    page.get_by_label("tokens to write").fill("2")
    page.get_by_role("button", name="Run on").click()
    page.wait_for_function(f"document.querySelectorAll('.gv-draft .gv-new').length === {len(kept) + 2}")
    assert written(page)[: len(kept)] == kept


def test_four_strategies_and_the_beam_tree(page, nano):
    length = page.get_by_label("tokens each")
    assert length.input_value() == str(COMPARED)  # what the guess above asks about
    length.fill("6")
    page.get_by_role("button", name="Write all four").click()
    page.wait_for_function(
        "document.querySelectorAll('.gv-columns .gv-fig').length === 4 && "
        "![...document.querySelectorAll('.gv-columns .gv-fig')].some((f) => !/It stopped|It ended/.test(f.innerText))"
    )
    columns = page.locator(".gv-columns .gv-strip")
    ids = nano.tokenizer.encode(PROMPT)
    with torch.inference_mode():
        for index, beams in ((0, 1), (3, 3)):
            found = nano.model.generate(
                torch.tensor([ids]), max_new_tokens=6, do_sample=False, num_beams=beams, pad_token_id=50256
            )
            new = found[0, len(ids) :].tolist()
            shown = [nano.tokenizer.token(i).shown for i in new]
            assert columns.nth(index).locator(".gv-tok").all_inner_texts() == shown
    tree = page.locator(".gv-tree")
    assert tree.locator(".node.win").count() == len(new)
    assert tree.locator(".node").count() > 2 * len(new)
    label = re.compile(r"sum of ln p (\S+), per token (\S+), finished")
    ends = [label.search(plain(node.get_attribute("aria-label"))) for node in tree.locator(".node.finished").all()]
    winner = label.search(plain(tree.locator(".node.win.finished").get_attribute("aria-label")))
    assert float(winner[2]) == max(float(end[2]) for end in ends)
    assert float(winner[1]) == pytest.approx(float(winner[2]) * len(new), abs=0.01 * len(new))


# The lens and the guess


def test_surprise_and_layers_are_the_models_own(page, nano):
    ids = nano.tokenizer.encode(PROMPT)
    run = nano.run(ids, residual=True)
    logp = run.logits.double().log_softmax(-1)
    nats = [-float(logp[k, i]) for k, i in enumerate(ids[1:])]
    titles = [node.get_attribute("title") for node in page.locator(".gv-nat").all()]
    assert [re.findall(r"surprise ([\d.]+) nats", t)[0] for t in titles[1:]] == [f"{x:.2f}" for x in nats]
    page.locator(".gv-nat").nth(3).click()
    page.wait_for_function("document.querySelector('.gv-w-lens .gv-say').innerText.includes('position 3')")
    rows = page.locator(".gv-layers tbody tr")
    assert rows.count() == nano.shape.layers + 1
    names = [row.locator("td").first.inner_text() for row in rows.all()]
    assert names == ["embedding", *(f"after layer {k}" for k in range(nano.shape.layers))]
    for layer in (0, nano.shape.layers):
        best = int(nano.head(run.residual[layer, 3]).argmax())
        assert rows.nth(layer).locator(".gv-said").first.inner_text() == nano.tokenizer.token(best).shown


def test_the_guess_is_answered_with_measured_numbers(page, nano):
    page.get_by_role("button", name="it grows").click()
    answer = page.locator(".gv-w-predict .gv-answer").first
    page.wait_for_function("document.querySelector('.gv-w-predict .gv-answer') !== null")
    one, two = (sampling.bars(stages(last_logits(nano), Settings(t)), 20)[1] for t in (1.0, 2.0))
    assert f"{100 * one:.1f} %" in answer.inner_text()
    assert f"{100 * two:.1f} %" in answer.inner_text()


def test_the_loop_guess_is_answered_by_writing(page, nano):
    page.get_by_role("button", name="no, it stays fresh").click()
    page.wait_for_function(
        "[...document.querySelectorAll('.gv-answer')].some((a) => /It does|Not within|Not decided/.test(a.innerText))"
    )
    asked = COMPARED
    question = page.locator(".gv-ask").filter(has_text="again and again")
    assert f"the next {asked} tokens" in question.inner_text()
    text = list(strategies.write(nano, nano.tokenizer.encode(PROMPT), None, seed=0, start=0, max_new_tokens=asked))[-1]
    said = question.locator(".gv-answer").inner_text()
    if text.loops:
        assert f"a stretch of {text.loops[0].period}, and it says it {text.loops[0].times} times" in said
        assert question.locator(".gv-answer .w").count() == 1
    elif text.stop == "length":
        assert f"Not within these {len(text.ids)} tokens" in said
        assert question.locator(".gv-answer .ok").count() == 1
    else:
        assert f"Not decided: after {len(text.ids)} of the {asked} tokens" in said
        assert question.locator(".gv-answer .ok, .gv-answer .w").count() == 0


def test_an_early_end_is_neither_right_nor_wrong(page, nano):
    """A text whose context fills before the asked length decides nothing about loops."""
    room = 3
    text = "a" + " a" * (nano.shape.context - 1 - room)
    ask(page, text)
    page.get_by_role("button", name="no, it stays fresh").click()
    question = page.locator(".gv-ask").filter(has_text="again and again")
    question.locator(".gv-answer", has_text=re.compile("It does|Not ")).wait_for()
    ids = nano.tokenizer.encode(text)
    found = list(strategies.write(nano, ids, None, seed=0, start=0, max_new_tokens=room))[-1]
    assert found.loops == []  # else the text would not be an undecided one
    assert f"Not decided: after {len(found.ids)} of the " in question.locator(".gv-answer").inner_text()
    assert question.locator(".gv-answer .ok, .gv-answer .w").count() == 0


def test_a_full_context_is_said_at_once(page, nano):
    ask(page, "a" + " a" * (nano.shape.context - 1))
    assert "the context is full" in page.locator(STATE).inner_text()
    assert page.get_by_role("button", name="Next token", exact=True).is_disabled()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_fits_a_phone(open_page, dark):
    page = open_page("next_token", PROMPT, width=390, dark=dark)
    page.wait_for_selector(".gv-prow .gv-ptok")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in (".gv-shaping", ".gv-pfig", ".gv-writer"):
        box = page.locator(name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_a_new_prompt_replaces_everything(page, nano):
    page.get_by_role("button", name="Next token", exact=True).click()
    ready(page, 1)
    knob(page, "temperature", 2)
    ask(page, "The cat")
    result = stages(last_logits(nano, "The cat"), Settings(2.0))
    first = expected(float(result.raw[result.order[0]]))
    page.wait_for_function(
        "(p) => document.querySelector('.gv-prows .gv-stage0 > span').innerText.replace('\\u00a0', ' ') === p",
        arg=first,
    )
    assert written(page) == []
    settled(page)
    assert column(page, 1)[:20] == [expected(float(p)) for p in result.tempered[result.order[:20]]]
