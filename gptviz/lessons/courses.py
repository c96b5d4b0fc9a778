"""Courses: steps of several pages strung together by a teacher, in `assets/courses/NAME.md`.

    # The model in ten minutes

    - next_token 1
    - mask 1
    - mask 3

Each line names a page and a step of it. A course is opened by `?course=NAME`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gptviz.decoder.errors import UserError

COURSES = Path(__file__).resolve().parents[2] / "assets" / "courses"
_STOP = re.compile(r"- (\w+) (\d{1,3})\b.*")


@dataclass(frozen=True)
class Course:
    """A title and its stops: (page, step) pairs in order."""

    name: str
    title: str
    stops: list[tuple[str, int]]


def courses(steps: dict[str, int], folder: Path = COURSES) -> list[Course]:
    """All courses, shortest first; `steps` says how many each page has. UserError for a stop that does not exist."""
    found = [_read(path, steps) for path in sorted(folder.glob("*.md"))]
    return sorted(found, key=lambda course: len(course.stops))


def _read(path: Path, steps: dict[str, int]) -> Course:
    title, stops = path.stem, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("# "):
            title = line[2:].strip()
        if not line.startswith("- "):
            continue
        match = _STOP.fullmatch(line)
        if not match or match[1] not in steps:
            raise UserError("prose.no_stop", file=path.name, line=number, value=line)
        page, step = match[1], int(match[2])
        if not 1 <= step <= steps[page]:
            raise UserError("prose.no_step", file=path.name, line=number, value=step, page=page, last=steps[page])
        stops.append((page, step))
    if not stops:
        raise UserError("prose.no_stops", file=path.name)
    return Course(path.stem, title, stops)
