"""How a decoder is taught: the shift, the loss of every token, and the mistakes that spoil it, as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from gptviz.decoder.attention import MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.pieces import opening
from gptviz.decoder.run import Run, Runs
from gptviz.lab.surprise import IGNORE, perplexity, surprisal

T = TypeVar("T")
MASKED_RATE = 0.15  # BERT's share of selected tokens
HIDDEN, SWAPPED = 0.8, 0.1  # of the selected ones: replaced by [MASK], by a random token; the rest stays as it is


@dataclass(frozen=True)
class Guess:
    """One token the model thought of, and its probability."""

    id: int
    p: float


@dataclass(frozen=True)
class Prediction:
    """What the model said after reading `position` + 1 tokens, scored against the true next token."""

    position: int
    given: int  # id of the last token read
    target: int  # id of the true next token
    nats: float  # -ln p(target)
    p: float
    rank: int  # 1: the model's first guess was right
    guesses: list[Guess]


@dataclass(frozen=True)
class Scored:
    """All T-1 predictions of one pass; the loss is their mean in nats, the perplexity its exponential."""

    predictions: list[Prediction]
    loss: float
    perplexity: float


@dataclass(frozen=True)
class Padding:
    """Mean loss (nats) for 0, 1, 2 … padding tokens: counted like text, and left out by ignore_index.

    `nats` has what each padding token costs by itself.
    """

    pad: int
    counted: list[float]
    ignored: list[float]
    nats: list[float]


@dataclass(frozen=True)
class Signal:
    """What one input teaches: a decoder's targets, an encoder's selected positions, and the pairs each may read."""

    tokens: int
    decoder_targets: int
    masked: list[int]  # the positions of one draw
    fate: list[str]  # of each: "hidden" behind [MASK], "swapped" for a random token, or "kept"
    passes: int  # draws until every token has been a target once
    asked: list[int]  # how many tokens had been a target after 1, 2, 3 … draws
    decoder_pairs: int
    encoder_pairs: int


def shift(ids: Sequence[T]) -> tuple[list[T], list[T]]:
    """Teacher forcing: inputs are all tokens but the last, targets all but the first. UserError below two tokens."""
    if len(ids) < 2:
        raise UserError("too_short_to_score", n=len(ids))
    return list(ids[:-1]), list(ids[1:])


def score(run: Run, count: int = 5) -> Scored:
    """Every position's `count` best guesses and the loss of its true next token."""
    _, targets = shift(run.ids)
    logits = run.logits[:-1]  # [T-1, V]; the last position has no known answer
    nats = surprisal(logits, targets)  # [T-1]
    true_logits = logits[range(len(targets)), targets]  # [T-1]
    ranks = 1 + (logits > true_logits[:, None]).sum(-1)  # [T-1]
    best = logits.topk(min(count, logits.shape[-1]), dim=-1)  # [T-1, count]
    # p(target) = e^-nats gives the normaliser, so the guesses need no softmax of their own.
    best_p = (best.values.double() - true_logits[:, None].double() - nats[:, None]).exp()  # [T-1, count]
    predictions = [
        Prediction(
            position=t,
            given=run.ids[t],
            target=target,
            nats=float(nats[t]),
            p=math.exp(-float(nats[t])),
            rank=int(ranks[t]),
            guesses=[Guess(int(i), float(p)) for p, i in zip(best_p[t], best.indices[t], strict=True)],
        )
        for t, target in enumerate(targets)
    ]
    loss = float(nats.mean())
    return Scored(predictions, loss, perplexity(loss))


def uniform_loss(vocabulary: int) -> float:
    """The loss (nats) of a model that finds all V tokens equally likely: where training starts."""
    return float(surprisal(torch.zeros(1, vocabulary), [0]))


# The mistakes


def score_text(decoder: Decoder, ids: Sequence[int], count: int = 5, *, runs: Runs | None = None) -> Scored:
    """`score` for a text. UserError for one of a single token, before any work."""
    shift(ids)
    return score((runs or decoder.run)(ids), count)


def mistakes(decoder: Decoder, ids: Sequence[int], *, runs: Runs | None = None) -> dict[str, list[float]]:
    """What each place costs [T-1] with one thing wrong: "unshifted" targets, mask "none", mask "wrong_way"."""
    inputs, targets = shift(ids)
    runs = runs or decoder.run
    masks = {"none": MaskRule("none"), "wrong_way": MaskRule("wrong_way")}
    found = {name: surprisal(runs(ids, rule=rule, exact=False).logits[:-1], targets) for name, rule in masks.items()}
    return {"unshifted": surprisal(runs(ids).logits[:-1], inputs).tolist()} | {
        name: nats.tolist() for name, nats in found.items()
    }


def padding(decoder: Decoder, ids: Sequence[int], most: int = 24, *, runs: Runs | None = None) -> Padding:
    """The mean loss of a row with 0 … `most` end-of-text tokens after it, counted and ignored.

    One pass serves all: no position reads the padding to its right.
    """
    shift(ids)
    pad = opening(decoder.tokenizer, decoder.shape.vocabulary)
    row = padded(decoder, ids, most)
    most = len(row) - len(ids)
    run = (runs or decoder.run)(row, exact=False)
    counted = surprisal(run.logits[:-1], row[1:])  # [T-1+most]
    labels = [*ids[1:], *[IGNORE] * most]
    ignored = surprisal(run.logits[:-1], labels)  # [T-1+most]
    real = len(ids) - 1
    return Padding(
        pad=pad,
        counted=[float(counted[: real + n].mean()) for n in range(most + 1)],
        ignored=[float(ignored[: real + n].sum() / real) for n in range(most + 1)],
        nats=counted[real:].tolist(),
    )


def padded(decoder: Decoder, ids: Sequence[int], most: int = 24) -> list[int]:
    """The ids and as much padding after them as there is room for."""
    most = min(most, decoder.shape.context - len(ids))
    return [*ids, *[opening(decoder.tokenizer, decoder.shape.vocabulary)] * most]


# Encoder and decoder


def signal(tokens: int, seed: int = 0, rate: float = MASKED_RATE) -> Signal:
    """Count the training signal of one input of T tokens, for a decoder and for a masked-token encoder.

    An encoder selects max(1, round(rate · T)) positions at random, as BERT's own data program does, and hides 80 % of
    them. UserError below two.
    """
    shift(range(tokens))
    generator = torch.Generator().manual_seed(seed)
    count = max(1, round(rate * tokens))
    first = sorted(_draw(tokens, count, generator))
    seen = set(first)
    asked = [len(seen)]
    while len(seen) < tokens:
        seen.update(_draw(tokens, count, generator))
        asked.append(len(seen))
    chances = torch.rand(count, generator=generator).tolist()
    fate = ["hidden" if x < HIDDEN else "swapped" if x < HIDDEN + SWAPPED else "kept" for x in chances]
    return Signal(
        tokens=tokens,
        decoder_targets=tokens - 1,
        masked=first,
        fate=fate,
        passes=len(asked),
        asked=asked,
        decoder_pairs=tokens * (tokens + 1) // 2,
        encoder_pairs=tokens * tokens,
    )


def _draw(tokens: int, count: int, generator: torch.Generator) -> list[int]:
    return torch.randperm(tokens, generator=generator)[:count].tolist()
