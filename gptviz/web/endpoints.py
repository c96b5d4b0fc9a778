"""Public questions as endpoints of the running app, described for people, clients and agents."""

from __future__ import annotations

import functools
import inspect
import json
from typing import Any, get_args, get_origin, get_type_hints

import gradio as gr
from gradio.context import Context
from gradio.events import api as gradio_api
from gradio.route_utils import FnIndexInferError
from gradio_client.utils import is_file_obj_with_meta  # type: ignore[import-untyped]
from starlette.requests import Request
from starlette.responses import JSONResponse

from gptviz.decoder.errors import UserError
from gptviz.lessons.described import gives, takes
from gptviz.lessons.questions import Question
from gptviz.service.wire import as_json
from gptviz.words import Said


def register(question: Question) -> None:
    """Make a public question an endpoint of the app being built; every error a user can cause is one sentence."""
    call = _streaming(question) if question.streams else _plain(question)
    call.__name__ = question.name  # an agent's tool is called as the function is
    given = "\n".join(f"    {name}: {takes(question.name, name)}" for name in question.signature.parameters)
    call.__doc__ = f"{says(question)}\n\nArgs:\n{given}"  # where an agent's tool finds the arguments' meanings
    call.__signature__ = question.signature.replace(return_annotation=_returned(question))
    gradio_api(
        call,
        api_name=question.name,
        api_description=says(question),
        concurrency_limit=question.limit,
        concurrency_id=f"api-{question.name}",
    )
    _describe(question)


def says(question: Question) -> str:
    """What an endpoint answers: the first paragraph of its function's description."""
    return " ".join((inspect.getdoc(question.fn) or "").split("\n\n")[0].split())


def _plain(question: Question) -> Any:
    @functools.wraps(question.fn)
    def call(*args: Any) -> Any:
        with sentences():
            return as_json(question.ask(_named(question, args)))

    return call


def _streaming(question: Question) -> Any:
    @functools.wraps(question.fn)
    def call(*args: Any) -> Any:
        with sentences():
            for value in question.ask(_named(question, args)):
                yield as_json(value)

    return call


def _named(question: Question, args: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(question.signature.parameters, args, strict=False))


class sentences:
    """Turns a UserError into the one sentence that a client of Gradio sees."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, UserError):
            raise gr.Error(str(error), print_exception=False) from error


class Blocks(gr.Blocks):
    """Gradio's app, with one sentence for calls that do not fit their endpoint."""

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        """gr.Error for too few arguments or a file; Gradio would answer null and write a traceback into the log."""
        if len(inputs) < len(block_fn.inputs):
            name, names = block_fn.api_name, [component.label for component in block_fn.inputs]
            told = Said("errors.arguments", name=name, n=len(inputs), most=len(names), names=names)
            raise gr.Error(str(told), print_exception=False)
        for component, value in zip(block_fn.inputs, inputs, strict=False):
            if any(is_file_obj_with_meta(item) for item in (value if isinstance(value, list) else [value])):
                told = Said("errors.is_file", name=component.label, question=block_fn.api_name)
                raise gr.Error(str(told), print_exception=False)


async def no_such_endpoint(request: Request, error: Exception) -> JSONResponse:
    """404 for an endpoint that is not there; Gradio would answer 500."""
    return JSONResponse({"detail": Said("errors.no_endpoint")}, status_code=404)


NOT_THERE: dict[Any, Any] = {FnIndexInferError: no_such_endpoint}


# Descriptions


def _describe(question: Question) -> None:
    """Put the words where Gradio's page, its clients and its agents' tools each look for them."""
    assert Context.root_block is not None
    event: Any = next(reversed(Context.root_block.fns.values()))
    for name, component in zip(question.signature.parameters, event.inputs, strict=True):
        words = takes(question.name, name)
        component.label = name
        component._api_info = {**component._api_info, "description": words, "additional_description": words}
    (answer,) = event.outputs
    answer.label = question.name
    answer._api_info = schema(question)


def schema(question: Question) -> dict[str, Any]:
    """The JSON schema of an answer: an object whose named fields say what they hold, or a list of such."""
    fields = gives(question.name)
    named = {"type": "object", "properties": {name: {"description": meaning} for name, meaning in fields.items()}}
    if _returned(question) is list:
        return {"type": "array", "items": named}
    return named


def _returned(question: Question) -> type:
    """The kind of answer as JSON has it: an object, or a list of objects."""
    hint = get_type_hints(question.fn)["return"]
    inner = get_args(hint)[0] if question.streams else hint
    return list if get_origin(inner) is list else dict


# Agents


def answer_in_json() -> None:
    """Let the tools of an agent answer in JSON; Gradio writes values as Python does. ImportError without its extra."""
    from gradio.mcp import GradioMCPServer
    from mcp import types

    def content(self: Any, data: Any, root_url: str) -> list[Any]:
        return [types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False)) for value in data]

    server: Any = GradioMCPServer
    server.postprocess_output_data = content
