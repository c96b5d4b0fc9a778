"""The twins page: two small models that differ in one mistake, trained live or recorded, and what both write."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gptviz.lab.teaching import grammar, judged, twins
from gptviz.lessons.fields import Field
from gptviz.lessons.questions import Question
from gptviz.service import Service
from gptviz.service.wire import as_json

KEY = "twins"
PROMPTED = False
FIELDS = {
    field.name: field
    for field in (
        Field("variant", "choice", "open", choices=tuple(twins.VARIANTS)),
        Field("data", "choice", "sentences", choices=tuple(grammar.DATA)),
        Field("seed", "int", 0, 0, twins.MAX_SEED),
        Field("at", "int", twins.RECIPE.steps, 0, twins.RECIPE.steps),
        Field("span", "choice", "all", choices=("all", "start")),
        Field("under", "choice", "writers", choices=("writers", "grammar")),
    )
}
RECORDING = Path(__file__).resolve().parents[2] / "assets" / "twins.json"  # its first entry is the command that made it
EVERY = 0.2  # seconds between two values of a run
AT_ONCE = 2  # runs on this machine


def questions(service: Service) -> list[Question]:
    """/twins, and the same for the page."""

    def train_twins(
        steps: int = 0,
        seed: int = 0,
        variant: Literal["open", "wrong_way", "unshifted"] = "open",
        data: Literal["sentences", "random"] = "sentences",
        model: str = "",
    ) -> Iterator[dict[str, Any]]:
        """Train a causal twin and one with a mistake; streams the losses, the last value has what they write.

        `steps` 0 means the lesson's own. `model` is checked and otherwise unused: the twins are models of their own.
        """
        service.decoder(model)
        run = training(service, steps=steps, seed=seed, variant=variant, data=data)
        yield from map(as_json, run)

    def twins_recorded(variant: str = "open", data: str = "sentences") -> dict[str, Any]:
        """The recorded run, what both wrote on the way, the grammar, and how every recorded run ended."""
        run = twins.recorded(_recording(), variant, data)
        found = run_of(run, {name: run[name]["sketches"] for name in ("causal", "twin")})
        kept = _recording()
        made = {"date": kept["recorded"], "torch": kept["versions"]["torch"], "command": kept["command"]}
        counts = {"n": grammar.LENGTH, "free": sum(choices > 1 for choices in grammar.CHOICES)}
        return {**found, **made, **about(), "counts": counts}

    def twins_live(seed: int = 0, variant: str = "open", data: str = "sentences") -> Iterator[dict[str, Any]]:
        """A run as it goes: the losses since the value before, what both write at the pauses, at last the whole."""
        told = Told()
        for state in training(service, seed=seed, variant=variant, data=data, pauses=twins.PAUSES):
            if state.done:
                yield run_of(as_json(state), as_json(state.sketches))
            else:
                yield told.since(state)

    return [
        Question("twins", train_twins, limit=AT_ONCE),
        Question("twins_recorded", twins_recorded, public=False),
        Question("twins_live", twins_live, public=False, limit=AT_ONCE),
    ]


def training(service: Service, **asked: Any) -> Iterator[twins.Training]:
    """A run under the service's limits: its states a few times a second, and the last one."""
    return service.train(twins.train(**asked, pause=service.worker.breathe), every=EVERY)


@dataclass
class Told:
    """What the page has been told of a live run: how many losses, and how many sketches."""

    losses: int = 0
    sketches: int = 0

    def since(self, state: twins.Training) -> dict[str, Any]:
        """The losses since the state before, and what was written meanwhile, as the page draws them."""
        out: dict[str, Any] = {key: getattr(state, key) for key in ("done", "step", "steps", "seconds")}
        for name in ("causal", "twin"):
            wrote = state.sketches[name][self.sketches :]
            out[name] = {
                "losses": state.curves[name][self.losses :],
                "wrote": [sentences(as_json(each), state.data) for each in wrote],
            }
        self.losses, self.sketches = len(state.curves["twin"]), len(state.sketches["twin"])
        return out


def run_of(run: dict[str, Any], sketches: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """A whole run, recorded or just made, and what both wrote on the way, as the page draws it."""
    keys = ("floor", "steps", "seed", "variant", "data", "seconds")
    out: dict[str, Any] = {"done": True, **{key: run[key] for key in keys}}
    for name in ("causal", "twin"):
        twin = run[name]
        end = {key: twin[key] for key in ("loss", "writing_loss", "valid", "written", "text")}
        wrote = [*sketches[name], {"step": run["steps"], **end}]
        out[name] = {
            "loss": twin["loss"],
            "writing_loss": twin["writing_loss"],
            "losses": twin["losses"],
            "shares": {key: twin[key] for key in ("repeats_input", "says_next", "repeats")},
            "wrote": [sentences(each, run["data"]) for each in wrote],
        }
    return out


def sentences(wrote: dict[str, Any] | None, data: str) -> dict[str, Any] | None:
    """What was written after a step: the share that is right, and a few sentences, each word with its verdict."""
    if wrote is None:
        return None
    lines = [line.split() for line in wrote["text"].split("\n")][: judged.QUOTED]
    right = [grammar.verdict(words) for words in lines] if data == "sentences" else None
    return {
        "step": wrote["step"],
        "valid": wrote["valid"],
        "written": wrote["written"],
        "lines": [" ".join(words) for words in lines],
        "right": right,
    }


@functools.cache
def about() -> dict[str, Any]:
    """The language, the models, and how the recorded runs ended."""
    places = [
        {"words": list(words), "choices": choices, "follows": grammar.AGREES[i][0] if i in grammar.AGREES else None}
        for i, (words, choices) in enumerate(zip(grammar.FRAME, grammar.CHOICES, strict=True))
    ]
    ends = {
        f"{run['variant']}_{run['data']}": {key: run["twin"][key] for key in ("loss", "writing_loss", "valid")}
        for run in _recording()["runs"]
    }
    recipe = twins.RECIPE
    return {
        "places": places,
        "sentences": grammar.SENTENCES,
        "words": len(grammar.WORDS),
        "parameters": recipe.parameters,
        "batch": recipe.batch,
        "ends": ends,
    }


@functools.cache
def _recording() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORDING.read_text(encoding="utf-8"))
    return found
