"""Every key that the code names has a text, and every text is named by the code.

A key stands in quotes: text("mask.title"), phrase("mask.sentence"), data-words, UserError("one_of"). Where it is put
together while the page runs, a comment in that file says which keys it can be: // words: mask.sentence_*
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from gptviz.words import words

CODE = Path(__file__).parents[2] / "gptviz"
# Texts that are there before the code that says them.
WAITING: dict[str, str] = {}
SAYS = re.compile(
    r"""(?:(?<![\w.])(?:words\.)?(?:text|phrase|has)|\.\.\.phrase|\.say)\(\s*(?:[^"'`(),]+\?\s*)?["'`]([^"'`$]+)["'`]"""
)
SAYS_SOME = re.compile(
    r"""(?:(?<![\w.])(?:words\.)?(?:text|phrase)|(?<!\.on)\.say)\(\s*(?![^(),\n]+\?)(?:[^"'`\s)]|`[^`]*\$\{|["'][^"']*["']\s*\+)"""
)
QUOTED = re.compile(r"""["'`]([a-z_]+\.[a-z0-9_.]+)["'`]""")
DATA_WORDS = re.compile(r"""data-words["']?\s*[=:,]\s*["']([^"']+)["']|dataset\.words\s*=\s*["']([^"']+)["']""")
IN_PYTHON = re.compile(r"""\.text\(\s*["']([a-z0-9_]+(?:\.[a-z0-9_]+)+)["']""")
RAISES = re.compile(r"""(?:UserError|Full|Unavailable|Said|sentence)\(\s*["']([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)["']""")
COMMENT = re.compile(r"(?://|#|\*) words: (.+)")
OWN = CODE / "widgets" / "kit" / "words.js"


def scripts(root: Path) -> Iterator[Path]:
    """The scripts in rooms of their own; those of the flat folder have no words yet."""
    yield from sorted((root / "widgets").glob("*/**/*.js"))


def without_comments(text: str, suffix: str) -> str:
    """Whole lines of comment say nothing to the page."""
    comment = r"\s*#" if suffix == ".py" else r"\s*(//|/?\*)"
    return "\n".join("" if re.match(comment, line) else line for line in text.splitlines())


def used(root: Path) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """({key: file}, {pattern: file}, files that put keys together and do not say which)."""
    keys: dict[str, str] = {}
    patterns: dict[str, str] = {}
    silent: list[str] = []
    for file in [*scripts(root), *sorted(root.rglob("*.py"))]:
        raw = file.read_text(encoding="utf-8")
        name, text = str(file.relative_to(root)), without_comments(raw, file.suffix)
        said = [p for line in COMMENT.findall(raw) for p in re.split(r"[,\s]+", line.strip()) if "." in p]
        patterns |= dict.fromkeys(said, name)
        if file.suffix == ".py":
            keys |= dict.fromkeys(IN_PYTHON.findall(text), name)
            keys |= {key if "." in key else f"errors.{key}": name for key in RAISES.findall(text)}
            continue
        keys |= {one or other: name for one, other in DATA_WORDS.findall(text)}
        if re.search(r"""from ["'][^"']*\bwords\.js["']""", text):
            keys |= dict.fromkeys(SAYS.findall(text), name)
            if SAYS_SOME.search(text) and not said and not name.endswith("kit/stage.js"):  # says what pages give it
                silent.append(name)
    return keys, patterns, silent


def faults(root: Path, known: set[str], waiting: set[str]) -> list[str]:
    """One line for each key without a text, each text without a use, and each file that hides its keys."""
    keys, patterns, silent = used(root)
    whole = "\n".join(without_comments(file.read_text(encoding="utf-8"), ".js") for file in scripts(root))
    keys |= dict.fromkeys(set(QUOTED.findall(whole)) & known, "")  # chosen in one place, said in another
    found = [f"{file}: no text for {key}" for key, file in sorted(keys.items()) if key not in known]
    found += [f"{file}: puts keys together and does not say which" for file in silent]
    for pattern, file in sorted(patterns.items()):
        if not any(fnmatchcase(key, pattern) for key in known):
            found.append(f"{file}: no text fits {pattern}")
    unused = [k for k in sorted(known - keys.keys()) if not any(fnmatchcase(k, pattern) for pattern in patterns)]
    found += [f"{key} is said nowhere" for key in unused if not any(fnmatchcase(key, w) for w in waiting)]
    found += [f"{w} no longer waits" for w in sorted(waiting) if not any(fnmatchcase(key, w) for key in unused)]
    return found


def test_every_key_has_a_text_and_every_text_a_use() -> None:
    assert faults(CODE, set(words().entries), set(WAITING)) == []


HEAD = 'import { text, phrase } from "../kit/words.js";\n'


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        (HEAD + 'text("a.one"); text("a.two")', ""),
        (HEAD + 'text("a.one"); phrase("a.none", {})', "no text for a.none"),
        (HEAD + 'text("a.one"); words.has("a.two"); names.has("a.three"); answer.text()', ""),
        (HEAD + 'text("a.one"); // text("a.two")', ""),
        (HEAD + 'text("a.one");\n// text("a.two")', "a.two is said nowhere"),
        (HEAD + "text(key)", "does not say which"),
        (HEAD + "text(`a.${kind}`)", "does not say which"),
        (HEAD + 'text("a." + kind)', "does not say which"),
        (HEAD + "// words: a.o* a.two\ntext(`a.${kind}`)", ""),
        (HEAD + "// words: a.*, b.*\ntext(`a.${kind}`)", "no text fits b.*"),
        ("text(key); el('p', { 'data-words': 'a.one' }); node.dataset.words = 'a.two'", ""),
        ("<p data-words='a.one'> 'data-words': 'a.three'", "no text for a.three"),
    ],
)
def test_the_check_finds_what_it_is_for(tmp_path: Path, script: str, fault: str) -> None:
    folder = tmp_path / "widgets" / "mask"
    folder.mkdir(parents=True)
    (folder / "stage.js").write_text(script, encoding="utf-8")
    found = faults(tmp_path, {"a.one", "a.two"}, set())
    assert any(fault in line for line in found) if fault else found == []


def test_the_check_reads_python_too(tmp_path: Path) -> None:
    code = 'raise UserError("one", n=1)\nraise UserError("layer is 9; layers are 0 to 3.")\nwords(x).text("a.two")'
    (tmp_path / "x.py").write_text(code, encoding="utf-8")
    assert faults(tmp_path, {"errors.one", "a.two"}, set()) == []
    assert faults(tmp_path, {"a.two", "b.c"}, {"b.*"}) == ["x.py: no text for errors.one"]
    assert faults(tmp_path, {"errors.one", "a.two"}, {"b.*"}) == ["b.* no longer waits"]
