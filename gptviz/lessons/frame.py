"""What the frame of every page needs: models, tokens, examples, and the manifest that the browser reads first."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from gptviz.lessons import PAGES
from gptviz.lessons.courses import courses
from gptviz.lessons.described import examples
from gptviz.lessons.questions import Question
from gptviz.lessons.steps import Step, pseudo, read
from gptviz.marks import accented
from gptviz.places import ASSETS
from gptviz.service import Service
from gptviz.words import ENGLISH, PSEUDO, languages, words

RECORDED = ASSETS / "recorded"
SOME = 12  # stretches that are named beside the prompt; the endpoint names all
LANGUAGES = (*languages(), PSEUDO)


def questions(service: Service) -> list[Question]:
    """/models, /tokenize, and how the loading stands."""

    def models() -> list[dict[str, Any]]:
        """The models that are ready, the default first."""
        return service.models()

    def tokenize(text: str, model: str = "") -> dict[str, Any]:
        """The text's tokens as the model reads them."""
        return service.tokens(text, model)

    def status() -> dict[str, Any]:
        """The models, and how the loading of the larger one stands."""
        now = service.status
        return {
            "models": service.models(),
            "loading": now.loading,
            "sentence": now.sentence,
            "fraction": now.fraction,
            "notes": now.notes,
        }

    def reading(text: str, model: str = "") -> dict[str, Any]:
        """How many tokens a text has, whether it ends in a blank, and what its vocabulary does not keep of it."""
        found = service.tokens(text, model)
        return {key: found[key] for key in ("count", "context", "trailing_blank")} | {"losses": found["losses"][:SOME]}

    return [
        Question("models", models),
        Question("tokenize", tokenize),
        Question("reading", reading, public=False),
        Question("status", status, public=False),
    ]


def manifest(language: str) -> dict[str, Any]:
    """Pages with their fields and steps, words, examples: everything the page says before it asks anything."""
    pages = [_page(page, language) for page in PAGES]
    return {
        "language": language,
        "pages": pages,
        "courses": _courses(language, {page["key"]: len(page["steps"]) for page in pages}),
        "words": words(language).bundle(),
        "examples": _examples(language),
        "recorded": recorded(),
    }


def question_key(name: str, args: dict[str, Any]) -> str:
    """A question with its arguments, as widgets/kit/ask.js spells it."""
    return f"{name} {json.dumps(dict(sorted(args.items())), ensure_ascii=False, separators=(',', ':'))}"


def _courses(language: str, steps: dict[str, int]) -> list[dict[str, Any]]:
    found = [asdict(course) for course in courses(steps)]
    return [{**each, "title": accented(each["title"])} for each in found] if language == PSEUDO else found


def _examples(language: str) -> list[dict[str, str]]:
    found = examples(_prose(language))
    if language != PSEUDO:
        return found
    return [{**each, "name": accented(each["name"]), "why": accented(each["why"])} for each in found]


def recorded() -> dict[str, list[str]]:
    """The pages whose first picture was recorded, by model."""
    found: dict[str, list[str]] = {}
    for path in sorted(RECORDED.glob("*/*.json")):
        found.setdefault(path.parent.name, []).append(path.stem)
    return found


def _page(page: Any, language: str) -> dict[str, Any]:
    story = read(page.KEY, page.FIELDS, _prose(language))
    if language == PSEUDO:
        story = pseudo(story)
    return {
        "key": page.KEY,
        "tab": story.tab,
        "question": story.question,
        "prompted": getattr(page, "PROMPTED", True),
        "fields": {name: field.as_json() for name, field in page.FIELDS.items()},
        "steps": [_step(step) for step in story.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    return {**asdict(step)}


def _prose(language: str) -> str:
    """The language of the files of steps: the pseudo-language is made from English."""
    return ENGLISH if language == PSEUDO else language
