"""What of a page stands in its address: each field's name, kind and limits, checked here and again in the browser."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from gptviz.decoder.errors import UserError
from gptviz.words import Said


@dataclass(frozen=True)
class Field:
    """One value of the address.

    Kinds: "int", "float" (low to high), "choice" (one of `choices`), "text" (up to 200 characters), "layers" ("", "3",
    "3,7", "all", or "middle" for the one in the middle of any model), "head" ("8.3"), "heads" ("8.3,24.4"), "yes" (true
    or false). Limits that depend on the model are the page's to check.
    """

    name: str
    kind: str
    default: Any
    low: float = 0
    high: float = math.inf
    choices: tuple[str, ...] = ()

    def read(self, text: str) -> Any:
        """The value that a text in the address or in a step's state stands for. UserError when it is none."""
        value = _READ[self.kind](self, text.strip())
        if value is None:
            raise UserError("field", name=self.name, value=text, allowed=self.allowed())
        return value

    def allowed(self) -> Said:
        """What is allowed, as the end of a sentence."""
        if self.kind == "choice":
            return Said("errors.field_choice", allowed=list(self.choices))
        if self.kind == "int" and self.high == math.inf:
            return Said("errors.field_whole_from", low=self.low)
        if self.kind == "int":
            return Said("errors.field_whole", low=self.low, high=self.high)
        if self.kind == "float" and self.high == math.inf:
            return Said("errors.field_number_from", low=self.low)
        if self.kind == "float":
            return Said("errors.field_number", low=self.low, high=self.high)
        return _ALLOWED[self.kind]()

    def as_json(self) -> dict[str, Any]:
        """For the browser, which has no infinity in JSON."""
        limits = {"low": self.low} | ({} if self.high == math.inf else {"high": self.high})
        return {"kind": self.kind, "default": self.default, "choices": list(self.choices), **limits}


def _int(field: Field, text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?\d{1,15}", text) and field.low <= int(text) <= field.high else None


def _float(field: Field, text: str) -> float | None:
    fits = re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", text) and field.low <= float(text) <= field.high
    return float(text) if fits else None


def _choice(field: Field, text: str) -> str | None:
    return text if text in field.choices else None


def _text(_: Field, text: str) -> str | None:
    return text if len(text) <= 200 else None


def _layers(_: Field, text: str) -> str | None:
    return text if text in ("", "all", "middle") or re.fullmatch(r"\d{1,4}(,\d{1,4}){0,255}", text) else None


def _head(_: Field, text: str) -> str | None:
    return text if text == "" or re.fullmatch(r"\d{1,4}\.\d{1,4}", text) else None


def _heads(_: Field, text: str) -> str | None:
    return text if text == "" or re.fullmatch(r"\d{1,4}\.\d{1,4}(,\d{1,4}\.\d{1,4}){0,999}", text) else None


def _yes(_: Field, text: str) -> bool | None:
    return {"yes": True, "1": True, "no": False, "0": False}.get(text)


_ALLOWED = {
    "text": lambda: Said("errors.field_text", most=200),
    "layers": lambda: Said("errors.field_layers"),
    "head": lambda: Said("errors.field_head"),
    "heads": lambda: Said("errors.field_heads"),
    "yes": lambda: Said("errors.field_yes"),
}

_READ = {
    "int": _int,
    "float": _float,
    "choice": _choice,
    "text": _text,
    "layers": _layers,
    "head": _head,
    "heads": _heads,
    "yes": _yes,
}
