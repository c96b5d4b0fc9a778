"""Prefix invariance: the output at a position may depend on the tokens up to it, and on nothing after.

Two ways to look. *edit* replaces everything after the prefix; both runs have the same shape, so unchanged means
bit-equal. *truncate* leaves it away; a shorter run rounds differently, so unchanged means within the float noise
of the dtype. Differences are those of the logits, largest over the vocabulary. `evidence` runs a check again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gptviz.decoder.attention import CAUSAL, MaskRule, allowed
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Runs
from gptviz.decoder.tokens import Token
from gptviz.lab.masking import leak, movement
from gptviz.lab.masking.basis import Basis, equal_shapes, shorter
from gptviz.lab.masking.movement import Movement
from gptviz.lab.surprise import surprisal

METHODS = ("edit", "truncate")
TOY_WORDS = ("the", "cat", "sat", "down")
TOY_WIDTH = 8


@dataclass(frozen=True)
class Check:
    """One prefix of one prompt: largest |Δ logit| at each of its `keep` positions, and what was run against what.

    `guesses` says the same of the probabilities; `loss` is the mean surprise of the unedited text, in nats.
    """

    ids: list[int]
    other: list[int]
    keep: int
    method: str
    rule: MaskRule
    deltas: Tensor
    basis: Basis
    guesses: Movement
    loss: float

    @property
    def tolerance(self) -> float:
        return self.basis.tolerance

    @property
    def changed(self) -> list[bool]:
        return [delta > self.tolerance for delta in self.deltas.tolist()]


@dataclass(frozen=True)
class AllPrefixes:
    """Every prefix length 1 … T-1: deltas [T-1, T], row n-1 for length n, zero where there is nothing to compare."""

    ids: list[int]
    method: str
    rule: MaskRule
    deltas: Tensor
    basis: Basis

    @property
    def tolerance(self) -> float:
        return self.basis.tolerance

    @property
    def changed(self) -> Tensor:
        return self.deltas > self.tolerance  # [T-1, T]


@dataclass(frozen=True)
class Toy:
    """Single attention over four words: outputs for all four and for the first three, [4, d] and [3, d]."""

    DERIVED: ClassVar = ("deltas",)

    vectors: Tensor
    full: Tensor
    short: Tensor

    @property
    def deltas(self) -> Tensor:
        return (self.full[:3] - self.short).abs().amax(-1)  # [3]


def toy(masked: bool, seed: int = 0) -> Toy:
    """One attention, as small as it gets: four random word vectors, three random matrices, and a mask or none."""
    x, attend = _toy_attention(len(TOY_WORDS), seed)
    seen = allowed("causal" if masked else "none", 4, 4)  # [T, T]
    return Toy(x, attend(x, seen), attend(x[:3], seen[:3, :3]))


def chunk_toy(length: int = 8, chunk: int = 4, seed: int = 0) -> Tensor:
    """Every prefix of the toy when its mask leaks inside chunks: largest |Δ| by prefix length and position.

    [length-1, length]; a mistake real code has made. A prefix that ends at a chunk border shows nothing.
    """
    x, attend = _toy_attention(length, seed)
    place = torch.arange(length) // chunk
    seen = place[None, :] <= place[:, None]  # [T, T]: the past, and the rest of the own chunk
    full = attend(x, seen)  # [T, d]
    deltas = torch.zeros(length - 1, length)
    for n in range(1, length):
        deltas[n - 1, :n] = (full[:n] - attend(x[:n], seen[:n, :n])).abs().amax(-1)
    return deltas


def _toy_attention(T: int, seed: int) -> tuple[Tensor, Callable[[Tensor, Tensor], Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(T, TOY_WIDTH, generator=generator)  # [T, d]
    Wq, Wk, Wv = torch.randn(3, TOY_WIDTH, TOY_WIDTH, generator=generator) / TOY_WIDTH**0.5

    def attend(x: Tensor, seen: Tensor) -> Tensor:
        scores = (x @ Wq) @ (x @ Wk).T / TOY_WIDTH**0.5  # [T, T]
        return scores.masked_fill(~seen, float("-inf")).softmax(-1) @ (x @ Wv)  # [T, d]

    return x, attend


def check(
    decoder: Decoder,
    ids: list[int],
    keep: int,
    rule: MaskRule = CAUSAL,
    method: str = "truncate",
    ending: Sequence[int] | None = None,
    *,
    runs: Runs | None = None,
) -> Check:
    """Compare the first `keep` outputs of the prompt with those of another run that shares only those tokens.

    UserError where `second_prompt` has none.
    """
    runs = runs or decoder.run
    other = second_prompt(decoder, ids, keep, method, ending)
    basis = equal_shapes(decoder)
    full = runs(ids, rule=rule, one_row=basis.one_row).logits  # [T, V]
    again = runs(other, rule=rule, one_row=basis.one_row).logits  # [T or keep, V]
    deltas = leak.finite((full[:keep] - again[:keep]).abs().amax(-1), decoder)  # [keep]
    guesses, loss = movement.between(full[:keep], again[:keep]), float(surprisal(full[:-1], ids[1:]).mean())
    limit = basis if method == "edit" else shorter(decoder, full)
    return Check(ids, other, keep, method, rule, deltas, limit, guesses, loss)


def second_prompt(
    decoder: Decoder, ids: list[int], keep: int, method: str, ending: Sequence[int] | None = None
) -> list[int]:
    """A prompt that shares the first `keep` tokens and nothing else.

    `ending` replaces the rest in the method "edit", repeated or cut to its length; without it every token after
    the prefix becomes another. UserError for a keep outside 1 … T-1, an unknown method, or an ending that
    changes nothing.
    """
    check_method(method)
    T = len(ids)
    if not 1 <= keep < T:
        raise UserError("keep", value=keep, n=T, last=T - 1)
    if method == "truncate":
        other = ids[:keep]
    elif ending:
        other = ids[:keep] + [ending[i % len(ending)] for i in range(T - keep)]
    else:
        other = leak.replaced(decoder, ids, range(keep, T), leak.one_token(decoder, leak.REPLACEMENT))
    if other == ids:
        raise UserError("same_ending")
    return other


def check_all(decoder: Decoder, ids: list[int], rule: MaskRule = CAUSAL, method: str = "edit") -> AllPrefixes:
    """Every prefix length; finds a leak of any shape, those that stop at chunk borders too.

    "edit" runs them in batches of equal shape. "truncate" runs each prefix by itself, as long as it is: padded to one
    length they would all do the same sums, and find exact zeros that a shorter text does not have.

    UserError for fewer than 2 tokens or more than 64.
    """
    return gather(ids, rule, method, all_parts(decoder, ids, rule, method))


def all_parts(decoder: Decoder, ids: list[int], rule: MaskRule, method: str) -> Generator[tuple[Tensor, Basis]]:
    """The rows of `check_all`, a few prefix lengths at a time, so that a caller can stop: ([b, T], basis)."""
    check_method(method)
    T = len(ids)
    if T < 2:
        raise UserError("too_short_for_prefix", n=T)
    leak.check_length(T)
    if method == "truncate":
        return _shorter(decoder, ids, rule)
    word = leak.one_token(decoder, leak.REPLACEMENT)
    edits = [leak.replaced(decoder, ids, range(n, T), word) for n in range(1, T)]
    return ((part, equal_shapes(decoder)) for part in leak.moved(decoder, ids, edits, rule))


def gather(ids: list[int], rule: MaskRule, method: str, parts: Iterable[tuple[Tensor, Basis]]) -> AllPrefixes:
    """The parts put together; row n-1 keeps positions 0 … n-1, since what follows was not kept."""
    rows, bases = zip(*parts, strict=True)
    deltas = torch.cat(rows)  # [T-1, T], or fewer rows while they are being made
    return AllPrefixes(ids, method, rule, deltas * torch.ones_like(deltas, dtype=torch.bool).tril(), bases[0])


def _shorter(decoder: Decoder, ids: list[int], rule: MaskRule) -> Generator[tuple[Tensor, Basis]]:
    one_row = equal_shapes(decoder).one_row
    full = decoder.run(ids, rule=rule, one_row=one_row).logits  # [T, V]
    basis = shorter(decoder, full)
    for n in range(1, len(ids)):
        alone = decoder.run(ids[:n], rule=rule, one_row=one_row).logits  # [n, V]
        part = torch.zeros(1, len(ids))
        part[0, :n] = leak.finite((full[:n] - alone).abs().amax(-1), decoder)
        yield part, basis


def usual_keep(T: int) -> int:
    """How many tokens a check keeps where nobody says: two thirds, and at least one."""
    return max(1, 2 * T // 3)


def check_method(method: str) -> None:
    """UserError for a method that does not exist."""
    if method not in METHODS:
        raise UserError("one_of", name="method", value=method, allowed=METHODS)


@dataclass(frozen=True)
class Position:
    """One position of a prefix: how far its logits moved, and whether that counts as changed."""

    index: int
    token: Token
    max_delta: float
    changed: bool


@dataclass(frozen=True)
class Report:
    """A check in words and numbers: what was run against what, on what basis, and the verdict."""

    tokens: list[Token]
    other: list[Token]
    keep: int
    method: str
    open_layers: list[int]
    direction: str
    positions: list[Position]
    max_delta: float
    tolerance: float
    why: str
    noise: float
    dtype: str
    invariant: bool


def report(decoder: Decoder, found: Check) -> Report:
    """Each position of the prefix, how far it moved, and whether that counts as changed."""
    tokens = decoder.tokenizer.tokens(found.ids)
    columns = zip(tokens, found.deltas.tolist(), found.changed, strict=False)  # the prefix is shorter than the text
    return Report(
        tokens=tokens,
        other=decoder.tokenizer.tokens(found.other),
        keep=found.keep,
        method=found.method,
        open_layers=leak.opened(found.rule, decoder.shape.layers),
        direction=found.rule.direction,
        positions=[Position(index, *column) for index, column in enumerate(columns)],
        max_delta=float(found.deltas.max()),
        **leak.basis_json(found.basis),
        dtype=str(decoder.dtype).removeprefix("torch."),
        invariant=not any(found.changed),
    )


@dataclass(frozen=True)
class FullReport:
    """Every prefix: `matrix` [T-1, T] for length n and position i, NaN where there is nothing to compare."""

    tokens: list[Token]
    method: str
    open_layers: list[int]
    direction: str
    matrix: Tensor
    max_delta: float
    tolerance: float
    why: str
    noise: float
    dtype: str
    checked: int
    changed: int
    invariant: bool


def full_report(decoder: Decoder, found: AllPrefixes) -> FullReport:
    """The same for every prefix length at once."""
    compared = torch.ones_like(found.deltas, dtype=torch.bool).tril()  # [T-1, T]
    return FullReport(
        tokens=decoder.tokenizer.tokens(found.ids),
        method=found.method,
        open_layers=leak.opened(found.rule, decoder.shape.layers),
        direction=found.rule.direction,
        matrix=found.deltas.masked_fill(~compared, torch.nan),
        max_delta=float(found.deltas.max()),
        **leak.basis_json(found.basis),
        dtype=str(decoder.dtype).removeprefix("torch."),
        checked=int(compared.sum()),
        changed=int(found.changed.sum()),
        invariant=not bool(found.changed.any()),
    )


@dataclass(frozen=True)
class Toys:
    """The toy with the mask and without, and every prefix of the one that leaks inside chunks."""

    words: tuple[str, ...]
    keep: int
    masked: Toy
    open: Toy
    chunks: Tensor


def toys() -> Toys:
    """Outputs for four words and for three, and how far the three rows moved."""
    return Toys(TOY_WORDS, 3, toy(True), toy(False), chunk_toy())
