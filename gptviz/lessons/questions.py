"""What may be asked: one typed description of each question serves the endpoint, the page and the checks."""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from gptviz.decoder.errors import UserError
from gptviz.lessons.described import default_text
from gptviz.words import Said

LARGEST = 2**53  # above it a float, and so a browser, no longer holds every whole number
NO_LAYERS: list[int] = []  # the default of `open_layers`; never changed
Direction = Literal["causal", "none", "wrong_way", "blocks"]  # what an opened layer reads
Method = Literal["truncate", "edit"]  # how what comes later is changed


@dataclass(frozen=True)
class Question:
    """A function with typed parameters that the page may ask, and programs too where it is `public`.

    A generator function streams its values. `limit` bounds how many may run at once (None: no bound).
    """

    name: str
    fn: Callable[..., Any]
    public: bool = True
    limit: int | None = None
    _hints: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._hints.update(get_type_hints(self.fn))

    @property
    def streams(self) -> bool:
        """True when the answer comes in several values, the last of which is the whole."""
        return inspect.isgeneratorfunction(self.fn)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The function's own; a public question reads the first example where it is given no text."""
        found = inspect.signature(self.fn)
        needed = [name for name, p in found.parameters.items() if p.default is p.empty]
        if not self.public or needed != ["text"]:
            return found
        filled = {**found.parameters, "text": found.parameters["text"].replace(default=default_text())}
        return found.replace(parameters=list(filled.values()))

    def checked(self, given: Any) -> dict[str, Any]:
        """The arguments, each of the type that the signature states. UserError for a missing, unknown or wrong one."""
        if not isinstance(given, dict):
            raise UserError("no_arguments", question=self.name)
        known = self.signature.parameters
        for name in given:
            if name not in known:
                raise UserError("unknown_argument", value=name, question=self.name, known=list(known))
        for name, parameter in known.items():
            if name not in given and parameter.default is inspect.Parameter.empty:
                raise UserError("missing_argument", name=name, question=self.name)
        return {name: argument(name, value, self._hints.get(name, Any)) for name, value in given.items()}

    def ask(self, given: Any) -> Any:
        """The answer, or an iterator of answers. UserError for bad arguments."""
        checked = self.checked(given)
        for name, parameter in self.signature.parameters.items():
            checked.setdefault(name, parameter.default)
        return self.fn(**checked)


# Arguments


def argument(name: str, value: Any, hint: Any) -> Any:
    """One argument, of the type its signature states. UserError for any other."""
    origin = get_origin(hint)
    if hint in (Any, inspect.Parameter.empty):
        return value
    if origin in (Union, types.UnionType):
        rest = [h for h in get_args(hint) if h is not type(None)]
        return None if value is None else argument(name, value, rest[0])
    if origin is Literal:
        return _choice(name, value, get_args(hint))
    if origin is list:
        if not isinstance(value, list):
            raise UserError("list", name=name, value=value)
        return [argument(Said("errors.item", name=name), item, get_args(hint)[0]) for item in value]
    return _PLAIN[hint](name, value)


def _choice(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    if not isinstance(value, type(allowed[0])) or value not in allowed:
        raise UserError("one_of", name=name, value=value, allowed=allowed)
    return value


def integer(name: str, value: Any) -> int:
    """A whole number from a client. UserError for anything else."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
    if not fits or value != int(value):
        if _huge(value):
            raise UserError("whole_short", name=name, value=value)
        raise UserError("whole", name=name, value=value)
    return int(value)


def _number(name: str, value: Any) -> float:
    if value in ("nan", "inf", "-inf"):  # as a JSON client has to write these numbers
        raise UserError("finite", name=name, value=float(value))
    if isinstance(value, bool) or not isinstance(value, int | float) or _huge(value):
        raise UserError("number", name=name, value=value)
    if not math.isfinite(value):
        raise UserError("finite", name=name, value=value)
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UserError("string", name=name, value=value)
    return value


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UserError("truth", name=name, value=value)
    return value


_PLAIN: dict[Any, Callable[[str, Any], Any]] = {int: integer, float: _number, str: _text, bool: _truth}


def _huge(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > LARGEST
