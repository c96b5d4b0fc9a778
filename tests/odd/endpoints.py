"""Every endpoint of the app as a plain function, without a server."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import gradio as gr

from gptviz import shell
from gptviz.lessons import page
from gptviz.service import Service

WITHOUT_A_MODEL = {"twins", "prefix_toy", "cache_memory"}  # their numbers depend on no loaded model


class Refused(Exception):
    """An endpoint answered with one sentence."""


def endpoints(service: Service) -> dict[str, Callable[..., Any]]:
    """What the app registers, by name: called with keywords; a stream gives its last value. Refused for a UserError."""
    found: dict[str, Callable[..., Any]] = {}

    def register(fn: Callable[..., Any], api_name: str, **_: Any) -> None:
        found[api_name] = _plain(fn)

    with patch.object(page, "gradio_api", register):
        page.api(service.models, "models")
        page.api(shell._tokenize(service), "tokenize")
        for lesson in shell.PAGES:
            lesson.endpoints(service)
    return found


def _plain(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(**given: Any) -> Any:
        bound = inspect.signature(fn).bind(**given)
        bound.apply_defaults()
        try:
            answer = fn(*bound.arguments.values())
            if isinstance(answer, Iterator):
                *_, answer = answer
        except gr.Error as error:
            raise Refused(str(error).strip("'")) from error
        return answer

    return call
