"""Texts in the browser: read as in Python, shown as nodes, and never as HTML."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Error, Page

from gptviz.marks import MarkError, parse, values_of
from gptviz.numbers import Text
from gptviz.words import Words, words
from gptviz.words_check import forms

EXTRA: dict[str, Text] = {
    "x.marked": "**{p:percent}** for `·{token}`: [head {n}](state: head={n}.{m}) of *these* ((heads|head)) \\[T\\]",
    "x.tokens": {"by": "n", "=0": "no tokens", "one": "{n} token", "other": "{n} tokens"},
    "x.typed": "you typed {typed} and `{typed}` and [it](state: token={typed})",
    "x.listed": "{allowed:list} {p:decimal 3} {n:ordinal} {n:bytes} {n:seconds} {n:times} {n:raw} {p:chance} {p:exact}",
}
TYPED = '<img src=x onerror="window.hit=1"> **{n}** `((head))`'
ODD = ["*a", "**a*", "`a", "[a](b)", "[a]", "{a b}", "{a:no}", "{a:decimal}", "{a:percent 2}", "((|Δ|))", "****", "a }"]
ODD += [
    "((a)) b",
    "((|Δ||d))",
    "\\*a\\\\",
    "\\x",
    "f(x)",
    "a\\",
    "**a *b* c**",
    "{a:decimal 3}",
    "`**{b}**`",
    "(a) ((b c-d))",
]


@pytest.fixture(params=["en", "qps"])
def said(request: pytest.FixtureRequest) -> Words:
    some = words(request.param)
    return Words(request.param, {**some.entries, **EXTRA})


def call(page: Page, said: Words, body: str, given: Any = None) -> Any:
    """Run `body` with the words in place: `words` is the module, `given` the argument."""
    script = f"""async ([bundle, language, given]) => {{
      const words = await import("/kit/words.js");
      const show = (nodes) => {{ document.body.replaceChildren(...nodes); return document.body; }};
      words.setWords(bundle, language, {{ strict: true }});
      {body}
    }}"""
    return page.evaluate(script, [said.entries, said.language, given])


def test_every_text_reads_and_says_the_same(kit: Page, said: Words) -> None:
    values = {"p": 0.000031, "n": 2, "m": 11, "token": "Mary", "typed": TYPED}
    templates = [form for text in said.entries.values() for form in forms(text).values()]

    def given(text: Text) -> dict[str, Any]:
        """A list where a form says one, else the value of that name, else a number."""
        whole = "".join(forms(text).values())
        lists = {name: ["a", 1200.5, TYPED] for name in re.findall(r"\{(\w+):list\}", whole)}
        return dict.fromkeys(values_of(parse(whole)), 1234.5) | values | lists

    pairs = [(key, given(text)) for key, text in said.entries.items()]
    there = call(kit, said, "return given.map(([key, values]) => words.text(key, values))", pairs)
    assert there == [said.text(key, **values) for key, values in pairs]
    read = "const { parse } = await import('/kit/marks.js'); return given.map((t) => parse(t));"
    assert call(kit, said, read, templates) == [parse(t) for t in templates]


def test_odd_marks_are_read_or_refused_alike(kit: Page, said: Words) -> None:
    def here(text: str) -> Any:
        try:
            return parse(text)
        except MarkError as error:
            return str(error)

    read = """const { parse, MarkError } = await import('/kit/marks.js');
      const refused = (e) => { if (e instanceof MarkError) return e.message; throw e; };
      return given.map((t) => { try { return parse(t); } catch (e) { return refused(e); } });"""
    assert call(kit, said, read, ODD) == [here(text) for text in ODD]


@pytest.mark.parametrize("n", [0, 1, 2, 1200])
def test_plural_forms(kit: Page, said: Words, n: int) -> None:
    assert call(kit, said, "return words.text('x.tokens', { n: given })", n) == said.text("x.tokens", n=n)


SHOW_MARKED = "return show(words.phrase('x.marked', { p: 0.031, token: 'Mary', n: 3, m: 0 })).innerHTML"


def test_marks_become_elements(kit: Page, said: Words) -> None:
    html = call(kit, said, SHOW_MARKED)
    means = said.text("terms.head.means")
    shown = kit.evaluate("document.querySelector('[role=tooltip]').id")
    assert html.startswith('<strong>3.1&nbsp;%</strong> for <code class="gv-token">·Mary</code>: ')
    assert '<button type="button" class="gv-link" data-state="head=3.0">head 3</button> of <em>these</em> ' in html
    assert f'class="gv-term" aria-describedby="{shown}">heads</button>' in html
    assert kit.locator(f"#{shown}").text_content() == means
    assert kit.locator("body").text_content() == said.text("x.marked", p=0.031, token="Mary", n=3, m=0).replace(
        "heads", "heads" + means
    )


def test_what_was_typed_is_text(kit: Page, said: Words) -> None:
    body = "return show(words.phrase('x.typed', { typed: given })).querySelectorAll('img, strong').length"
    assert call(kit, said, body, TYPED) == 0
    assert kit.locator("body").text_content() == f"you typed {TYPED} and {TYPED} and it"
    assert kit.locator(".gv-link").get_attribute("data-state") == "token=" + kit.evaluate("encodeURIComponent", TYPED)
    assert kit.evaluate("window.hit") is None


def test_a_node_of_the_page_may_be_a_value(kit: Page, said: Words) -> None:
    body = """const chip = document.createElement('u'); chip.append('here');
      return show(words.render('look {where}', { where: chip })).innerHTML"""
    assert call(kit, said, body) == "look <u>here</u>"


def test_a_definition_shows_on_hover_focus_and_tap(kit: Page, said: Words) -> None:
    call(kit, said, SHOW_MARKED)
    kit.add_style_tag(url="/kit/words.css")
    term, definition = kit.locator(".gv-term"), kit.get_by_role("tooltip", include_hidden=True)
    assert not definition.is_visible()
    term.hover()
    assert definition.is_visible()
    kit.mouse.move(0, 0)
    assert not definition.is_visible()
    kit.keyboard.press("Tab")  # the link
    kit.keyboard.press("Tab")
    assert definition.is_visible()
    kit.keyboard.press("Escape")
    assert not definition.is_visible()
    term.blur()
    term.dispatch_event("click")  # a tap that gives no focus
    assert definition.is_visible()
    kit.mouse.click(1, 1)
    assert not definition.is_visible()


@pytest.mark.parametrize("corner", ["top:0;left:0", "top:0;right:0", "bottom:0;right:0", "bottom:0;left:50%"])
@pytest.mark.parametrize("width", [320, 1280])
def test_a_definition_stays_on_the_screen(kit: Page, said: Words, corner: str, width: int) -> None:
    kit.set_viewport_size({"width": width, "height": 400})
    call(kit, said, SHOW_MARKED)
    kit.add_style_tag(url="/kit/words.css")
    kit.evaluate("corner => document.querySelector('.gv-term-box').style = 'position:fixed;' + corner", corner)
    kit.locator(".gv-term").focus()
    box = kit.get_by_role("tooltip").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= 400
    assert kit.evaluate("document.documentElement.scrollWidth") <= width


def test_a_missing_text_or_value(kit: Page, said: Words) -> None:
    for wrong in ("words.text('x.none')", "words.phrase('x.none')", "words.text('x.tokens')", "words.text('x.typed')"):
        with pytest.raises(Error, match=r"no text|needs the number|is missing"):
            call(kit, said, wrong)
    body = """words.setWords(given, 'en');
      return [...['x.*none', 'x.tokens', 'x.a'].map((k) => words.text(k)), words.has('x.a'), words.has('toString')]"""
    given = {"x.tokens": EXTRA["x.tokens"], "x.a": "of {n}"}
    assert call(kit, said, body, given) == ["x.*none", "{n} tokens", "of {n}", True, False]
