"""What all pages share: prose from files, errors as sentences, and how a page answers a prompt."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

import gradio as gr
from gradio.components import Component
from gradio.events import api as gradio_api

from gptviz.decoder.errors import UserError, brief

PROSE = Path(__file__).resolve().parents[2] / "assets" / "lessons" / "en"
F = TypeVar("F", bound=Callable[..., Any])
LARGEST = 2**53  # above it a float, and so a browser, no longer holds every whole number
NO_LAYERS: list[int] = []  # the default of `open_layers`; never changed
Asked = dict[str, str]  # {"text": …, "model": …}: the prompt that was asked for last, in this browser


@dataclass
class Page:
    """A built page: the components it fills, and what fills them for a prompt.

    `show(asked)` returns {component: value} for some or all of `outputs`, or yields such dicts one after another.
    """

    outputs: list[Component] = field(default_factory=list)
    show: Callable[[Asked], dict[Any, Any] | Iterator[dict[Any, Any]]] = lambda asked: {}


@functools.cache
def prose(name: str) -> dict[str, str]:
    """The parts of `assets/lessons/en/NAME.md`: one entry for each `## heading`, Markdown inside."""
    text = (PROSE / f"{name}.md").read_text(encoding="utf-8")
    parts = re.split(r"^## +(.+)$", text, flags=re.MULTILINE)
    return {key.strip(): body.strip() for key, body in zip(parts[1::2], parts[2::2], strict=True)}


def lines(text: str) -> list[str]:
    """The items of a Markdown list, as plain strings."""
    return [line[2:].strip() for line in text.splitlines() if line.startswith("- ")]


def question(words: dict[str, str]) -> gr.Markdown:
    """The page's one question and the sentence under it (parts `question` and `lede`)."""
    return gr.Markdown(f"# {words['question']}\n\n{words['lede']}", elem_classes="gv-q")


def heading(title: str, sentence: str = "") -> gr.Markdown:
    """A section's heading on a page with several parts."""
    return gr.Markdown(f"## {title}\n\n{sentence}", elem_classes="gv-h2")


def story(text: str) -> gr.Markdown:
    """The prose below the picture, in two columns where there is room."""
    return gr.Markdown(text, elem_classes="gv-prose", latex_delimiters=[])


def guess(words: dict[str, str], part: str = "guess") -> dict[str, Any]:
    """The value of a predict widget from prose: first paragraph the question, list items the options."""
    text = words[part]
    return {"question": text.split("\n- ", 1)[0].strip(), "options": lines(text)}


def sentences(fn: F) -> F:
    """Turn a UserError of a handler or endpoint (plain or generator) into the one sentence the user sees."""
    if inspect.isgeneratorfunction(fn):

        @functools.wraps(fn)
        def stream(*args: Any, **kwargs: Any) -> Iterator[Any]:
            try:
                yield from fn(*args, **kwargs)
            except UserError as error:
                raise gr.Error(str(error), print_exception=False) from error

        return cast(F, stream)

    @functools.wraps(fn)
    def once(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except UserError as error:
            raise gr.Error(str(error), print_exception=False) from error

    return cast(F, once)


def integer(name: str, value: Any) -> int:
    """A whole number from a client. UserError for anything else."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not abs(value) <= LARGEST
        or value != int(value)
    ):
        raise UserError(
            f"{name} is {quoted(value)}; it must be a whole number{' of at most 16 digits' * _huge(value)}."
        )
    return int(value)


def quoted(value: Any) -> str:
    """A value as an error sentence repeats it: strings in quotes, nothing longer than a line."""
    if _huge(value):
        return "a number of more than 16 digits"
    return f'"{brief(value)}"' if isinstance(value, str) else brief(repr(value))


def _huge(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > LARGEST


def argument(name: str, value: Any, hint: Any) -> Any:
    """One argument of an endpoint, of the type its signature states. UserError for any other."""
    if hint is int:
        return integer(name, value)
    if hint is float and value in ("nan", "inf", "-inf"):  # as a JSON client has to write these numbers
        raise UserError(f"{name} is {value}; it must be a finite number.")
    if hint is float and (isinstance(value, bool) or not isinstance(value, int | float) or _huge(value)):
        raise UserError(f"{name} is {quoted(value)}; it must be a number.")
    if hint is str and not isinstance(value, str):
        raise UserError(f"{name} is {quoted(value)}; it must be a string.")
    if hint is bool and not isinstance(value, bool):
        raise UserError(f"{name} is {quoted(value)}; it must be true or false.")
    if hint == list[int]:
        if not isinstance(value, list):
            raise UserError(f"{name} is {quoted(value)}; it must be a list of whole numbers.")
        return [integer(f"an item of {name}", item) for item in value]
    return value


def api(fn: Callable[..., Any], name: str, *, limit: int | None = None) -> None:
    """Register an endpoint; equal names share nothing, and every error a user can cause is one sentence."""
    hints, signature = get_type_hints(fn), inspect.signature(fn)

    def arguments(args: tuple[Any, ...]) -> dict[str, Any]:
        given = signature.bind(*args)
        given.apply_defaults()
        return {key: argument(key, value, hints.get(key)) for key, value in given.arguments.items()}

    if inspect.isgeneratorfunction(fn):

        @functools.wraps(fn)
        def call(*args: Any) -> Any:
            yield from fn(**arguments(args))
    else:

        @functools.wraps(fn)
        def call(*args: Any) -> Any:
            return fn(**arguments(args))

    gradio_api(sentences(call), api_name=name, concurrency_limit=limit, concurrency_id=f"api-{name}")


def fields(asked: Any, *names: str) -> list[Any]:
    """The named values of what a widget sent to a server function. UserError when one is missing."""
    if not isinstance(asked, dict) or any(name not in asked for name in names):
        raise UserError(f"The request must be an object with {', '.join(names)}.")
    return [asked[name] for name in names]


def answered(fn: F) -> F:
    """For a widget's server function, which has no error channel: a UserError becomes {"error": sentence}."""

    @functools.wraps(fn)
    def safe(asked: Any) -> Any:
        try:
            return fn(asked)
        except UserError as error:
            return {"error": str(error)}

    return cast(F, safe)
