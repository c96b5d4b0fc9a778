"""All heads at once: small pictures of the weights, and what kind of head each one is, by measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import adaptive_max_pool2d

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.run import LayerAttention, Runs
from gptviz.lab.looking.watch import watch

# Unrelated words in no order, said twice: what follows the earlier copy is the only clue to what comes next.
PROBE = "horse letter green two bread moon chair queen road summer fish door apple river blue happy box milk tree boy"
NEAR = 4  # a local head reads the token itself and the three before it
FIRST_ROW = 2  # rows 0 and 1 have too few keys to tell one kind from another

# A head is of the first kind whose measure reaches its bound.
BOUNDS = {"induction": 0.3, "previous": 0.5, "first": 0.5, "broad": 0.85, "local": 0.6}


@dataclass(frozen=True)
class HeadStat:
    """What one head does: shares of weight averaged over rows, entropy in nats, and the kind that follows."""

    layer: int
    head: int
    kind: str
    entropy: float
    first_token: float
    previous_token: float
    induction: float


@dataclass(frozen=True)
class Panel:
    """Every head of one run: thumbnails uint8 [L, h, S, S] (255 * sqrt(weight)), and the kinds."""

    thumbnails: Tensor
    stats: list[HeadStat]
    pooled: bool  # True when a cell stands for a block of weights (its largest)


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
    side = min(size, T)
    thumbnails = torch.zeros(shape.layers, shape.heads, side, side, dtype=torch.uint8)
    measures: dict[int, Tensor] = {}

    def look(layer: int, _: Tensor, weights: Tensor) -> None:  # [h, T, T]
        pooled = weights if side == T else adaptive_max_pool2d(weights, side)  # [h, S, S]
        thumbnails[layer] = (pooled.sqrt() * 255).round().to(torch.uint8).cpu()
        measures[layer] = measure(weights).cpu()  # [5, h]

    watch(decoder, ids, look, rule=rule, runs=runs)
    stats = [
        _stat(layer, head, measures[layer][:, head].tolist(), float(induction[layer, head]), T)
        for layer in range(shape.layers)
        for head in range(shape.heads)
    ]
    return Panel(thumbnails, stats, side < T)


def measure(weights: Tensor) -> Tensor:
    """Row averages of weights [h, T, T]: entropy (nats), first token, previous token, near tokens, share of ln(keys).

    Returns [5, h]. Rows before the third are left out where there are later ones.
    """
    T = weights.shape[-1]
    rows = weights[:, min(FIRST_ROW, T - 1) :]  # [h, R, T]
    first_row = T - rows.shape[1]
    entropy = -torch.special.xlogy(rows, rows).sum(-1)  # [h, R]
    ceiling = torch.arange(first_row + 1, T + 1, device=weights.device).log().clamp(min=1e-9)  # [R]
    index = torch.arange(first_row, T, device=weights.device)  # [R]
    previous = rows.gather(-1, (index - 1).clamp(min=0)[None, :, None].expand(len(rows), -1, 1))[:, :, 0]  # [h, R]
    back = index[:, None] - torch.arange(T, device=weights.device)[None]  # [R, T]
    near = (rows * ((back >= 0) & (back < NEAR))).sum(-1)  # [h, R]
    measures = torch.stack([entropy, rows[:, :, 0], previous, near, entropy / ceiling])  # [5, h, R]
    return measures.mean(-1)  # [5, h]


def induction_scores(decoder: Decoder, *, runs: Runs | None = None) -> Tensor:
    """How much each head reads the token after the earlier copy of its own token: [L, h], 0 to 1.

    Measured on unrelated words said twice, as is usual (Olsson et al., 2022, "In-context learning and induction
    heads"), because an ordinary sentence repeats too little. Everyday words and not random tokens: a small model has
    never met most of its vocabulary.
    """
    once = [decoder.tokenizer.encode(f" {word}", begin=False)[0] for word in PROBE.split()]
    length = min(len(once), (decoder.shape.context - 1) // 2)
    ids = [decoder.tokenizer.end_of_text, *once[:length], *once[:length]]  # [1 + 2n]
    scores = torch.zeros(decoder.shape.layers, decoder.shape.heads)
    rows = torch.arange(1 + length, 1 + 2 * length)

    def look(layer: int, _: Tensor, weights: Tensor) -> None:
        scores[layer] = weights[:, rows, rows - length + 1].mean(-1).cpu()  # [h]

    watch(decoder, ids, look, runs=runs)
    return scores


def _stat(layer: int, head: int, measures: list[float], induction: float, T: int) -> HeadStat:
    entropy, first, previous, near, share = measures
    reached = {"induction": induction, "previous": previous, "first": first, "broad": share, "local": near}
    kind = next((name for name, bound in BOUNDS.items() if reached[name] >= bound), "mixed")
    if T <= FIRST_ROW or (kind == "local" and T <= 2 * NEAR):
        kind = "induction" if induction >= BOUNDS["induction"] else "mixed"  # too short to tell the rest apart
    return HeadStat(layer, head, kind, entropy if math.isfinite(entropy) else 0.0, first, previous, induction)


STAGES = ("scores", "masked", "weights")


def stage_of(layer: LayerAttention, head: int, stage: str, seen: Tensor) -> Tensor:
    """One head's matrix [T, T] at a stage: scores, masked (−inf where `seen` [T, T] is False) or weights."""
    if stage == "weights":
        return layer.weights[head]
    scores = layer.scores[head]
    return scores if stage == "scores" else scores.masked_fill(~seen, float("-inf"))
