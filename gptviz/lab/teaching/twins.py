"""Two small GPTs trained side by side: the same start, the same sentences, one difference.

The causal twin is made right. The other one has its mask removed ("open"), its mask upside down ("wrong_way"),
or its targets left where the inputs are ("unshifted"). Their losses are held against the entropy of the
language, which no model that keeps to the past can beat, and then both must write.
"""

import argparse
import copy
import json
import platform
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from gptviz.decoder.errors import UserError
from gptviz.lab.teaching.grammar import DATA, Data
from gptviz.lab.teaching.judged import Judged, Sketch, judge, sketch
from gptviz.lab.teaching.twin import MAX_SEED, RECIPE, VARIANTS, Recipe, Twin, initialise

RECORDED = tuple((variant, data) for data in DATA for variant in VARIANTS)
MAX_STEPS = 2000
PAUSES = (0, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300)  # steps after which both may write

COMMAND = "python -m gptviz.lab.teaching.twins"


def pair(recipe: Recipe, variant: str, generator: torch.Generator) -> tuple[Twin, Twin]:
    """(causal, other) with equal weights. UserError for a variant that does not exist."""
    _one_of("variant", variant, VARIANTS)
    causal = Twin(recipe, "causal", shifted=True)
    other = Twin(recipe, VARIANTS[variant], shifted=variant != "unshifted")
    initialise(causal.model, generator)
    other.model.load_state_dict(copy.deepcopy(causal.model.state_dict()))
    return causal, other


@dataclass(frozen=True)
class Underway:
    """Where a twin stands: the loss of the step's batch, in nats per token; None before the first step."""

    loss: float | None


@dataclass(frozen=True)
class Training:
    """Both twins after a step; in the last state they have been judged. Losses are in nats per token.

    `curves` has every loss so far and `sketches` all that was written at the pauses, of "causal" and "twin": they
    grow as the training goes on, and are too long to be sent with each state.
    """

    done: bool
    step: int
    floor: float
    steps: int
    seed: int
    variant: str
    data: str
    causal: Underway | Judged
    twin: Underway | Judged
    seconds: float
    _curves: dict[str, list[float]]
    _sketches: dict[str, list[Sketch]]

    @property
    def curves(self) -> dict[str, list[float]]:
        return self._curves

    @property
    def sketches(self) -> dict[str, list[Sketch]]:
        return self._sketches


def train(
    steps: int = 0,
    seed: int = 0,
    variant: str = "open",
    data: str = "sentences",
    recipe: Recipe = RECIPE,
    pauses: Collection[int] = (),
    pause: Callable[[], None] = lambda: None,
) -> Generator[Training]:
    """Train both twins, yielding after each step; the last state says how they ended and what they write.

    `steps` 0 means the recipe's own. After the steps in `pauses` both write as well (`sketch`); with 0 among them the
    first state comes before any step. `pause` is called where others may have the processor. Nothing runs on when the
    generator is closed. UserError, before any work, for a value out of range.
    """
    steps = _whole("steps", steps, 0, MAX_STEPS) or recipe.steps
    generator = torch.Generator().manual_seed(_whole("seed", seed, 0, MAX_SEED))
    _one_of("data", data, DATA)
    twins = pair(recipe, variant, generator)
    about = {"floor": DATA[data].floor, "steps": steps, "seed": int(seed), "variant": variant, "data": data}
    return _run(twins, DATA[data], generator, about, pauses, pause)


def _run(
    twins: tuple[Twin, Twin],
    data: Data,
    generator: torch.Generator,
    about: dict[str, Any],
    pauses: Collection[int],
    pause: Callable[[], None],
) -> Generator[Training]:
    start, steps = time.perf_counter(), about["steps"]
    named = dict(zip(("causal", "twin"), twins, strict=True))
    curves = {name: twin.losses for name, twin in named.items()}
    sketches: dict[str, list[Sketch]] = {name: [] for name in named}

    def state(step: int, ends: Sequence[Underway | Judged] = ()) -> Training:
        causal, twin = ends or [Underway(each.losses[-1] if step else None) for each in twins]
        seconds = time.perf_counter() - start
        return Training(
            bool(ends), step, causal=causal, twin=twin, seconds=seconds, _curves=curves, _sketches=sketches, **about
        )

    def write_down(step: int) -> None:
        for name, twin in named.items():
            sketches[name].append(sketch(twin, data, step, about["seed"]))
            pause()

    if 0 in pauses:
        write_down(0)
        yield state(0)
    for step in range(steps):
        ids = data.draw(twins[0].recipe.batch, generator)  # [B, T+1], the same for both
        for twin in twins:
            twin.step(ids, twin.recipe.rate_at(step, steps))
        if step + 1 in pauses and step + 1 < steps:
            write_down(step + 1)
        yield state(step + 1)
    yield state(steps, [judge(twin, data, about["seed"], pause) for twin in twins])


def _one_of(name: str, value: Any, allowed: Mapping[str, Any]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise UserError("one_of", name=name, value=value, allowed=list(allowed))


def _whole(name: str, value: Any, least: int, most: int) -> int:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    if not whole or not least <= value <= most:
        raise UserError("whole_between", name=name, value=value, low=least, high=most)
    return int(value)


def record(seed: int = 0) -> dict[str, Any]:
    """Full runs of every variant, with all that is needed to make them again; see `recorded`.

    The causal twin does not know of the other's mistake, so it is kept once for each kind of data.
    """
    runs: list[dict[str, Any]] = []
    causal: dict[str, dict[str, Any]] = {}
    for variant, data in RECORDED:
        begun = time.process_time()
        for state in train(seed=seed, variant=variant, data=data, pauses=PAUSES):
            if state.step % 100 == 0 and isinstance(state.twin, Underway):
                print(variant, data, state.step, state.twin.loss)
        end = {
            name: asdict(twin) | {"sketches": [asdict(each) for each in state.sketches[name]]}
            for name, twin in (("causal", state.causal), ("twin", state.twin))
        }
        causal.setdefault(data, end["causal"])
        about = {key: getattr(state, key) for key in ("floor", "steps", "seed", "variant", "data", "seconds")}
        runs.append({**about, "processor_seconds": time.process_time() - begun, "twin": end["twin"]})
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    machine = f"{platform.system()} {platform.machine()}, {torch.get_num_threads()} threads"  # not words: recorded
    today = datetime.now(UTC).date().isoformat()
    return {"recorded": today, "versions": versions, "machine": machine, "causal": causal, "runs": runs}


def recorded(recording: Mapping[str, Any], variant: str, data: str) -> dict[str, Any]:
    """One run out of what `record` kept, with both twins. UserError for one that is not there."""
    for run in recording["runs"]:
        if (run["variant"], run["data"]) == (variant, data):
            return {**run, "causal": recording["causal"][data]}
    raise UserError("not_recorded", variant=variant, data=data, known=[f"{a} {b}" for a, b in RECORDED])


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the twins in all variants and keep the runs in a file; the page shows them until it is asked to train.

    `--record` is where to write the runs, as JSON; `--seed` that of the start, the data and the writing.
    """
    parser = argparse.ArgumentParser(prog=COMMAND, description=main.__doc__)
    parser.add_argument("--record", type=Path, required=True, metavar="FILE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    seed = f" --seed {options.seed}" if options.seed else ""  # not words: a command
    command = f"{COMMAND} --record {options.record.as_posix()}{seed}"  # not words: a command
    found = json.dumps({"command": command, **record(options.seed)}, separators=(",", ":"))
    options.record.write_text(found + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
