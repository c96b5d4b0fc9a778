"""No sentence for people stands in code: each comes from the words, by a literal key, with all its values and no other.

Read with Python's own parser, so that neither line breaks nor f-strings hide anything. A string that looks like English
and is none of ours says so on its line: `# not words: a mistake in code`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gptviz.numbers import Text
from gptviz.words import words
from gptviz.words_check import values as values_of

ROOT = Path(__file__).parents[2]
SAYERS = {"UserError", "Full", "Unavailable", "Said", "sentence"}  # calls whose first argument is a key
AREA = {"UserError": "errors.", "Full": "errors.", "sentence": "errors."}  # what a key without a dot belongs to
# Values that a class gives by itself, and arguments that are no values.
GIVEN = {"Full": {"seconds"}}
OTHER = {"Full": {"status"}}
# Files whose strings nobody reads but who writes code or words, or makes the bundled model.
DEVELOPERS = {
    "gptviz/marks.py": "says what is wrong in a text of the words, to whoever writes one",
    "gptviz/words.py": "the same",
    "gptviz/words_check.py": "the same",
    "gptviz/numbers.py": "the same",
    "gptviz/nano/*.py": "makes the bundled model; the app never imports it",
}
# Two words in a row, or a piece of a sentence before or after a value.
ENGLISH = re.compile(r"[A-Za-z]{2,}[,;:.]? +[A-Za-z]{2,}|^[A-Z][a-z]+ |[a-z]{3,} $|^[.;,:]? [a-z]{2,}")
MARKUP = re.compile(r'<[a-z!/]|="|(font|script|style|img)-[a-z]+[: ]')  # what of it is seen is checked in the browser
EXCUSE = "# not words: "


def files() -> list[Path]:
    found = [*sorted((ROOT / "gptviz").rglob("*.py")), ROOT / "app.py"]
    return [f for f in found if not any(f.relative_to(ROOT).match(pattern) for pattern in DEVELOPERS)]


def faults(source: str, known: dict[str, Text]) -> list[str]:
    """One line for each call that says something else than a text with its values, and for each piece of English."""
    tree, lines = ast.parse(source), source.splitlines()
    found = [(node.lineno, fault) for node in ast.walk(tree) if (fault := _of_call(node, known))]  # type: ignore[attr-defined]
    found += [(line, f"{text!r} stands in code") for line, text in _english(tree)]
    return [f"{line}: {fault}" for line, fault in found if EXCUSE not in lines[line - 1] or fault.startswith("no text")]


def _of_call(node: ast.AST, known: dict[str, Text]) -> str:
    """What is wrong with a call that says something; empty for nothing."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in SAYERS:
        return ""
    name = node.func.id
    if not node.args or not isinstance(node.args[0], ast.Constant) or not isinstance(node.args[0].value, str):
        return f"{name} needs a literal key"
    key = node.args[0].value
    key = key if "." in key else AREA.get(name, "") + key
    if key not in known:
        return f"no text for {key}"
    if any(keyword.arg is None for keyword in node.keywords):
        return f"{key}: its values are hidden by **"
    given = {str(keyword.arg) for keyword in node.keywords} - OTHER.get(name, set())
    given |= GIVEN.get(name, set()) & values_of(known[key])
    if name == "Full":  # its second argument
        given |= {"place"} & values_of(known[key])
    wanted = values_of(known[key])
    return "" if given == wanted else f"{key} wants {sorted(wanted)} and is given {sorted(given)}"


def _english(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each string that looks like English and is no docstring."""
    docs = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            docs.add(id(body[0].value))
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else None
        if isinstance(text, str) and ENGLISH.search(text) and not MARKUP.search(text):
            yield node.lineno, text  # type: ignore[attr-defined]


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_code_says_nothing_of_its_own(file: Path) -> None:
    assert faults(file.read_text(encoding="utf-8"), dict(words().entries)) == []


def test_every_excuse_is_needed() -> None:
    """A line that is excused has a string that would be found."""
    for file in files():
        source = file.read_text(encoding="utf-8")
        english = {int(fault.split(":")[0]) for fault in faults(source.replace(EXCUSE, "# "), dict(words().entries))}
        excused = {n for n, line in enumerate(source.splitlines(), 1) if EXCUSE in line}
        assert excused <= english, file


KNOWN: dict[str, Text] = {
    "errors.one": "{n} and {m}",
    "loading.all": {"by": "n", "one": "all", "other": "all {n}"},
}


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ('UserError("one", n=1, m=2)', ""),
        ('UserError("one", n=1)', "wants ['m', 'n'] and is given ['n']"),
        ('UserError("one", n=1, m=2, o=3)', "is given ['m', 'n', 'o']"),
        ('UserError("two", n=1)', "no text for errors.two"),
        ("UserError(key, n=1)", "literal key"),
        ('UserError(f"one", n=1)', "literal key"),
        ('UserError("one", **values)', "hidden"),
        ('Said("loading.all", n=1)', ""),
        ('Said("loading.all")', "wants ['n']"),
        ('Unavailable("loading.none", n=1)', "no text for loading.none"),
        ('raise ValueError("it must be 1")', "stands in code"),
        ('raise ValueError("it must be 1")  # not words: a mistake in code', ""),
        ('x = f"{n} tokens are missing"', "stands in code"),
        ('x = f"port {n}"', "stands in code"),
        ('x = {"help": "use only this"}', "stands in code"),
        ('"""A docstring of some words."""\nx = 1  # a comment of some words', ""),
        ('def f():\n    """A docstring of some words."""\n    return "a_key-value"', ""),
    ],
)
def test_the_check_finds_what_it_is_for(code: str, fault: str) -> None:
    found = faults(code, KNOWN)
    assert any(fault in line for line in found) if fault else found == []
