"""A run read layer by layer: the word each place would say, how long its vector is, how far equal tokens part."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Run, Runs

ROWS = 128  # vectors [d] turned into logits [V] at once


@dataclass(frozen=True)
class Depth:
    """What each place would say if the model stopped after each layer; row 0 is the embedding alone."""

    positions: list[int]  # P of them
    ids: Tensor  # [L+1, P] the likeliest token
    p: Tensor  # [L+1, P] its probability


@dataclass(frozen=True)
class Pair:
    """Two places of one token: the cosine of their vectors after each layer, row 0 the embedding."""

    first: int
    second: int
    cosine: Tensor  # [L+1]


@torch.inference_mode()
def depth(decoder: Decoder, run: Run, positions: list[int]) -> Depth:
    """Final norm and LM head on the stream at these positions, a few vectors at a time.

    UserError for a model whose logits are more than that (see `Decoder.head`).
    """
    x = _stream(run)[:, positions]  # [L+1, P, d]
    flat = x.flatten(0, 1)  # [(L+1)·P, d]
    ids, p = [], []
    for part in flat.split(ROWS):
        top = decoder.head(part).softmax(-1).max(-1)  # [n]
        ids.append(top.indices)
        p.append(top.values)
    shape = x.shape[:2]
    return Depth(positions, torch.cat(ids).view(shape), torch.cat(p).view(shape))


@torch.inference_mode()
def sureness(decoder: Decoder, ids: list[int], *, runs: Runs | None = None) -> Tensor:
    """The probability of the likeliest next token after every token: [T], a few rows of logits at a time."""
    run = (runs or decoder.run)(ids, residual=True, last_only=True)
    parts = _stream(run)[-1].split(ROWS)
    return torch.cat([decoder.head(part).softmax(-1).amax(-1) for part in parts])


def pairs(run: Run, most: int = 12) -> list[Pair]:
    """Neighbouring places of equal tokens, and how alike their vectors are on the way up."""
    x = _stream(run)  # [L+1, T, d]
    last: dict[int, int] = {}
    found: list[Pair] = []
    for place, id in enumerate(run.ids):
        if id in last and len(found) < most:
            cosine = torch.cosine_similarity(x[:, last[id]], x[:, place], dim=-1)
            found.append(Pair(last[id], place, cosine))
        last[id] = place
    return found


def window(T: int, at: int, most: int) -> list[int]:
    """At most `most` neighbouring positions of T, with `at` among them; −1 is the last one. UserError outside."""
    if not -T <= at < T:
        raise UserError("position", value=at, n=T, last=T - 1)
    place = at % T
    start = max(0, min(place - most // 2, T - most))
    return list(range(start, min(T, start + most)))


def _stream(run: Run) -> Tensor:
    if run.residual is None:
        raise ValueError("this needs a run with residual=True")  # not words: a mistake in code
    return run.residual
