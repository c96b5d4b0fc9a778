"""What a result shows: a page, the state of its stage, and the answers that its script asks for there."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gptviz.decoder.decoder import Decoder
from gptviz.lessons import PAGES, frame
from gptviz.lessons.questions import Question
from gptviz.pictures import file
from gptviz.pictures.asked import ASKED
from gptviz.service import Service
from gptviz.service.wire import as_packed
from gptviz.words import ENGLISH, words

HEIGHT = 560  # px in a notebook
UNUSED = ("errors", "reference")  # words that no picture says


@dataclass(frozen=True)
class Picture:
    """One picture of a page for a text and a model. A notebook draws it; `save_html` keeps it as one file."""

    page: str
    data: dict[str, Any] = field(repr=False)

    def html(self, *, with_fonts: bool = True) -> str:
        """The document; without the fonts it is smaller and takes the reader's own."""
        return file.document(self.page, self.data, with_fonts=with_fonts)

    def save_html(self, path: str | Path) -> Path:
        """Write it as one file that opens from a disk, without a server or a network."""
        return file.write(path, self.html())

    def _repr_html_(self) -> str:
        inside = html.escape(self.html(with_fonts=False), quote=True)
        return (
            f'<iframe srcdoc="{inside}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
        )


def picture(service: Service, decoder: Decoder, page: str, text: str, fields: dict[str, Any]) -> Picture:
    """The picture of a page in a state. UserError where the page cannot draw it."""
    lesson = next(lesson for lesson in PAGES if page == lesson.KEY)
    known = {question.name: question for each in (frame, *PAGES) for question in each.questions(service)}
    whole = {**{key: f.default for key, f in lesson.FIELDS.items()}, **fields}

    def ask(name: str, args: dict[str, Any]) -> Any:
        return _answer(known[name], args)

    asked = ASKED[page](whole, decoder, text, ask)
    answers = {frame.question_key(name, args): as_packed(ask(name, args)) for name, args in asked}
    data = {
        "language": ENGLISH,
        "words": {key: said for key, said in words(ENGLISH).bundle().items() if key.split(".")[0] not in UNUSED},
        "page": one_step(page),
        "models": service.models(),
        "text": text,
        "fields": whole,
        "answers": answers,
    }
    return Picture(page, data)


def _answer(question: Question, args: dict[str, Any]) -> Any:
    found = question.ask(args)
    return list(found) if question.streams else found


def one_step(page: str) -> dict[str, Any]:
    """What the script has to know of its page: its fields, and a single step without a guess."""
    (told,) = (told for told in frame.manifest(ENGLISH)["pages"] if told["key"] == page)
    return {**told, "steps": [{**told["steps"][0], "state": {}, "guess": None}]}
