"""A page's question and steps, read from Markdown: each step is prose with the state that it puts the picture into.

    # What happens if the model may read ahead?

    ## It reads the answer
    open: all
    guess: rises

    With the masks open, {rises:whole} of {questions:whole} guesses get better.

    ? How many guesses get better?
    - all of them
    - about half
    = It is {rises:whole} of {questions:whole}.

Lines of `name: value` right under a heading are the state: fields of the page, `prompt`, and `guess` (the fact that
holds the index of the right option). A paragraph that starts with `[if NAME]` or `[if not NAME]` shows only where that
fact holds; `told` is a fact of every page: no guess of this step is still open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from gptviz.decoder.errors import UserError
from gptviz.lessons.fields import Field
from gptviz.marks import accented
from gptviz.places import LESSONS

_CONDITION = re.compile(r"\[if (not )?\w+\] ?")
_STATE = re.compile(r"([a-z_]+): ?(.*)")
MOST_WORDS = 60


@dataclass
class Guess:
    """One question before the answer: `right` names the fact that holds the index of the right option."""

    right: str
    question: str
    options: list[str]
    answer: str


@dataclass
class Step:
    """Title, the picture's state by field name, paragraphs of prose, and perhaps a guess."""

    title: str
    state: dict[str, Any]
    body: list[str]
    guess: Guess | None = None
    prompt: str = ""


@dataclass
class Story:
    """All that a page says beside its picture."""

    key: str
    tab: str
    question: str
    steps: list[Step] = field(default_factory=list)


def read(key: str, fields: dict[str, Field], language: str = "en") -> Story:
    """The story of a page. UserError with file and line for a state that the page does not have."""
    path = LESSONS / language / f"{key}.md"
    return parse(path.read_text(encoding="utf-8"), key, fields, path.name)


def parse(text: str, key: str, fields: dict[str, Field], name: str) -> Story:
    """Like `read`, from the text itself; `name` is what an error calls the file."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("## ")]
    head = lines[: starts[0]] if starts else lines
    question = next((line[2:].strip() for line in head if line.startswith("# ")), "")
    tab = next((line[4:].strip() for line in head if line.startswith("tab:")), key)
    if not question:
        raise UserError("prose.no_question", file=name)
    bounds = zip(starts, [*starts[1:], len(lines)], strict=True)
    return Story(key, tab, question, [_step(lines, a, b, fields, name) for a, b in bounds])


def pseudo(story: Story) -> Story:
    """The same in the pseudo-language; conditions stay as they are."""

    def body(paragraph: str) -> str:
        condition = _CONDITION.match(paragraph)
        start = condition.end() if condition else 0
        return paragraph[:start] + accented(paragraph[start:])

    def guess(asked: Guess) -> Guess:
        return Guess(asked.right, accented(asked.question), list(map(accented, asked.options)), accented(asked.answer))

    steps = [
        replace(
            step,
            title=accented(step.title),
            body=list(map(body, step.body)),
            guess=step.guess and guess(step.guess),
        )
        for step in story.steps
    ]
    return replace(story, tab=accented(story.tab), question=accented(story.question), steps=steps)


def _step(lines: list[str], start: int, stop: int, fields: dict[str, Field], name: str) -> Step:
    step = Step(lines[start][3:].strip(), {}, [])
    right, at = "", start + 1
    while at < stop and (match := _STATE.fullmatch(lines[at].strip())):
        key, value = match.groups()
        if key == "guess":
            right = value.strip()
        elif key == "prompt":
            step.prompt = value.replace("\\n", "\n")
        else:
            step.state[key] = _value(key, value, fields, name, at + 1)
        at += 1
    prose, guess = _split(lines[at:stop])
    step.body = prose
    if bool(right) != bool(guess):
        raise UserError("prose.half_a_guess", file=name, line=start + 1)
    if guess:
        step.guess = Guess(right, *guess)
    return step


def _value(key: str, value: str, fields: dict[str, Field], name: str, line: int) -> Any:
    if key not in fields:
        raise UserError("prose.no_field", file=name, line=line, field=key, known=list(fields))
    try:
        return fields[key].read(value)
    except UserError as error:
        raise UserError("prose.bad_value", file=name, line=line, why=error.said) from None


def _split(lines: list[str]) -> tuple[list[str], tuple[str, list[str], str] | None]:
    """The paragraphs, and the guess where there is one."""
    asked = [i for i, line in enumerate(lines) if line.startswith("? ")]
    prose = lines[: asked[0]] if asked else lines
    paragraphs = [" ".join(p.split()) for p in "\n".join(prose).split("\n\n") if p.strip()]
    if not asked:
        return paragraphs, None
    rest = lines[asked[0] :]
    options = [line[2:].strip() for line in rest if line.startswith("- ")]
    answer = " ".join(line[2:].strip() for line in rest if line.startswith("= "))
    return paragraphs, (rest[0][2:].strip(), options, answer)
