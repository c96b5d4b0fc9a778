"""The one error a user is meant to read."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from gptviz.words import ENGLISH, Said

MOST_SHOWN = 60  # characters of a bad value that an error repeats
LARGEST = 2**53  # above it a float, and so a browser, no longer holds every whole number


class UserError(ValueError):
    """A bad value from the user: one sentence naming the parameter, the value and what is allowed.

    `UserError("whole_between", name="layer", value=99, low=0, high=11)` takes its sentence from `errors.whole_between`
    of the words, in any language; a key with a dot is one of another area. `str(error)` is the English sentence. What
    was typed is cut short there, and what is called `value` stands in quotes if it is a string.
    """

    def __init__(self, key: str, /, **values: Any) -> None:
        whole = key if "." in key else f"errors.{key}"
        self.said = Said(whole, **{name: _shown(name, v) for name, v in values.items()})  # not words: the caller's key
        super().__init__(self.said)

    @staticmethod
    def of(notes: Sequence[Said]) -> UserError:
        """The error that says these sentences, one after the other."""
        return _error(_in_a_row(notes))

    def __reduce__(self) -> tuple[Any, ...]:
        return _error, (self.said,)

    def sentence(self, language: str = ENGLISH) -> str:
        """The sentence in one of the languages that `words.choose` gives."""
        return self.said.text(language)


def _error(said: Said) -> UserError:
    error = UserError.__new__(UserError, str(said))
    error.said = said
    return error


def _in_a_row(notes: Sequence[Said]) -> Said:
    first, *rest = notes
    return Said("errors.then", first=first, rest=_in_a_row(rest)) if rest else first


def _shown(name: str, value: Any) -> Any:
    """Numbers and texts by key as they are, so that each language can say them; all else cut short."""
    if isinstance(value, Said):
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        return Said("errors.huge") if isinstance(value, int) and abs(value) > LARGEST else value
    if name == "value":
        return quoted(value)
    if isinstance(value, list | tuple | set | frozenset | range):
        return [_shown("", item) for item in value]
    return brief(value)


def quoted(value: object) -> str:
    """A bad value as an error repeats it: a string in quotes, all else as Python writes it."""
    return f'"{brief(value)}"' if isinstance(value, str) else brief(repr(value))


def brief(value: object) -> str:
    """A bad value as an error repeats it: at most 60 characters, and none that cannot be seen or sent."""
    text = str(value)
    cut = text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut)
