"""What the model would say after each layer, and how surprised it was by each token it read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Run, Runs
from gptviz.lab import surprise as losses
from gptviz.lab.writing.sampling import entropy

ROWS = 256  # logits rows in memory at once


@dataclass(frozen=True)
class Reading:
    """The prediction read off the residual stream after `layer` blocks (0: the embedding alone)."""

    layer: int
    ids: list[int]  # the likeliest, best first
    p: list[float]
    entropy: float  # nats
    final_p: float  # what this layer gives the token that the last layer likes best
    final_rank: int  # 1 when it is this layer's favourite too


@dataclass(frozen=True)
class Surprise:
    """−ln p of every token after the first, in nats; their mean is the loss, and exp(loss) the perplexity."""

    nats: list[float]  # [T − 1]
    loss: float | None  # None for a text of one token
    perplexity: float | None


@dataclass(frozen=True)
class Read:
    """What one pass over a text tells: the run with its residual stream, the last logits [V], and the surprise."""

    run: Run
    logits: Tensor
    surprise: Surprise


def logit_lens(decoder: Decoder, run: Run, position: int, *, count: int = 5) -> list[Reading]:
    """Final norm and LM head applied to the stream [L+1, d] at one position (−1: the last), layer by layer.

    The run must have kept its residual stream. UserError when the position or count is out of range.
    """
    if run.residual is None:
        raise ValueError("the logit lens needs a run with residual=True")  # not words: a mistake in code
    T = len(run.ids)
    if not -T <= position < T:
        raise UserError("position", value=position, n=T, last=T - 1)
    if not 1 <= count <= decoder.shape.vocabulary:
        raise UserError("whole_between", name="count", value=count, low=1, high=decoder.shape.vocabulary)
    p = decoder.head(run.residual[:, position]).double().softmax(-1)  # [L+1, V]
    final = int(p[-1].argmax())
    top = p.topk(count, dim=-1)  # [L+1, count]
    rank = (p > p[:, final, None]).sum(-1) + 1  # [L+1]
    return [
        Reading(
            layer,
            top.indices[layer].tolist(),
            top.values[layer].tolist(),
            entropy(p[layer]),
            float(p[layer, final]),
            int(rank[layer]),
        )
        for layer in range(len(p))
    ]


def surprise(run: Run) -> Surprise:
    """Surprise of each token given all before it, from one pass over the text (a run with all its logits)."""
    return _surprise(run.ids, (run.logits[start : start + ROWS] for start in range(0, len(run.ids) - 1, ROWS)))


def surprise_of(decoder: Decoder, ids: Sequence[int], *, runs: Runs | None = None) -> Surprise:
    """The same for a text of any length.

    The logits of a long text are made a few rows at a time: [T, V] in one piece would be gigabytes.
    """
    runs = runs or decoder.run
    if len(ids) <= ROWS:
        return surprise(runs(ids))
    run = runs(ids, residual=True, last_only=True)
    assert run.residual is not None
    last = run.residual[-1]  # [T, d]
    try:
        parts = (decoder.head(last[start : start + ROWS]) for start in range(0, len(ids) - 1, ROWS))
        return _surprise(run.ids, parts)
    except UserError:  # a model that does more to its logits than norm and head
        return surprise(runs(ids))


def read(decoder: Decoder, ids: Sequence[int], *, runs: Runs | None = None) -> Read:
    """One pass over a text: the last logits, every token's surprise, and the stream for the logit lens."""
    run = (runs or decoder.run)(ids, residual=True, last_only=len(ids) > ROWS)
    return Read(run, run.logits[-1], surprise_of(decoder, ids, runs=runs))


def _surprise(ids: Sequence[int], parts: Iterable[Tensor]) -> Surprise:
    """`parts` are the logits of the text in order, some rows [n, V] at a time."""
    nats: list[float] = []
    for part in parts:
        targets = ids[len(nats) + 1 : len(nats) + 1 + len(part)]  # [n]; none follows the last token
        nats += losses.surprisal(part[: len(targets)], targets).tolist()
    if not nats:
        return Surprise([], None, None)
    loss = math.fsum(nats) / len(nats)
    return Surprise(nats, loss, losses.perplexity(loss))
