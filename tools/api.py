"""Write docs/api.md from the endpoints themselves: `make api`. A test compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gptviz.lessons import PAGES, frame
from gptviz.lessons.described import gives, takes
from gptviz.lessons.questions import Question
from gptviz.service import Service
from gptviz.web.endpoints import says

FILE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
HEAD = """# Endpoints

Made by `make api` from the code; do not edit. Every endpoint of the running app may be called from Python, curl or,
started with `--mcp`, by an agent as a tool of the same name. All arguments have defaults. A bad value is answered with
one sentence that names it and what is allowed. Numbers are finite; a masked score is null. A token is
`{id, shown, bytes}`.

```python
from gradio_client import Client
app = Client("http://127.0.0.1:7860", verbose=False)
```

With curl a call takes two steps, and all arguments in order:

```sh
API=http://127.0.0.1:7860/gradio_api
curl -s $API/call/tokenize -H 'content-type: application/json' -d '{"data": ["The cat", ""]}'
curl -sN $API/call/tokenize/EVENT_ID
```
"""


def document() -> str:
    """The whole file."""
    service = Service()  # without a model: nothing is asked
    asked = [*frame.questions(service), *(q for page in PAGES for q in page.questions(service))]
    return "\n".join([HEAD, *(section(question) for question in asked if question.public)])


def section(question: Question) -> str:
    """One endpoint: what it answers, its arguments, the fields of its answer, and a call."""
    streams = " Streams; the last value is the whole." if question.streams else ""
    lines = [f"## /{question.name}", "", f"{says(question)}{streams}", ""]
    if question.signature.parameters:
        lines += ["| argument | type | default | meaning |", "|---|---|---|---|", *rows(question), ""]
    if fields := gives(question.name):
        lines += ["| answer | |", "|---|---|", *(f"| `{name}` | {words} |" for name, words in fields.items()), ""]
    return "\n".join([*lines, "```python", call(question), "```", ""])


def rows(question: Question) -> list[str]:
    """The table of arguments."""
    hints = get_type_hints(question.fn)
    return [
        f"| `{name}` | {kind(hints[name])} | `{p.default!r}` | {takes(question.name, name)} |"
        for name, p in question.signature.parameters.items()
    ]


def kind(hint: Any) -> str:
    """A type as the table says it."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(f"`{value}`" for value in get_args(hint))
    return f"`{hint.__name__ if isinstance(hint, type) and not get_args(hint) else hint}`"


def call(question: Question) -> str:
    """A call that runs as it stands: every argument but the model, with its default."""
    given = [f"{name}={p.default!r}" for name, p in question.signature.parameters.items() if name != "model"]
    return f"app.predict({', '.join([*given, f'api_name={chr(34)}/{question.name}{chr(34)}'])})"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
