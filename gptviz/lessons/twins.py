"""The twins page: train with and without the mask, live, and let both write."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from gptviz.decoder.errors import UserError
from gptviz.lab.teaching import twins
from gptviz.lab.teaching.grammar import AGREES, CHOICES, FRAME, WORDS
from gptviz.lessons.page import Page, api, guess, integer, lines, prose, question, sentences, story
from gptviz.service import Service
from gptviz.service.wire import as_json
from gptviz.widgets import widget

KEY, TAB = "twins", "Twins"
RECORDING = Path(__file__).resolve().parents[2] / "assets" / "twins.json"
COVERED = 10  # steps of the recorded run on view before a guess
EVERY = 0.25  # seconds between two pictures of a run
AT_ONCE = 2  # runs on this machine; more wait in the queue
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}


def build(service: Service, asked: gr.State) -> Page:
    """Lay the page out. Nothing here depends on the prompt, so nothing is shown anew for one."""
    words = prose(KEY)
    question(words)
    first = recorded("open", "sentences")
    with gr.Row(elem_classes="gv-twins-guesses"):
        losses = widget("predict", label="Guess the losses", value=asking("loss", first))
        writing = widget("predict", label="Guess the writing", value=asking("write", first))
    with gr.Row(elem_classes="gv-twins-controls"):
        variant = gr.Radio(_choices("variants"), value="open", label=words["variant"], scale=5)
        data = gr.Radio(_choices("datas"), value="sentences", label=words["data"], scale=4)
        seed = gr.Number(0, label=words["seed"], precision=0, minimum=0, maximum=twins.MAX_SEED, scale=1, min_width=90)
        go = gr.Button(words["train"], variant="primary", scale=1, min_width=150)
        cancel = gr.Button(words["cancel"], interactive=False, scale=1, min_width=90)
    picture = widget("twins", label="The twins' training and what they write", value=_recorded_view(first))
    recipe = twins.RECIPE
    story(words["story"].format(parameters=recipe.parameters, batch=recipe.batch, rate=recipe.rate))
    shown, controls = [picture, losses, writing], [go, cancel, variant, data]

    def choose(variant: str, data: str) -> dict[Any, Any]:
        run = recorded(variant, data)
        return {picture: _recorded_view(run), losses: asking("loss", run), writing: asking("write", run)}

    def wait(variant: str, data: str) -> dict[Any, Any]:
        words = prose(KEY)  # until the run has an end, the guesses have no answer
        unanswered = {losses: guess(words, "guess_loss"), writing: guess(words, "guess_write")}
        return {picture: _waiting(variant, data), **unanswered, **_busy(True)}

    def run(variant: str, data: str, seed: float | None) -> Iterator[dict[Any, Any]]:
        number = integer("seed", 0 if seed is None else seed)
        for state in training(service, seed=number, variant=variant, data=data):
            value = as_json(state)
            yield {picture: _live_view(value, as_json(state.curves, digits=4))}
        yield {losses: asking("loss", value), writing: asking("write", value), **_busy(False)}

    def _busy(now: bool) -> dict[Any, Any]:
        chosen = {choice: gr.Radio(interactive=not now) for choice in (variant, data)}
        return {go: gr.Button(interactive=not now), cancel: gr.Button(interactive=now), **chosen}

    for ask in (losses, writing):
        ask.guess(lambda: {"reveal": True}, None, picture, concurrency_limit=None, **QUIET)
    gr.on([variant.input, data.input], sentences(choose), [variant, data], shown, concurrency_limit=None, **QUIET)
    begun = go.click(sentences(wait), [variant, data], [*shown, *controls], concurrency_limit=None, **QUIET)
    job = begun.success(
        sentences(run),
        [variant, data, seed],
        [*shown, *controls],
        concurrency_limit=AT_ONCE,
        concurrency_id="twins",
        **QUIET,
    )

    def stop(variant: str, data: str) -> dict[Any, Any]:
        run = recorded(variant, data)
        answers = {losses: instead("loss", run), writing: instead("write", run)}
        return {picture: {"stopped": True}, **answers, **_busy(False)}

    halted: dict[str, Any] = {"inputs": [variant, data], "outputs": [*shown, *controls], "concurrency_limit": None}
    job.failure(sentences(stop), **halted, **QUIET)
    cancel.click(sentences(stop), cancels=[job], **halted, **QUIET)
    return Page()


def endpoints(service: Service) -> None:
    """/twins."""

    def train_twins(
        steps: int = 0, seed: int = 0, variant: str = "open", data: str = "sentences", model: str = ""
    ) -> Iterator[dict[str, Any]]:
        """Train a causal twin and one with a mistake; streams the losses, the last value has what they write.

        `steps` 0 means the lesson's own. `model` is checked and otherwise unused: the twins are models of their own.
        """
        service.decoder(model)
        asked = {"steps": integer("steps", steps), "seed": integer("seed", seed), "variant": variant, "data": data}
        yield from map(as_json, training(service, **asked))

    api(train_twins, "twins", limit=AT_ONCE)


def training(service: Service, **asked: Any) -> Iterator[twins.Training]:
    """A run under the service's limits: its states a few times a second, and the last one."""
    return service.train(twins.train(**asked, pause=service.worker.breathe), every=EVERY)


@functools.cache
def _recording() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORDING.read_text(encoding="utf-8"))
    return found


def recorded(variant: str, data: str) -> dict[str, Any]:
    """The recorded run of a variant on a kind of data. UserError when there is none."""
    for run in _recording()["runs"]:
        if (run["variant"], run["data"]) == (variant, data):
            return dict(run)
    raise UserError(f'variant is "{variant[:60]}" and data "{data[:60]}"; no such run is recorded.')


def _recorded_view(run: dict[str, Any]) -> dict[str, Any]:
    kept = _recording()
    mark = prose(KEY)["recorded"].format(
        date=kept["recorded"],
        seed=run["seed"],
        steps=run["steps"],
        seconds=round(run["processor_seconds"]),
        torch=kept["versions"]["torch"],
        command=kept["command"],
    )
    curves = {name: run[name]["losses"] for name in ("causal", "twin")}
    return {**_view(run, curves, mark), "recorded": True, "hold": COVERED}


def _live_view(value: dict[str, Any], curves: dict[str, list[float]]) -> dict[str, Any]:
    words = prose(KEY)
    mark = words["live" if value["done"] else "training"].format(**{**value, "seconds": round(value["seconds"], 1)})
    return {**_view(value, curves, mark), "halt": words["stopped"].format(**value)}


def _waiting(variant: str, data: str) -> dict[str, Any]:
    run, words = recorded(variant, data), prose(KEY)
    view = _view({**run, "done": False}, {"causal": [], "twin": []}, words["waiting"])
    return {**view, "halt": words["stopped"].format(step=0, steps=run["steps"])}


def _view(run: dict[str, Any], curves: dict[str, list[float]], mark: str) -> dict[str, Any]:
    """What the widget draws of a run."""
    words = prose(KEY)
    names = lines(words["names"])
    level = words[f"floor_{run['data']}"].format(floor=f"{run['floor']:.3f}", vocabulary=len(WORDS))
    ends = [{k: x for k, x in run[name].items() if k != "losses"} for name in ("causal", "twin")]
    return {
        **curves,
        "mark": mark,
        "names": [names[0], _variant(run["variant"])[2]],
        "rows": names[1:],
        "floor": run["floor"],
        "level": level,
        "ends": ends if run["done"] else None,
        "frame": _frame() if run["data"] == "sentences" else None,
    }


@functools.cache
def _frame() -> list[dict[str, Any]]:
    """The places of a sentence: their words, how many are free to choose, and the earlier place they follow."""
    return [
        {"words": list(words), "choices": choices, "follows": AGREES[place][0] if place in AGREES else None}
        for place, (words, choices) in enumerate(zip(FRAME, CHOICES, strict=True))
    ]


def asking(part: str, run: dict[str, Any]) -> dict[str, Any]:
    """A guess box with the answer this run gives."""
    words = prose(KEY)
    causal, twin = run["causal"], run["twin"]
    kind = f"answer_{part}"
    if part == "write" and run["data"] == "random":
        kind = "answer_write_random"
    elif part == "loss" and twin["loss"] > run["floor"] - 0.05:
        kind = "answer_loss_honest"
    text = words[kind].format(
        twin="The one " + _variant(run["variant"])[2],
        floor=f"{run['floor']:.3f}",
        below=f"{run['floor'] - twin['loss']:.3f}",
        causal_loss=f"{causal['loss']:.4f}",
        twin_loss=f"{twin['loss']:.4f}",
        causal_writing=f"{causal['writing_loss']:.2f}",
        twin_writing=f"{twin['writing_loss']:.2f}",
        written=causal["written"],
        causal_valid=_percent(causal["valid"]),
        twin_valid=_percent(twin["valid"]),
    )
    return {**guess(words, f"guess_{part}"), "answer": {"index": _right(part, run), "text": text}}


def instead(part: str, run: dict[str, Any]) -> dict[str, Any]:
    """A guess box after a run that was stopped: the recorded run's answer, and it says so."""
    asked = asking(part, run)
    text = prose(KEY)["answer_recorded"].format(seed=run["seed"], steps=run["steps"], answer=asked["answer"]["text"])
    return {**asked, "answer": {**asked["answer"], "text": text}}


def _right(part: str, run: dict[str, Any]) -> int:
    """Which option of a guess this run bears out."""
    causal, twin = run["causal"], run["twin"]
    if part == "loss":
        close = abs(causal["loss"] - twin["loss"]) < 0.05
        return 2 if close else int(twin["loss"] < causal["loss"])
    if run["data"] == "random":
        return 3
    good = (causal["valid"] > 0.5, twin["valid"] > 0.5)
    return {(True, False): 0, (False, True): 1, (True, True): 2, (False, False): 3}[good]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _variant(key: str) -> list[str]:
    return next(parts for parts in _parts("variants") if parts[0] == key)


def _parts(name: str) -> list[list[str]]:
    return [[part.strip() for part in line.split(" | ")] for line in lines(prose(KEY)[name])]


def _choices(name: str) -> list[tuple[str, str]]:
    return [(parts[1], parts[0]) for parts in _parts(name)]
