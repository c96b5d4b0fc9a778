"""Every endpoint of the app as a plain function, without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gptviz import shell
from gptviz.decoder.errors import UserError
from gptviz.lessons.questions import Question
from gptviz.service import Service
from gptviz.service.wire import as_json

WITHOUT_A_MODEL = {"twins", "prefix_toy", "cache_memory", "swap"}  # their numbers depend on no loaded model


class Refused(Exception):
    """An endpoint answered with one sentence."""


def endpoints(service: Service) -> dict[str, Callable[..., Any]]:
    """What programs may ask, by name: called with keywords; a stream gives its last value. Refused for a UserError."""
    return {question.name: _plain(question) for question in shell.build(service).questions if question.public}


def _plain(question: Question) -> Callable[..., Any]:
    def call(**given: Any) -> Any:
        try:
            answer = question.ask(given)
            if isinstance(answer, Iterator):
                *_, answer = map(as_json, answer)
        except UserError as error:
            raise Refused(str(error)) from error
        return as_json(answer)

    return call
