"""What is wrong with the words of any language: asked when the app starts, and in a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from babel import Locale

from gptviz import words as w
from gptviz.marks import MarkError, Part, marked, parse, unparse, values_of
from gptviz.numbers import Text

Entries = Mapping[str, Text]


class WordsError(ValueError):
    """The words of a language cannot be used: one line for each thing that is wrong."""


def check() -> None:
    """WordsError, with every problem, unless all languages are in order."""
    found = list(problems())
    if found:
        raise WordsError("\n".join(found))


def problems() -> Iterator[str]:
    """One line for each text that cannot be read, lacks something, or says other values than the English one."""
    english = dict(w.read(w.LESSONS / w.ENGLISH / "words"))
    yield from of_language(w.ENGLISH, english, english)
    for language in w.languages()[1:]:
        yield from of_language(language, dict(w.read(w.LESSONS / language / "words")), english)


def of_language(language: str, entries: Entries, english: Entries) -> Iterator[str]:
    """The problems of one language's texts."""
    for key in sorted(english.keys() - entries.keys()):
        yield f"{language}: {key} is missing"
    for key in sorted(entries.keys() - english.keys()):
        yield f"{language}: {key} is not a key of the English words"
    for key, text in entries.items():
        where = f"{language}: {key}"
        try:
            yield from _of_text(where, language, text, english)
            if language != w.ENGLISH and key in english:
                yield from _unlike(where, text, english[key])
        except MarkError as error:
            yield f"{where}: {error}"


def _of_text(where: str, language: str, text: Text, english: Entries) -> Iterator[str]:
    for form in forms(text).values():
        for term in marked(parse(form), "term"):
            if f"terms.{term['term']}.means" not in english:
                yield f"{where}: terms.toml has no {term['term']}"
    if isinstance(text, str):
        return
    if not isinstance(text.get("by"), str):
        yield f"{where}: by must name the value that chooses the plural form"
        return
    kind = text.get("type", "cardinal")
    if kind not in ("cardinal", "ordinal"):
        yield f"{where}: type {kind} must be cardinal or ordinal"
        return
    locale = Locale.parse(language, sep="-")
    needed = {*(locale.ordinal_form if kind == "ordinal" else locale.plural_form).tags, "other"}
    have = {name for name in forms(text) if not name.startswith("=")}
    for name in sorted(needed - have):
        yield f"{where}: the plural form {name} is missing"
    for name in sorted(have - needed):
        yield f"{where}: this language has no plural form {name}"


def _unlike(where: str, text: Text, english: Text) -> Iterator[str]:
    """Values, and the states of links, must be those of the English text."""
    if isinstance(text, str) != isinstance(english, str):
        yield f"{where}: has plural forms in one language and not in the other"
        return
    if not isinstance(text, str) and not isinstance(english, str) and text.get("by") != english.get("by"):
        yield f"{where}: by is {text.get('by')}, in English {english.get('by')}"
    here, there = values(text), values(english)
    if here != there:
        yield f"{where}: says the values {sorted(here)}, in English {sorted(there)}"
    if _states(text) != _states(english):
        yield f"{where}: its links set other states than in English"


def forms(text: Text) -> dict[str, str]:
    """The texts by plural form; a text without forms is its own `other`."""
    return {"other": text} if isinstance(text, str) else {k: v for k, v in text.items() if k not in ("by", "type")}


def values(text: Text) -> set[str]:
    """The values of all forms, and the one that chooses the form (`one` and `=0` need not say it)."""
    names = set() if isinstance(text, str) else {text["by"]}
    return names.union(*(values_of(parse(form)) for form in forms(text).values()))


def _states(text: Text) -> Counter[str]:
    parts: list[Part] = parse(forms(text)["other"])
    return Counter(unparse(link["state"]) for link in marked(parts, "link"))
