"""Texts by key: marks, plurals, languages, and errors that carry a key."""

from __future__ import annotations

import pickle

import pytest

from gptviz import words as w
from gptviz.decoder.errors import UserError
from gptviz.marks import MarkError, accented, marked, parse, unparse, values_of
from gptviz.numbers import Text
from gptviz.words import Said, Words, choose, words
from gptviz.words_check import check, of_language

NUMBERS = {k: v for k, v in words().entries.items() if k.startswith("numbers.")}
TOKENS = {"by": "n", "=0": "no tokens", "one": "{n} token", "other": "{n} tokens"}
MARKED = "**{p:percent}** for `·{token}`, as [head {n}](state: head={n}.0) of *these* ((heads|head)) \\[T\\] say"


def texts(**entries: Text) -> Words:
    return Words("en", {**NUMBERS, **entries})


def test_all_words_are_in_order() -> None:
    check()


def test_values_are_said_and_marks_are_taken_away() -> None:
    said = texts(a=MARKED).text("a", p=0.031, token="Mary", n=3)
    assert said == "3.1\u00a0% for ·Mary, as head 3 of these heads [T] say"


def test_what_was_typed_is_never_read_as_marks() -> None:
    typed = "**{n}** [x](state: a=b) ((head)) <b> `"
    assert texts(a="you typed {x}").text("a", x=typed) == f"you typed {typed}"


def test_every_format() -> None:
    formats = "{x:percent} {x:chance} {x:exact} {x:decimal 3} {x:delta} {x:number} {x:whole} {x:times} {x:bytes_exact}"
    said = texts(a=formats).text("a", x=0.25).replace("\u00a0", "_")
    assert said == "25_% 1_in_4 0.25 0.250 0.25 0.25 0 ÷_4 0_B"
    assert texts(a="{n:ordinal} {n:bytes} {n:seconds} {n:raw}").text("a", n=2000).replace("\u00a0", "_") == (
        "2,000th 2.00_kB 33_min_20_s 2000"
    )
    assert texts(a="one of {x:list}").text("a", x=["a", 1200, 0.5]) == "one of a, 1,200, 0.50"


@pytest.mark.parametrize(("n", "said"), [(0, "no tokens"), (1, "1 token"), (2, "2 tokens"), (1200, "1,200 tokens")])
def test_plural_forms(n: int, said: str) -> None:
    assert texts(tokens=TOKENS).text("tokens", n=n) == said


@pytest.mark.parametrize(
    "text",
    [
        *["*open", "**open*", "`open", "[a](b)", "[a]", "{a b}", "{a:nothing}", "{a:decimal}", "{a:percent 2}"],
        *["****", "a } b", "a ] b", "\\x", "end\\", "[](state: a=b)", "((open)", "{A}", "((|Δ|))"],
    ],
)
def test_marks_that_do_not_fit_are_refused(text: str) -> None:
    with pytest.raises(MarkError):
        parse(text)


def test_marks_nest_and_can_be_escaped() -> None:
    assert parse("\\*a\\{b\\}\\\\ f(x)") == ["*a{b}\\ f(x)"]
    assert parse("((|Δ||largest_change))") == [{"mark": "term", "inside": ["|Δ|"], "term": "largest_change"}]
    assert marked(parse("((residual stream))"), "term")[0]["term"] == "residual_stream"
    assert [part["inside"] for part in marked(parse("**a *b* c**"), "em")] == [["b"]]
    assert values_of(parse(MARKED)) == {"p", "token", "n"}


def test_a_text_read_and_written_is_the_same_text() -> None:
    for text in (MARKED, "a \\(\\( b", "{x:decimal 2}", "**a *b* `{c}`**"):
        assert parse(unparse(parse(text))) == parse(text)


def test_a_missing_text_or_value_raises_in_tests_and_shows_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    some = texts(a="of {n}", tokens=TOKENS)
    for key in ("b", "a", "tokens"):
        with pytest.raises(KeyError):
            some.text(key)
    monkeypatch.setattr(w, "strict", False)
    assert (some.text("b"), some.text("a"), some.text("tokens")) == ("b", "of {n}", "{n} tokens")


def test_the_pseudo_language_keeps_values_tokens_states_and_keys() -> None:
    parts, pseudo = parse(MARKED), parse(accented(MARKED))
    assert values_of(pseudo) == values_of(parts)
    for mark, field in (("token", "inside"), ("link", "state"), ("term", "term")):
        assert [part[field] for part in marked(pseudo, mark)] == [part[field] for part in marked(parts, mark)]
    said = Words("qps", {**words("qps").entries, "a": accented("one {n}")}).text("a", n=1234.0)
    assert said == "⟦öñé 1,234⟧"


def test_all_texts_of_the_pseudo_language_can_be_read() -> None:
    english, pseudo = words(), words("qps")
    assert english.entries.keys() == pseudo.entries.keys()
    for key, text in pseudo.entries.items():
        for form in [text] if isinstance(text, str) else [v for k, v in text.items() if k not in ("by", "type")]:
            assert form.startswith("⟦") or not any(c.isalpha() for c in form), key
            parse(form)


@pytest.mark.parametrize(
    ("asked", "accepted", "language"),
    [
        (None, None, "en"),
        ("", "", "en"),
        ("de", "en", "de"),
        ("DE_ch", None, "de"),
        ("xx", "fr;q=0.1, de-CH;q=0.4", "de"),
        (None, "fr, en-GB;q=0.9, de;q=0.8", "en"),
        (None, "de;q=0", "en"),
        (None, "*;q=0.5", "en"),
        (None, "de;q=x,,;;q", "en"),
        ("../../etc/passwd", "a" * 100_000, "en"),
        ("qps", "de", "qps"),
    ],
)
def test_choosing_a_language(
    monkeypatch: pytest.MonkeyPatch, asked: str | None, accepted: str | None, language: str
) -> None:
    monkeypatch.setattr(w, "languages", lambda: ("en", "de"))
    assert choose(asked, accepted) == language


def test_another_language_falls_back_to_english(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    for language, text in (("en", 'a = "one"\nb = "two"\n[t]\nc = "three"'), ("de", 'a = "eins"')):
        folder = tmp_path / language / "words"
        folder.mkdir(parents=True)
        (folder / "x.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(w, "LESSONS", tmp_path)
    monkeypatch.setattr(w, "languages", w.languages.__wrapped__)
    german = w.words.__wrapped__("de")
    assert [german.text(key) for key in ("x.a", "x.b", "x.t.c")] == ["eins", "two", "three"]
    assert german.numbers.decimal(1234.5, 1) == "1.234,5"
    with pytest.raises(ValueError, match=r"no words in '\.\./de'"):
        w.words("../de")


GERMAN_FAULTS: list[tuple[Text, Text, str]] = [
    ("{n} a", "{m} b", "says the values"),
    ("{n} a", "{n:percnt} b", "no format"),
    ("a", {"by": "n", "one": "a", "other": "b"}, "plural forms in one language"),
    (TOKENS, {"by": "n", "other": "{n} b"}, "form one is missing"),
    (TOKENS, {"by": "n", "one": "a", "few": "a", "other": "{n} b"}, "no plural form few"),
    ("[a](state: open=all)", "[b](state: open=1)", "other states"),
    ("((head))", "((Kopf))", "has no kopf"),
    ("*a*", "*b", "closes this part"),
]


@pytest.mark.parametrize(("english", "german", "fault"), GERMAN_FAULTS)
def test_faults_of_a_language_are_found(english: Text, german: Text, fault: str) -> None:
    known = {"terms.head.means": "x", "a": english}
    assert list(of_language("en", known, known)) == []
    found = list(of_language("de", {"terms.head.means": "x", "a": german}, known))
    assert any(fault in line for line in found), found


def test_missing_and_unknown_keys_are_found() -> None:
    assert list(of_language("de", {"b": "x"}, {"a": "x"})) == [
        "de: a is missing",
        "de: b is not a key of the English words",
    ]


def test_a_bundle_has_what_its_areas_need() -> None:
    areas = {key.split(".")[0] for key in words().bundle("errors")}
    assert areas == {"errors", "numbers", "terms"}
    served = {key.split(".")[0] for key in words().bundle()}
    assert served == {key.split(".")[0] for key in words().entries} - {"errors", "loading", "evidence", "prose", "door"}


def test_an_error_is_said_in_every_language() -> None:
    error = UserError("whole_between", name="seed", value="x" * 100, low=0, high=2**31)
    assert str(error) == f'seed is "{"x" * 59}…"; it must be a whole number from 0 to 2,147,483,648.'
    assert error.sentence() == str(error)
    assert error.sentence("qps").startswith('⟦seed îš "xxx')
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.sentence("qps")) == (str(error), error.sentence("qps"))


def test_an_error_says_numbers_and_lists_in_the_language() -> None:
    error = UserError("errors.one_of", name="method", value=1200.5, allowed=["edit", "truncate"])
    assert str(error) == "method is 1,200.5; it must be one of edit, truncate."


def test_a_number_too_long_to_read_is_not_repeated() -> None:
    error = UserError("whole_between", name="seed", value=10**5000, low=0, high=9)
    assert str(error) == "seed is a number of more than 16 digits; it must be a whole number from 0 to 9."


def test_a_text_by_key_is_english_and_can_be_said_again() -> None:
    said = Said("loading.loading", model="nano", source=Said("loading.from_folder", name="~/x"))
    assert said == 'Loading nano from the folder "~/x".'
    assert said.text("qps") == '⟦Löàdîñg nano ⟦fröm thé földér "~/x"⟧.⟧'
    again = pickle.loads(pickle.dumps(said))
    assert (again, again.text("qps")) == (said, said.text("qps"))
    assert said.each(lambda text: text.replace("~", "/home")) == 'Loading nano from the folder "/home/x".'


def test_several_notes_are_one_error_in_every_language() -> None:
    error = UserError.of([Said("loading.ready", model=name) for name in ("a", "b", "c")])
    assert str(error) == "a is ready. b is ready. c is ready."
    assert error.sentence("qps").count("îš réàdý") == 3
