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
from math import cos, pi
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gptviz.decoder.errors import UserError
from gptviz.decoder.gpt import Config, LongGPT
from gptviz.lab.teaching.grammar import DATA, ID, LENGTH, WORDS, Data, accepts, verdict

VARIANTS = {"open": "none", "wrong_way": "wrong_way", "unshifted": "causal"}  # -> the mask of the other twin
RECORDED = tuple((variant, data) for data in DATA for variant in VARIANTS)
MAX_STEPS, MAX_SEED = 2000, 2**31 - 1
SHOWN = 6  # sentences handed out, of the SAMPLES that are judged
SAMPLES = 500
EVALUATED = 2000  # fresh sequences behind each final loss
PREFIXED = 200  # of them, run prefix by prefix
PAUSES = (0, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300)  # steps after which both may write
SKETCHED = 200  # sentences judged at such a pause
QUOTED = 4  # of them handed out


@dataclass(frozen=True)
class Recipe:
    """How both twins are trained; found by trying, the same for every seed, variant and kind of data."""

    steps: int = 400
    batch: int = 32
    rate: float = 1e-2  # the peak of the one-cycle schedule
    warm: float = 0.1  # share of the steps spent climbing to it
    clip: float = 1.0  # largest norm of a gradient
    layers: int = 2
    width: int = 64
    heads: int = 4

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step: a straight climb, then half a cosine down to zero."""
        top = max(1.0, self.warm * steps)
        if step < top:
            return self.rate * (step + 1) / top
        return self.rate * 0.5 * (1 + cos(pi * (step - top) / (steps - top)))

    @property
    def config(self) -> Config:
        """The shape of both models."""
        return Config(len(WORDS), 1 + LENGTH, self.width, self.heads, self.layers)

    @property
    def parameters(self) -> int:
        """How many numbers each twin learns."""
        with torch.device("meta"):
            return sum(p.numel() for p in LongGPT(self.config).parameters())


RECIPE = Recipe()


class Twin:
    """One of the two while it trains: a model, what it is asked to predict, and its losses so far."""

    def __init__(self, recipe: Recipe, mask: str, *, shifted: bool) -> None:
        self.recipe, self.shifted = recipe, shifted
        self.model = LongGPT(recipe.config, mask)
        self.losses: list[float] = []
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=0.0, betas=(0.9, 0.99), weight_decay=0.0, fused=True
        )

    def token_losses(self, ids: Tensor) -> Tensor:
        """Cross-entropy [B, T] of each predicted token for ids [B, T+1], in nats.

        The whole row goes in, as in most training code, and the last logits are dropped: they have no target.
        """
        logits = self.model(ids)[:, :-1]  # [B, T, V]
        targets = ids[:, 1:] if self.shifted else ids[:, :-1]  # unshifted: asked for what it has just been given
        return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")

    def step(self, ids: Tensor, rate: float) -> None:
        """One step of training."""
        loss = self.token_losses(ids).mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.losses.append(loss.item())


def pair(recipe: Recipe, variant: str, generator: torch.Generator) -> tuple[Twin, Twin]:
    """(causal, other) with equal weights. UserError for a variant that does not exist."""
    _one_of("variant", variant, VARIANTS)
    causal = Twin(recipe, "causal", shifted=True)
    other = Twin(recipe, VARIANTS[variant], shifted=variant != "unshifted")
    initialise(causal.model, generator)
    other.model.load_state_dict(copy.deepcopy(causal.model.state_dict()))
    return causal, other


def initialise(model: LongGPT, generator: torch.Generator) -> None:
    """Weights from N(0, 1/d), less for the projections that write to the stream; zero biases.

    GPT-2's own 0.02 suits a width of 768. At a width of 64 it starts so near zero that for some seeds the
    heads do not find the word to repeat within a few hundred steps.
    """
    std = model.config.width**-0.5
    for name, p in model.named_parameters():
        if p.dim() == 2:
            shrink = (2 * model.config.layers) ** -0.5 if name.endswith("c_proj.weight") else 1.0
            nn.init.normal_(p, 0.0, std * shrink, generator=generator)
        elif name.endswith("bias"):
            nn.init.zeros_(p)


@dataclass(frozen=True)
class Sketch:
    """What a twin wrote in the middle of its training: the share that the grammar accepts, and a few sentences."""

    step: int
    valid: float | None  # None for a language without a grammar
    written: int
    text: str


@dataclass(frozen=True)
class Underway:
    """Where a twin stands: the loss of the step's batch, in nats per token; None before the first step."""

    loss: float | None


@dataclass(frozen=True)
class Judged:
    """How a trained twin stands: loss on fresh sequences, loss without a future to read, and what it writes.

    `repeats_input` and `says_next` are shares of positions of fresh rows, `repeats` the share of written words that
    equal the word before them: what each mistake teaches differs, and these tell them apart.
    """

    loss: float
    error: float  # standard error of the loss
    writing_loss: float
    valid: float | None  # share of the sentences that the grammar accepts; None for a language without one
    written: int
    repeats_input: float
    says_next: float
    repeats: float
    text: str
    right: list[list[bool]] | None  # word by word
    losses: list[float]


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


@torch.no_grad()
def judge(twin: Twin, data: Data, seed: int, pause: Callable[[], None] = lambda: None) -> Judged:
    """What a trained twin is worth, on sequences that were not in its training."""
    fresh = torch.Generator().manual_seed(seed + MAX_SEED + 1)  # no sequence of the training
    ids = data.draw(EVALUATED, fresh)
    each = twin.token_losses(ids).mean(dim=1)  # [EVALUATED]
    pause()
    alone = next_token_losses(twin.model, ids[:PREFIXED])
    pause()
    ids_written = write(twin.model, SAMPLES, fresh)  # [SAMPLES, 17]
    words = [[WORDS[i] for i in row] for row in ids_written.tolist()]
    pause()
    told = twin.model(ids)[:, :-1].argmax(dim=-1)  # [EVALUATED, T]: its favourite with the whole row beside it
    grammatical = data is DATA["sentences"]
    return Judged(
        loss=each.mean().item(),
        error=each.std().item() / EVALUATED**0.5,
        writing_loss=alone.mean().item(),
        valid=sum(map(accepts, words)) / SAMPLES if grammatical else None,
        written=SAMPLES,
        repeats_input=(told == ids[:, :-1]).double().mean().item(),  # it says the word it has just been given
        says_next=(told == ids[:, 1:]).double().mean().item(),  # it says the word that really follows
        repeats=(ids_written[:, 1:] == ids_written[:, :-1]).double().mean().item(),  # of its own last word, writing
        text="\n".join(" ".join(sentence) for sentence in words[:SHOWN]),
        right=[verdict(sentence) for sentence in words[:SHOWN]] if grammatical else None,
        losses=[float(f"{loss:.4g}") for loss in twin.losses],
    )


def sketch(twin: Twin, data: Data, step: int, seed: int) -> Sketch:
    """What a twin writes in the middle of its training: the share that the grammar accepts, and a few sentences.

    The same draws each time, and none of the training's own, so that pausing changes nothing.
    """
    ids = write(twin.model, SKETCHED, torch.Generator().manual_seed(seed + MAX_SEED + 2))
    words = [[WORDS[i] for i in row] for row in ids.tolist()]
    valid = sum(map(accepts, words)) / SKETCHED if data is DATA["sentences"] else None
    return Sketch(step, valid, SKETCHED, "\n".join(" ".join(each) for each in words[:QUOTED]))


@torch.no_grad()
def next_token_losses(model: LongGPT, ids: Tensor) -> Tensor:
    """Cross-entropy [B, T] of the true next token when the model is given the prefix alone, as in writing."""
    columns = [
        F.cross_entropy(model(ids[:, : t + 1])[:, -1], ids[:, t + 1], reduction="none") for t in range(ids.size(1) - 1)
    ]
    return torch.stack(columns, dim=1)


@torch.no_grad()
def write(model: LongGPT, count: int, generator: torch.Generator) -> Tensor:
    """Ids [count, 17] written after a full stop, sampled at temperature 1; what is to the right does not exist yet."""
    ids = torch.full((count, 1), ID["."])
    for _ in range(LENGTH):
        p = model(ids)[:, -1].softmax(dim=-1)  # [count, V]
        ids = torch.cat([ids, torch.multinomial(p, 1, generator=generator)], dim=1)
    return ids[:, 1:]


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
    machine = f"{platform.system()} {platform.machine()}, {torch.get_num_threads()} threads"
    today = datetime.now(UTC).date().isoformat()
    return {"recorded": today, "versions": versions, "machine": machine, "causal": causal, "runs": runs}


def recorded(recording: Mapping[str, Any], variant: str, data: str) -> dict[str, Any]:
    """One run out of what `record` kept, with both twins. UserError for one that is not there."""
    for run in recording["runs"]:
        if (run["variant"], run["data"]) == (variant, data):
            return {**run, "causal": recording["causal"][data]}
    raise UserError("not_recorded", variant=variant, data=data, known=[f"{a} {b}" for a, b in RECORDED])


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the twins in all variants and keep the runs in a file; the page shows them until it is asked to train."""
    parser = argparse.ArgumentParser(prog="python -m gptviz.lab.teaching.twins", description=main.__doc__)
    parser.add_argument("--record", type=Path, required=True, metavar="FILE", help="where to write the runs, as JSON")
    parser.add_argument("--seed", type=int, default=0, help="seed of the start, the data and the writing (default: 0)")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (default: 1)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    seed = f" --seed {options.seed}" if options.seed else ""
    command = f"python -m gptviz.lab.teaching.twins --record {options.record.as_posix()}{seed}"
    found = json.dumps({"command": command, **record(options.seed)}, separators=(",", ":"))
    options.record.write_text(found + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
