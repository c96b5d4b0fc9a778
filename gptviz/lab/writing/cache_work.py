"""The KV cache at work: one text written in two lanes, without and with the cache, counted and measured."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Step, Underway
from gptviz.decoder.tokens import Token

MAX_NEW_TOKENS = 512  # the lane without a cache is quadratic
PAUSE_S = 0.2
LANES = ("cached", "uncached")
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 1.0, torch.float16: 0.25}  # of a logit


# Counting


def positions(prompt: int, new: int, *, cached: bool) -> int:
    """Token positions run through the model to write `new` tokens after `prompt`, in closed form.

    Without a cache every step runs the whole text: NP + N(N−1)/2. With it the prompt runs once, then one position a
    step; the last token written is never run: P + N − 1.
    """
    if new == 0:
        return 0
    return prompt + new - 1 if cached else new * prompt + new * (new - 1) // 2


@dataclass(frozen=True)
class Work:
    """What a step, or several, did. `rows` are pairs of a K and a V row, one pair a position and layer."""

    positions: int = 0
    rows_computed: int = 0
    rows_reused: int = 0
    flops: int = 0
    bytes: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.positions + other.positions,
            self.rows_computed + other.rows_computed,
            self.rows_reused + other.rows_reused,
            self.flops + other.flops,
            self.bytes + other.bytes,
        )


class Meter:
    """Counts a step's work from the shapes of one model's tensors.

    FLOPs: two for each weight of a matrix and position, four for each query-key pair, head and entry of d_k (scores
    and weighted sum), and the LM head once, since only the last position's logits are used. Norms, activations and
    softmax (below 1 %) are left out. Bytes: what has to move through memory at the least: every weight read once, the
    token rows, K and V of all positions read by the attention, and the new rows written.
    """

    def __init__(self, decoder: Decoder) -> None:
        shape = decoder.shape
        self.layers, self.width = shape.layers, shape.width
        self.per_pair = 4 * shape.heads * shape.head_width * shape.layers
        blocks = [p for layer in decoder.layers for p in layer.parameters()]
        head = decoder.model.get_output_embeddings().weight  # [V, d]
        self.per_position = 2 * sum(p.numel() for p in blocks if p.dim() == 2)
        self.per_head = 2 * head.numel()
        self.element = head.element_size()
        around = [*decoder.norm.parameters(), head]
        self.weight_bytes = sum(p.numel() * p.element_size() for p in [*blocks, *around])
        self.token_bytes = bytes_per_token(shape.layers, shape.kv_heads, shape.head_width, self.element)

    def step(self, past: int, fresh: int) -> Work:
        """The work of running `fresh` positions after `past` kept ones, for the logits of the last."""
        pairs = fresh * past + fresh * (fresh + 1) // 2  # each query with every key up to itself
        return Work(
            positions=fresh,
            rows_computed=fresh * self.layers,
            rows_reused=past * self.layers,
            flops=self.per_position * fresh + self.per_pair * pairs + self.per_head,
            bytes=self.weight_bytes
            + fresh * self.width * self.element
            + (past + fresh) * self.token_bytes
            + fresh * self.token_bytes,
        )


def bytes_per_token(layers: int, kv_heads: int, head_width: int, element: int) -> int:
    """What the cache grows by with each token: 2 · L · h_kv · d_k · bytes of a number."""
    return 2 * layers * kv_heads * head_width * element


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


@dataclass
class Race:
    """One prompt continued greedily in two lanes at once; iterate to run it.

    It yields itself as far as it is: after each step, after the first lane of one, and whenever PAUSE_S went into one
    lane, so that a caller can stop in between. Both lanes read the same text, the lane without a cache being the
    reference, so that the logits stay comparable where a rounding difference turns a choice. The race runs on past an
    end-of-text token, since it compares N against N. UserError for a bad number of tokens, or a prompt that fills the
    context.
    """

    decoder: Decoder
    prompt: Sequence[int]
    new_tokens: int
    steps: list[RaceStep] = field(default_factory=list)
    total: dict[str, Work] = field(default_factory=lambda: dict.fromkeys(LANES, Work()))
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LANES, 0.0))

    def __post_init__(self) -> None:
        self.prompt = self.decoder.check_ids(self.prompt)
        check_new_tokens(self.new_tokens)
        if self.room == 0:
            raise UserError(
                f"The text has {len(self.prompt):,} tokens and fills the context of {self.decoder.name}; "
                "remove at least one to see another written."
            )
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

    def _record(self, uncached: Step, cached: Step, wish: int) -> None:
        assert uncached.logits is not None
        assert cached.logits is not None
        held = len(self.prompt) + uncached.index  # positions whose K and V are kept after this step
        step = RaceStep(
            index=uncached.index,
            cached=Lane(wish, self.meter.step(held - cached.positions, cached.positions), cached.seconds),
            uncached=Lane(uncached.id, self.meter.step(0, uncached.positions), uncached.seconds),
            delta=float((uncached.logits - cached.logits).abs().max()),
            cache_bytes=cached.cache_bytes,
            formula_bytes=held * self.meter.token_bytes,
        )
        self.steps.append(step)
        for lane in LANES:
            done: Lane = getattr(step, lane)
            self.total[lane] += done.work
            self.seconds[lane] += done.seconds

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
            },
            same_tokens=all(step.agrees for step in self.steps),
            max_logit_delta=self.max_delta,
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
    cache_bytes: dict[str, int]


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
    same_tokens: bool
    max_logit_delta: float
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
        cache_bytes={"formula": step.formula_bytes, "measured": step.cache_bytes},
    )


def check_new_tokens(new_tokens: int) -> int:
    """The number of tokens to write. UserError unless it is a whole number from 1 to MAX_NEW_TOKENS."""
    whole = isinstance(new_tokens, int) and not isinstance(new_tokens, bool)
    if not whole or not 1 <= new_tokens <= MAX_NEW_TOKENS:
        raise UserError(f"new_tokens is {new_tokens}; it must be a whole number from 1 to {MAX_NEW_TOKENS}.")
    return new_tokens
