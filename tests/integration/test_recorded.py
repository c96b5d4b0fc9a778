"""The recorded first pictures are what the model answers today: a change of an answer has to be recorded anew."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gptviz.decoder.decoder import Decoder
from gptviz.lessons import PAGES
from gptviz.service import Service
from gptviz.service.wire import as_packed
from gptviz.shell import build

RECORDED = Path(__file__).parents[2] / "assets" / "recorded"
FILES = sorted((RECORDED / "nano").glob("*.json"))
KINDS = {"$f32": np.float32, "$i32": np.int32, "$u8": np.uint8}
SMALL = 1e-3  # of the largest number beside it: processors round differently
MOST = 60_000  # bytes of a page's first picture


@pytest.fixture(scope="module")
def questions(nano: Decoder) -> dict[str, Any]:
    """All questions of an app with the bundled model, by name."""
    service = Service()
    service.add(nano)
    return {question.name: question for question in build(service).questions}


def test_every_page_that_reads_the_prompt_is_recorded_for_both_models() -> None:
    prompted = sorted(page.KEY for page in PAGES if getattr(page, "PROMPTED", True))
    for model in ("nano", "smollm2-135m"):
        assert sorted(path.stem for path in (RECORDED / model).glob("*.json")) == prompted


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*/*.json")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_first_picture_is_small(path: Path) -> None:
    assert path.stat().st_size <= 2 * MOST
    assert all(len(json.dumps(answer)) <= MOST for answer in json.loads(path.read_text(encoding="utf-8")).values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_was_recorded_is_what_is_answered(path: Path, questions: dict[str, Any]) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found
    for key, recorded in found.items():
        name, args = key.split(" ", 1)
        live = json.loads(json.dumps(as_packed(questions[name].ask(json.loads(args)))))
        alike(live, recorded, key)


def alike(live: Any, recorded: Any, where: str) -> None:
    """Equal in shape and words, numbers close; seconds are measured, so they only have to be there."""
    if isinstance(recorded, dict) and (kind := next((k for k in KINDS if k in recorded), None)):
        a, b = (np.frombuffer(base64.b64decode(x[kind]), KINDS[kind]).astype(float) for x in (live, recorded))
        assert live["shape"] == recorded["shape"], where
        np.testing.assert_allclose(a, b, atol=SMALL * max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0)), err_msg=where)
    elif isinstance(recorded, dict):
        assert live.keys() == recorded.keys(), where
        for key, value in recorded.items():
            if key != "seconds":
                alike(live[key], value, f"{where}.{key}")
    elif isinstance(recorded, list):
        assert len(live) == len(recorded), where
        for i, (a, b) in enumerate(zip(live, recorded, strict=True)):
            alike(a, b, f"{where}[{i}]")
    elif isinstance(recorded, float):
        assert live == pytest.approx(recorded, rel=SMALL, abs=SMALL), where
    else:
        assert live == recorded, where
