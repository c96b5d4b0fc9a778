r"""The marks inside a text, read the same here and in widgets/kit/words.js.

    {name}  {p:percent}  {x:decimal 2}    a number, said as numbers.py says it; words as they are
    **strong**  *emphasis*  `{token}`     a token in its own dress; nothing but text and values inside
    [open all](state: open=all)           a link that sets the stage's state; {values} in the state stay raw
    ((residual stream))  ((heads|head))   a term with its definition: the words shown, then its key in terms.toml
    \{ \} \* \` \[ \] \( \\               the character itself

A text is read into a list of parts: strings and dicts, the same as JSON in both languages.
"""

from __future__ import annotations

import re
from typing import Any

Part = str | dict[str, Any]
SPECIAL = "\\{}*`[]("
VALUE = re.compile(r"\{([a-z_][a-z0-9_]*)(?::([a-z_]+)(?: (\d+))?)?\}")
STATE = re.compile(r"\(state: ([^()]+)\)")
TERM = re.compile(r"\(\((.+?)(?:\|([a-z][a-z0-9_]*))?\)\)")
TOKEN = re.compile(r"`([^`]+)`")
KEY = re.compile(r"[a-z][a-z0-9_]*")
FORMATS = (
    "percent",
    "chance",
    "exact",
    "decimal",
    "delta",
    "number",
    "whole",
    "ordinal",
    "times",
    "bytes",
    "bytes_exact",
    "seconds",
    "list",
    "raw",
)
ACCENTS = str.maketrans("aceinosuyzACEINOSUYZ", "àçéîñöšûýžÀÇÉÎÑÖŠÛÝŽ")


class MarkError(ValueError):
    """A text whose marks do not fit each other: what is wrong, and where."""


class Reader:
    """Reads one text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def parts(self, until: str = "") -> list[Part]:
        """Everything up to the mark that closes this part, or to the end."""
        found: list[Part] = []
        while self.at < len(self.text):
            if until and self.text.startswith(until, self.at):
                self.at += len(until)
                return self.filled(found, until)
            part = self.next()
            if isinstance(part, str) and found and isinstance(found[-1], str):
                found[-1] += part
            else:
                found.append(part)
        if until:
            raise self.wrong(f"no {until} closes this part")
        return found

    def next(self) -> Part:
        """The next character, value or marked part."""
        here = self.text[self.at]
        if here == "\\":
            return self.escaped()
        if here == "{":
            return self.value()
        if here == "*":
            return self.emphasis()
        if here == "`":
            return self.token()
        if here == "[":
            return self.link()
        if self.text.startswith("((", self.at):
            return self.term()
        if here in "}]":
            raise self.wrong(f"{here} closes nothing")
        self.at += 1
        return here

    def escaped(self) -> str:
        character = self.text[self.at + 1 : self.at + 2]
        if not character or character not in SPECIAL:
            raise self.wrong(f"a backslash stands only before one of {SPECIAL}")
        self.at += 2
        return character

    def value(self) -> Part:
        name, how, digits = self.match(VALUE, "a value is {name} or {name:format}").groups()
        if how and how not in FORMATS:
            raise self.wrong(f"there is no format {how}")
        if (how == "decimal") != (digits is not None):
            raise self.wrong("decimal, and no other format, has a number of digits, as in {x:decimal 2}")
        return {"value": name, "format": how or "", "digits": int(digits or 0)}

    def emphasis(self) -> Part:
        strong = self.text.startswith("**", self.at)
        mark = "**" if strong else "*"
        self.at += len(mark)
        return {"mark": "strong" if strong else "em", "inside": self.parts(mark)}

    def token(self) -> Part:
        inside = self.match(TOKEN, "no ` closes this token").group(1)
        return {"mark": "token", "inside": _plain(inside)}

    def link(self) -> Part:
        self.at += 1
        inside = self.parts("]")
        state = self.match(STATE, "a link is [words](state: name=value)").group(1)
        return {"mark": "link", "inside": inside, "state": _plain(state)}

    def term(self) -> Part:
        words, key = self.match(TERM, "a term is ((words)) or ((words|key))").groups()
        key = key or re.sub(r"[ -]", "_", words.lower())
        if not KEY.fullmatch(key):
            raise self.wrong(f"{words} needs its key, as in (({words}|key))")
        return {"mark": "term", "inside": [words], "term": key}

    def match(self, pattern: re.Pattern[str], rule: str) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self.wrong(rule)
        self.at = found.end()
        return found

    def filled(self, found: list[Part], until: str) -> list[Part]:
        if not found:
            raise self.wrong(f"nothing stands before this {until}")
        return found

    def wrong(self, what: str) -> MarkError:
        return MarkError(f"{what}, at character {self.at + 1}")


def parse(text: str) -> list[Part]:
    """The parts of a text; MarkError where its marks do not fit."""
    return Reader(text).parts()


def _plain(text: str) -> list[Part]:
    """Text and values only, as in a token or a state: other marks are characters there."""
    parts: list[Part] = []
    at = 0
    for found in VALUE.finditer(text):
        if found.start() > at:
            parts.append(text[at : found.start()])
        parts.append(Reader(found.group()).value())
        at = found.end()
    if at < len(text):
        parts.append(text[at:])
    return parts


def values_of(parts: list[Part]) -> set[str]:
    """The names of all values in a text."""
    names: set[str] = set()
    for part in parts:
        if isinstance(part, dict):
            names |= {part["value"]} if "value" in part else values_of([*part["inside"], *part.get("state", [])])
    return names


def marked(parts: list[Part], mark: str) -> list[dict[str, Any]]:
    """All parts with one mark, in order, those inside others too."""
    found: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, dict) and "mark" in part:
            found += [part] if part["mark"] == mark else []
            found += marked(part["inside"], mark)
    return found


def unparse(parts: list[Part]) -> str:
    """The text that reads as these parts."""
    return "".join(_mark(part) if isinstance(part, dict) else escape(part) for part in parts)


def escape(text: str) -> str:
    """A text as a template that shows just that."""
    return re.sub(r"[\\{}*`\[\](]", r"\\\g<0>", text)


def _mark(part: dict[str, Any]) -> str:
    if "value" in part:
        digits = f" {part['digits']}" if part["format"] == "decimal" else ""
        return "{" + part["value"] + (f":{part['format']}{digits}" if part["format"] else "") + "}"
    if part["mark"] == "token":
        return "`" + "".join(p if isinstance(p, str) else _mark(p) for p in part["inside"]) + "`"
    if part["mark"] == "term":
        return f"(({part['inside'][0]}|{part['term']}))"
    inside = unparse(part["inside"])
    if part["mark"] == "link":
        state = "".join(p if isinstance(p, str) else _mark(p) for p in part["state"])
        return f"[{inside}](state: {state})"
    around = "**" if part["mark"] == "strong" else "*"
    return around + inside + around


def accented(text: str) -> str:
    """A text in the pseudo-language: letters with accents, brackets round it; values, tokens and states as they were.

    Whatever stands on a page without brackets has not come from the words.
    """
    parts = parse(text)
    if not any(c.isalpha() for c in text):
        return text
    return "⟦" + unparse(_accented(parts)) + "⟧"


def _accented(parts: list[Part]) -> list[Part]:
    changed: list[Part] = []
    for part in parts:
        if isinstance(part, str):
            changed.append(part.translate(ACCENTS))
        elif "value" in part or part["mark"] == "token":
            changed.append(part)
        else:
            changed.append({**part, "inside": _accented(part["inside"])})
    return changed
