"""Every short text a user can see: by key, in the visitor's language, with its numbers and plurals.

`assets/lessons/LANGUAGE/words/AREA.toml` holds them; a key is AREA.NAME, and a table in the file adds a part
(AREA.TABLE.NAME). marks.py says what may stand inside a text. A table with `other` holds plural forms, chosen by the
value that `by` names:

    [tokens]
    by = "n"                     # type = "ordinal" for 1st, 2nd, 3rd
    "=0" = "no tokens"           # this number exactly; not needed
    one = "{n} token"
    other = "{n} tokens"

English stands in where another language lacks a key. The pseudo-language `qps` is made from English.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from numbers import Real
from pathlib import Path
from typing import Any, TypeGuard

from gptviz.marks import Part, accented, parse
from gptviz.numbers import Numbers, Text
from gptviz.places import LESSONS

ENGLISH = "en"
PSEUDO = "qps"  # a language for tests: whatever shows without ⟦ ⟧ is not from the words
SAID_HERE = ("errors", "loading", "evidence", "prose", "door")  # areas that no script of the page says
# True in tests: a missing key or value raises. Else it shows as itself, so that one lost word never takes a page away.
strict = False
spoken: ContextVar[str] = ContextVar("spoken", default=ENGLISH)  # the language of the visitor who is being answered


class Words:
    """The texts of one language; `entries` are its own, by key, and English ones where it has none."""

    def __init__(self, language: str, entries: Mapping[str, Text]) -> None:
        self.language = language
        self.entries = entries
        texts = {key.removeprefix("numbers."): text for key, text in entries.items() if key.startswith("numbers.")}
        self.numbers = Numbers(ENGLISH if language == PSEUDO else language, texts)

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def text(self, key: str, /, **values: Any) -> str:
        """The text as plain characters: values said, marks taken away. If `strict`, KeyError for what is missing."""
        entry = self.entries.get(key)
        if entry is None:
            if strict:
                raise KeyError(f"no text for {key}")
            return key
        return self.plain(entry if isinstance(entry, str) else self._form(key, entry, values), **values)

    def plain(self, template: str, /, **values: Any) -> str:
        """Any template as plain characters."""
        return "".join(self._said(part, values) for part in _parsed(template))

    def bundle(self, *areas: str) -> dict[str, Text]:
        """Texts for the browser, flat by key: those of these areas and of `numbers` and `terms`.

        Without areas all but the texts that the server says itself.
        """
        wanted = {*areas, "numbers", "terms"}

        def needed(area: str) -> bool:
            return area in wanted if areas else area not in SAID_HERE

        return {k: v for k, v in self.entries.items() if needed(k.split(".", 1)[0])}

    def _form(self, key: str, forms: Mapping[str, str], values: Mapping[str, Any]) -> str:
        """The plural form for the value that `by` names."""
        n = values.get(forms["by"])
        if not _is_number(n):
            if strict:
                raise KeyError(f"{key} needs the number {forms['by']}")
            return forms["other"]
        category = self.numbers.plural(n, ordinal=forms.get("type") == "ordinal")
        return forms.get(f"={n}") or forms.get(category) or forms["other"]

    def _said(self, part: Part, values: Mapping[str, Any]) -> str:
        if isinstance(part, str):
            return part
        if "value" in part:
            return self._value(part, values)
        return "".join(self._said(inner, values) for inner in part["inside"])

    def _value(self, part: dict[str, Any], values: Mapping[str, Any]) -> str:
        name, how = part["value"], part["format"]
        if name not in values:
            if strict:
                raise KeyError(f"the value {name} is missing")
            return "{" + name + "}"
        value = values[name]
        if how == "raw":
            return str(value)
        if how == "list":
            separator = self.entries.get("numbers.list_separator", ", ")
            return str(separator).join(self._bare(item) for item in value)
        if not how or not _is_number(value):
            return self._bare(value)
        if how == "decimal":
            return self.numbers.decimal(value, part["digits"])
        return str(getattr(self.numbers, how)(value))

    def _bare(self, value: Any) -> str:
        """A value without a format: a number as people say it, a text by key in this language, all else as it is."""
        if isinstance(value, Said):
            return value.text(self.language)
        return self.numbers.number(value) if _is_number(value) else str(value)


class Said(str):
    """A text with its key and values: English as a string, and able to be said in the language of each reader.

    `Said("loading.from_hub")`, `Said("loading.asking_hub", name="gpt2")`; a value may itself be one.
    """

    key: str
    values: dict[str, Any]

    def __new__(cls, key: str, /, **values: Any) -> Said:
        said = super().__new__(cls, words().text(key, **values))
        said.key, said.values = key, values
        return said

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(Said, self.key, **self.values), ()

    def text(self, language: str = ENGLISH) -> str:
        """The text in one of the languages that `choose` gives."""
        return words(language).text(self.key, **self.values)

    def each(self, change: Callable[[str], str]) -> Said:
        """The same text with its strings changed, also those inside others."""
        return Said(self.key, **{name: _changed(value, change) for name, value in self.values.items()})


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, Said):
        return value.each(change)
    if isinstance(value, list):
        return [_changed(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


@functools.lru_cache(maxsize=8)
def words(language: str = ENGLISH) -> Words:
    """The texts of a language that `choose` gave, read once; ValueError for any other."""
    if language != PSEUDO and language not in languages():
        raise ValueError(f"there are no words in {language!r}")
    english = dict(read(LESSONS / ENGLISH / "words"))
    if language == PSEUDO:
        return Words(language, {key: _pseudo(text) for key, text in english.items()})
    own = {} if language == ENGLISH else dict(read(LESSONS / language / "words"))
    return Words(language, {**english, **own})


def read(folder: Path) -> Iterator[tuple[str, Text]]:
    """All (key, text) of the .toml files in a folder."""
    for file in sorted(folder.glob("*.toml")):
        yield from _flat(file.stem, tomllib.loads(file.read_text(encoding="utf-8")))


def _flat(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Text]]:
    for name, value in table.items():
        key = f"{prefix}.{name}"
        if isinstance(value, Mapping) and "other" not in value:
            yield from _flat(key, value)
        else:
            yield key, value


def _pseudo(text: Text) -> Text:
    if isinstance(text, str):
        return accented(text)
    return {name: form if name in ("by", "type") else accented(form) for name, form in text.items()}


@functools.lru_cache(maxsize=4096)
def _parsed(template: str) -> tuple[Part, ...]:
    return tuple(parse(template))


@functools.cache
def languages() -> tuple[str, ...]:
    """The languages that have words, English first."""
    found = {folder.parent.name for folder in LESSONS.glob("*/words")}
    return (ENGLISH, *sorted(found - {ENGLISH}))


def choose(asked: str | None, accepted: str | None) -> str:
    """The visitor's language: what the address asks for, else what the browser prefers, else English.

    `asked` is the value of `?lang=`, `accepted` the Accept-Language header; either may be anything at all.
    """
    if asked and asked.lower() == PSEUDO:
        return PSEUDO
    for wish in [asked or "", *_preferences(accepted or "")]:
        found = _available(wish)
        if found:
            return found
    return ENGLISH


def _available(wish: str) -> str | None:
    """The language itself, or the same without its region: de for de-CH."""
    known = {name.lower(): name for name in languages()}
    tag = wish.strip().lower().replace("_", "-")
    while tag:
        if tag in known:
            return known[tag]
        tag = tag.rpartition("-")[0]
    return None


def _preferences(header: str) -> list[str]:
    """The tags of an Accept-Language header, most wanted first; what is not one is left out."""
    wanted: list[tuple[float, str]] = []
    for item in header[:1000].split(","):
        found = re.fullmatch(r"\s*([A-Za-z0-9-]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?", item)
        if found and float(found.group(2) or 1) > 0:
            wanted.append((-float(found.group(2) or 1), found.group(1)))
    return [tag for _, tag in sorted(wanted, key=lambda pair: pair[0])]
