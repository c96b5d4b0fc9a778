"""All heads at once: small pictures of the weights, and what kind of head each one is, by measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import adaptive_max_pool2d

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.masks import Reach, reach_shown
from gptviz.decoder.pieces import distinct, opening
from gptviz.decoder.run import LayerAttention, Runs
from gptviz.lab.looking import readable
from gptviz.lab.looking.watch import watch

# Unrelated words in no order, said twice: what follows the earlier copy is the only clue to what comes next.
PROBE = (
    "horse letter green two bread moon chair queen road summer "  # not words: a text to read
    "fish door apple river blue happy box milk tree boy"
)
NEAR = 4  # a local head reads the token itself and the three before it
FIRST_ROW = 2  # rows 0 and 1 have too few keys to tell one kind from another

# A head is of the first kind whose measure reaches its bound.
BOUNDS = {"induction": 0.3, "previous": 0.5, "first": 0.5, "resting": 0.5, "broad": 0.85, "local": 0.6}


@dataclass(frozen=True)
class HeadStat:
    """What one head does: shares of weight averaged over rows, entropy in nats, and the kind that follows.

    `rests` is the share of one token, other than the first, in all rows after it (see `readable`); `near` that of the
    token itself and the three before it; `evenness` the entropy as a share of the largest there can be. `singled` says
    how far the last row singles out one earlier word, `reads` which.
    """

    layer: int
    head: int
    kind: str
    entropy: float
    first_token: float
    previous_token: float
    induction: float
    near: float = 0.0
    evenness: float = 0.0
    rests: float = 0.0
    rests_on: int = 0
    singled: float = 0.0
    reads: int = 0
    parked: float = 0.0

    @property
    def resting(self) -> float:
        """`rests`, by the name of its kind."""
        return self.rests

    @property
    def measure(self) -> float:
        """The measure that the head's kind is known by; how far it singles out a word where it has no kind."""
        return {
            "induction": self.induction, "previous": self.previous_token, "first": self.first_token,
            "resting": self.rests, "broad": self.evenness, "local": self.near,
        }.get(self.kind, self.singled)  # fmt: skip


@dataclass(frozen=True)
class Panel:
    """Every head of one run: thumbnails uint8 [L, h, S, S] (255 * sqrt(weight)), and the kinds."""

    thumbnails: Tensor
    stats: list[HeadStat]
    pooled: bool  # True when a cell stands for a block of weights (its largest)
    reach: dict[int, Reach]  # what narrows each layer, as far as this text shows it


def panel(
    decoder: Decoder,
    ids: list[int],
    induction: Tensor | None = None,
    *,
    rule: MaskRule = CAUSAL,
    size: int = 32,
    runs: Runs | None = None,
) -> Panel:
    """All heads in one forward pass; `induction` [L, h] is that of `induction_scores`, measured where it is missing.

    Pooled cells keep the largest weight of their block, because an average would hide a thin diagonal.
    """
    induction = induction_scores(decoder, runs=runs) if induction is None else induction
    T, shape = len(ids), decoder.shape
    words = readable.words_of(decoder, ids)  # [T]
    readings: dict[int, readable.Reading] = {}
    side = min(size, T)
    thumbnails = torch.zeros(shape.layers, shape.heads, side, side, dtype=torch.uint8)
    rows: dict[int, Tensor] = {}

    def look(layer: int, _: Tensor, weights: Tensor) -> None:  # [h, T, T]
        pooled = weights if side == T else adaptive_max_pool2d(weights, side)  # [h, S, S]
        thumbnails[layer] = (pooled.sqrt() * 255).round().to(torch.uint8).cpu()
        rows[layer] = row_measures(weights).cpu()  # [4, h, R]
        readings[layer] = readable.reading(weights, words)

    seen = watch(decoder, ids, look, rule=rule, runs=runs).seen
    measures = {layer: averages(found, seen[layer]) for layer, found in rows.items()}  # [5, h] each
    stats = [
        _stat(
            layer, head, measures[layer][:, head].tolist(), float(induction[layer, head]), T, readings[layer].of(head)
        )
        for layer in range(shape.layers)
        for head in range(shape.heads)
    ]
    return Panel(thumbnails, stats, side < T, {layer: reach_shown(mask) for layer, mask in seen.items()})


def measure(weights: Tensor, seen: Tensor | None = None) -> Tensor:
    """Row averages of weights [h, T, T]: entropy (nats), first token, previous token, near tokens, share of ln(keys).

    Returns [5, h]. `seen` [T, T] is the mask in use (None: the plain triangle). Rows before the third are left out
    where there are later ones, and each share leaves out the rows whose mask hides that token: behind a sliding window
    nobody can read the first one. Where no row is left, the share is 0.
    """
    T = weights.shape[-1]
    seen = torch.ones(T, T, dtype=torch.bool).tril() if seen is None else seen
    return averages(row_measures(weights), seen.to(weights.device))


def row_measures(weights: Tensor) -> Tensor:
    """Of each row of weights [h, T, T]: entropy, and the shares of first, previous and near tokens: [4, h, R]."""
    T = weights.shape[-1]
    rows = weights[:, min(FIRST_ROW, T - 1) :]  # [h, R, T]
    index = torch.arange(T - rows.shape[1], T, device=weights.device)  # [R]
    entropy = -torch.special.xlogy(rows, rows).sum(-1)  # [h, R]
    previous = rows.gather(-1, (index - 1).clamp(min=0)[None, :, None].expand(len(rows), -1, 1))[:, :, 0]  # [h, R]
    back = index[:, None] - torch.arange(T, device=weights.device)[None]  # [R, T]
    near = (rows * ((back >= 0) & (back < NEAR))).sum(-1)  # [h, R]
    return torch.stack([entropy, rows[:, :, 0], previous, near])


def averages(rows: Tensor, seen: Tensor) -> Tensor:
    """The means over the rows that can read what a share is of: [4, h, R] and the mask [T, T] → [5, h]."""
    entropy, first, previous, near = rows
    R, T = entropy.shape[1], len(seen)
    tail = seen[T - R :]  # [R, T]
    ceiling = tail.sum(-1).log().clamp(min=1e-9)  # [R]: of a row that spreads its weight evenly
    index = torch.arange(T - R, T, device=seen.device)
    before = tail[torch.arange(R, device=seen.device), (index - 1).clamp(min=0)]  # [R]
    everywhere = torch.ones(R, dtype=torch.bool, device=seen.device)
    return torch.stack([
        _mean_over(entropy, everywhere), _mean_over(first, tail[:, 0]), _mean_over(previous, before),
        _mean_over(near, everywhere), _mean_over(entropy / ceiling, everywhere),
    ])  # fmt: skip


def _mean_over(values: Tensor, rows: Tensor) -> Tensor:
    """The mean of values [h, R] over some rows [R]; 0 where there is none."""
    return (values * rows).sum(-1) / rows.sum().clamp(min=1)


def induction_scores(decoder: Decoder, *, runs: Runs | None = None) -> Tensor:
    """How much each head reads the token after the earlier copy of its own token: [L, h], 0 to 1.

    Measured on unrelated words said twice, as is usual (Olsson et al., 2022, "In-context learning and induction
    heads"), because an ordinary sentence repeats too little. Everyday words and not random tokens: a small model has
    never met most of its vocabulary.
    """
    once = distinct(decoder.tokenizer, PROBE.split(), decoder.shape.vocabulary)
    length = min(len(once), (decoder.shape.context - 1) // 2)
    ids = [opening(decoder.tokenizer, decoder.shape.vocabulary), *once[:length], *once[:length]]  # [1 + 2n]
    scores = torch.zeros(decoder.shape.layers, decoder.shape.heads)
    rows = torch.arange(1 + length, 1 + 2 * length)

    def look(layer: int, _: Tensor, weights: Tensor) -> None:
        scores[layer] = weights[:, rows, rows - length + 1].mean(-1).cpu()  # [h]

    watch(decoder, ids, look, runs=runs)
    return scores


def _stat(
    layer: int, head: int, measures: list[float], induction: float, T: int, read: readable.OneReading = readable.NOTHING
) -> HeadStat:
    entropy, first, previous, near, share = measures
    reached = {
        "induction": induction, "previous": previous, "first": first, "resting": read.rests, "broad": share,
        "local": near,
    }  # fmt: skip
    kind = next((name for name, bound in BOUNDS.items() if reached[name] >= bound), "mixed")
    if T <= FIRST_ROW or (kind == "local" and T <= 2 * NEAR):
        kind = "induction" if induction >= BOUNDS["induction"] else "mixed"  # too short to tell the rest apart
    entropy = entropy if math.isfinite(entropy) else 0.0
    return HeadStat(
        layer, head, kind, entropy, first, previous, induction, near, share, read.rests, read.rests_on,
        read.singled, read.at, read.parked,
    )  # fmt: skip


STAGES = ("scores", "masked", "weights")


def stage_of(attention: LayerAttention, head: int, stage: str) -> Tensor:
    """One head's matrix [T, T] at a stage: scores, masked (−inf where the mask in use hides a key) or weights."""
    if stage == "weights":
        return attention.weights[head]
    scores = attention.scores[head]
    return scores if stage == "scores" else scores.masked_fill(~attention.seen, float("-inf"))
