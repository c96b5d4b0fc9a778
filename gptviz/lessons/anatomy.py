"""The anatomy page: every box with its shape and size, positions, the stream, the token table, the code, the family."""

from __future__ import annotations

from typing import Any

import gradio as gr

from gptviz.lab.looking import twice
from gptviz.lessons import anatomy_values as values
from gptviz.lessons.page import Asked, Page, answered, api, fields, heading, integer, prose, question, sentences
from gptviz.lessons.page import story as prose_story
from gptviz.lessons.training import LIVE, LONGEST, part
from gptviz.service import Service
from gptviz.service.wire import as_json
from gptviz.widgets import widget

KEY, TAB = "anatomy", "Anatomy"


def build(service: Service, asked: gr.State) -> Page:
    """Lay the page out."""
    words = prose(KEY)
    question(words)
    ask = widget("predict", label="Guess before you look")
    boxes = widget("scheme", label="The model as boxes")
    heading(*part(words, "positions"))
    places = widget("positionnorms", label="Positions")
    example = widget("positionnorms", label="A learned position table, for comparison")
    heading(*part(words, "stream"))
    stream_ask = widget("predict", label="Guess before you look")
    stream = widget("streamnorms", label="Lengths in the residual stream")
    heading(*part(words, "tokens"))
    token = widget("tokenvector", label="Token in, token out", server=[near_server(service)])
    heading(*part(words, "sources"))
    code = widget("sources", label="Two implementations", value=values.code_value(words, None))
    heading(*part(words, "family"))
    widget("family", label="The family", value=values.family_value(words))
    heading(*part(words, "calculator"))
    widget("calculator", label="Parameter calculator", value=values.presets(), server=[count_server()])
    heading(*part(words, "quiz"))
    quiz = widget("quiz", label="Check yourself")
    prose_story(words["story"].format(**values.story_numbers()))
    _wire(service, words, asked, ask, boxes, stream_ask, stream, code)

    def show(now: Asked) -> dict[Any, Any]:
        decoder, ids = service.encode(now["text"], now["model"])
        return {
            boxes: values.scheme_value(service, words, decoder, len(ids)),
            ask: values.part_guess(service, words, decoder),
            places: values.positions_value(service, words, decoder, len(ids)),
            example: values.example_value(service, words, decoder),
            stream_ask: values.stream_guess(service, words, now),
            stream: values.stream_value(service, now),
            token: values.tokens_value(service, decoder, ids),
            code: values.code_value(words, None),
            quiz: values.quiz_value(service, words, decoder),
        }

    return Page([boxes, ask, places, example, stream_ask, stream, token, code, quiz], show)


def _wire(
    service: Service,
    words: dict[str, str],
    asked: gr.State,
    ask: gr.HTML,
    boxes: gr.HTML,
    stream_ask: gr.HTML,
    stream: gr.HTML,
    code: gr.HTML,
) -> None:
    """A guess uncovers its picture; the button of the code runs the comparison."""
    options: dict[str, Any] = {"concurrency_limit": None, **LIVE}

    def uncover(now: Asked) -> dict[str, Any]:
        decoder, ids = service.encode(now["text"], now["model"])
        return {**values.scheme_value(service, words, decoder, len(ids)), "reveal": True}

    def uncover_stream(now: Asked) -> dict[str, Any] | None:
        value = values.stream_value(service, now)
        return value and {**value, "reveal": True}

    def compare(now: Asked) -> dict[str, Any]:
        """Both implementations on the loaded model if it is a GPT-2, else on another that is loaded and is one."""
        decoder, ids = service.encode(now["text"], now["model"])
        if not twice.fits(decoder):
            other = next((name for name in service.names if twice.fits(service.decoder(name))), decoder.name)
            decoder, ids = service.encode(now["text"], other)
        return values.code_value(words, service.once(decoder, twice.equality, ids[:LONGEST]))

    ask.guess(sentences(uncover), asked, boxes, **options)
    stream_ask.guess(sentences(uncover_stream), asked, stream, **options)
    code.act(sentences(compare), asked, code, concurrency_limit=2, concurrency_id="anatomy-compare", **LIVE)


def endpoints(service: Service) -> None:
    """/anatomy."""

    def model_anatomy(model: str = "") -> dict[str, Any]:
        """Every module with parameters: shape, count, place; totals with tied and with untied weights."""
        decoder = service.decoder(model)
        found = values.dissected(service, decoder)
        return {**as_json(found), "model": decoder.name}

    api(model_anatomy, "anatomy")


def near_server(service: Service) -> Any:
    """What the token widget calls for another token."""

    def near(asked: Any) -> dict[str, Any]:
        model, token = fields(asked, "model", "id")
        decoder = service.decoder(str(model))
        return values.token_value(service, decoder, integer("id", token))

    return answered(near)


def count_server() -> Any:
    """What the calculator calls for every change; a formula, so it needs no model and no queue."""

    def count(asked: Any) -> dict[str, Any]:
        return values.counted(asked)

    return answered(count)
