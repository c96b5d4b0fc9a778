"""The KV cache at work: one text written in two lanes, without and with the cache, counted and measured."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Step, Underway
from gptviz.decoder.tokens import Token
from gptviz.lab.writing.work import Meter, Work

MAX_NEW_TOKENS = 512  # the lane without a cache is quadratic
PAUSE_S = 0.2
LANES = ("cached", "uncached")
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 1.0, torch.float16: 0.25}  # of a logit
MARGIN = 4  # times the rounding that was measured: the cached lane groups its sums in yet another way
COMPARED = 8  # differing choices whose logits are kept and measured


# The race


@dataclass(frozen=True)
class Lane:
    """One lane's step: the token it would choose, what it did, and how long that took on this device."""

    id: int
    work: Work
    seconds: float


@dataclass(frozen=True)
class RaceStep:
    """One step of both lanes. `delta` is the largest |Δ| between their logits [V]."""

    index: int
    cached: Lane
    uncached: Lane
    delta: float
    gap: float  # how far apart the two chosen tokens are in the reference's logits; 0 where both chose the same
    cache_bytes: int
    formula_bytes: int

    @property
    def agrees(self) -> bool:
        """True when both lanes would choose the same token."""
        return self.cached.id == self.uncached.id

    @property
    def id(self) -> int:
        """The token written: the choice of the lane without a cache, which is the reference."""
        return self.uncached.id


@dataclass(frozen=True)
class Disagreements:
    """The steps at which the two lanes would have chosen different tokens.

    `delta` is the largest |Δ| of their logits there, `gap` how far apart the two chosen tokens are at the most, and
    `rounding` the largest |Δ| that other shapes alone made there, measured on this text without any cache.
    """

    DERIVED: ClassVar = ("explained",)

    steps: list[int]
    delta: float
    gap: float
    rounding: float

    @property
    def explained(self) -> bool:
        """True where the candidates were closer than the rounding, and the lanes differ by no more than that allows."""
        return self.gap <= 2 * self.rounding and self.delta <= MARGIN * self.rounding


@dataclass
class Race:
    """One prompt continued greedily in two lanes at once; iterate to run it.

    It yields itself as far as it is: after each step, after the first lane of one, whenever PAUSE_S went into one
    lane, so that a caller can stop in between, and once more when it is over. Both lanes read the same text, the lane
    without a cache being the reference, so that the logits stay comparable where a rounding difference turns a choice.
    The race runs on past an end-of-text token, since it compares N against N. UserError for a bad number of tokens, or
    a prompt that fills the context.
    """

    decoder: Decoder
    prompt: Sequence[int]
    new_tokens: int
    steps: list[RaceStep] = field(default_factory=list)
    differing: dict[int, Tensor] = field(default_factory=dict)  # the reference's logits [V] at the first such steps
    differ: Disagreements | None = None  # known when the race is over
    total: dict[str, Work] = field(default_factory=lambda: dict.fromkeys(LANES, Work()))
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LANES, 0.0))

    def __post_init__(self) -> None:
        self.prompt = self.decoder.check_ids(self.prompt)
        check_new_tokens(self.new_tokens)
        if self.room == 0:
            raise UserError("context_full", n=len(self.prompt), model=self.decoder.name)
        self.meter = Meter(self.decoder)

    @property
    def room(self) -> int:
        """How many tokens will be written: the number asked for, or what the context leaves."""
        return min(self.new_tokens, self.decoder.shape.context - len(self.prompt))

    @property
    def stop(self) -> str:
        """Why it ends: "length", or "context" where no position is left for another token."""
        return "length" if self.room == self.new_tokens else "context"

    def __iter__(self) -> Generator[Race]:
        written: list[int] = []  # by the reference
        wished: list[int] = []  # by the cached lane

        def reference(logits: Tensor) -> int:
            written.append(int(logits.argmax()))
            return written[-1]

        def follow(logits: Tensor) -> int:
            wished.append(int(logits.argmax()))
            return written[len(wished) - 1]

        stream = partial(self.decoder.stream_in_pieces, self.prompt, max_new_tokens=self.room, every=PAUSE_S)
        fast = stream(follow)
        for uncached in stream(reference, use_cache=False):
            yield self
            if isinstance(uncached, Underway):
                continue
            while isinstance(cached := next(fast), Underway):
                yield self
            self._record(uncached, cached, wished[-1])
            yield self
        self.differ = self._disagreements()
        yield self

    def _record(self, uncached: Step, cached: Step, wish: int) -> None:
        assert uncached.logits is not None
        assert cached.logits is not None
        held = len(self.prompt) + uncached.index  # positions whose K and V are kept after this step
        step = RaceStep(
            index=uncached.index,
            cached=Lane(wish, self._work(held - cached.positions, cached), cached.seconds),
            uncached=Lane(uncached.id, self._work(0, uncached), uncached.seconds),
            delta=float((uncached.logits - cached.logits).abs().max()),
            gap=float(uncached.logits[uncached.id] - uncached.logits[wish]),
            cache_bytes=cached.cache_bytes,
            formula_bytes=self.meter.cache_bytes(held),
        )
        if not step.agrees and len(self.differing) < COMPARED:
            self.differing[step.index] = uncached.logits
        self.steps.append(step)
        for lane in LANES:
            done: Lane = getattr(step, lane)
            self.total[lane] += done.work
            self.seconds[lane] += done.seconds

    def _work(self, past: int, step: Step) -> Work:
        return self.meter.step(past, step.positions, step.expert_bytes)

    def _disagreements(self) -> Disagreements | None:
        """Where the lanes would have chosen differently, and whether rounding explains it; None where nowhere.

        Rounding is measured, not assumed: the reference's logits at those steps against the same positions of one run
        over the whole text. No cache is in that, only other shapes. Runs the model once.
        """
        steps = [step for step in self.steps if not step.agrees]
        if not steps:
            return None
        text = [*self.prompt, *(step.id for step in self.steps)]
        whole = self.decoder.run(text[:-1]).logits  # [T, V]
        first = len(self.prompt) - 1
        found = [float((whole[first + n] - logits).abs().max()) for n, logits in self.differing.items()]
        return Disagreements(
            steps=[step.index for step in steps],
            delta=max(step.delta for step in steps),
            gap=max(step.gap for step in steps),
            rounding=max(found),
        )

    @property
    def max_delta(self) -> float:
        """The largest logit difference so far."""
        return max((step.delta for step in self.steps), default=0.0)

    def bill(self) -> Bill:
        """What the steps run so far came to."""
        last = self.steps[-1] if self.steps else None
        tokens = self.decoder.tokenizer.tokens([*self.prompt, *(step.id for step in self.steps)])
        return Bill(
            prompt_tokens=len(self.prompt),
            new_tokens=len(self.steps),
            asked=self.new_tokens,
            stop=self.stop if len(self.steps) == self.room else "",
            **by_lane(self.total),
            seconds=dict(self.seconds),
            cache_bytes={
                "formula": last.formula_bytes if last else 0,
                "measured": last.cache_bytes if last else 0,
                "per_token": self.meter.token_bytes,
                "bounded_layers": sum(rows.most is not None for rows in self.meter.cache_rows),
            },
            experts=[Stack(stack.count, stack.active, stack.bytes) for stack in self.meter.stacks],
            same_tokens=all(step.agrees for step in self.steps),
            max_logit_delta=self.max_delta,
            differ=self.differ,
            tolerance=TOLERANCE[self.decoder.dtype],
            dtype=str(self.decoder.dtype).removeprefix("torch."),
            tokens=tokens,
            steps=[step_bill(step) for step in self.steps],
        )


ByLane = dict[str, int]  # {"cached": …, "uncached": …}


@dataclass(frozen=True)
class StepBill:
    """One step of a race as it is handed out, each figure lane by lane."""

    index: int
    id: int
    positions: ByLane
    rows_computed: ByLane
    rows_reused: ByLane
    flops: ByLane
    bytes: ByLane
    seconds: dict[str, float]
    max_logit_delta: float
    agrees: bool
    gap: float
    cache_bytes: dict[str, int]


@dataclass(frozen=True)
class Stack:
    """The experts of one layer: how many, how many of them a position goes through, and the bytes of one."""

    count: int
    active: int
    bytes_each: int


@dataclass(frozen=True)
class Bill:
    """A race as it is handed out: its sums so far, lane by lane, and its steps."""

    prompt_tokens: int
    new_tokens: int
    asked: int
    stop: str
    positions: ByLane
    rows_computed: ByLane
    rows_reused: ByLane
    flops: ByLane
    bytes: ByLane
    seconds: dict[str, float]
    cache_bytes: dict[str, int]
    experts: list[Stack]
    same_tokens: bool
    max_logit_delta: float
    differ: Disagreements | None
    tolerance: float
    dtype: str
    tokens: list[Token]
    steps: list[StepBill]


def by_lane(work: dict[str, Work]) -> dict[str, Any]:
    """{figure: {lane: value}} from {lane: Work}."""
    return {each.name: {lane: getattr(done, each.name) for lane, done in work.items()} for each in fields(Work)}


def step_bill(step: RaceStep) -> StepBill:
    """One step as it is handed out."""
    lanes: dict[str, Lane] = {lane: getattr(step, lane) for lane in LANES}
    return StepBill(
        index=step.index,
        id=step.id,
        **by_lane({lane: done.work for lane, done in lanes.items()}),
        seconds={lane: done.seconds for lane, done in lanes.items()},
        max_logit_delta=step.delta,
        agrees=step.agrees,
        gap=step.gap,
        cache_bytes={"formula": step.formula_bytes, "measured": step.cache_bytes},
    )


def check_new_tokens(new_tokens: int) -> int:
    """The number of tokens to write. UserError unless it is a whole number from 1 to MAX_NEW_TOKENS."""
    whole = isinstance(new_tokens, int) and not isinstance(new_tokens, bool)
    if not whole or not 1 <= new_tokens <= MAX_NEW_TOKENS:
        raise UserError("whole_between", name="new_tokens", value=new_tokens, low=1, high=MAX_NEW_TOKENS)
    return new_tokens
