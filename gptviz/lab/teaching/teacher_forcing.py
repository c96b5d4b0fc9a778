"""How a decoder is taught: the shift, the loss of every token, and the mistakes that spoil it, as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from gptviz.decoder.attention import DIRECTIONS, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Run, Runs
from gptviz.lab.surprise import IGNORE, perplexity, surprisal

T = TypeVar("T")
FED_BACK = (0, 1, 2, 4, 8, 16)
MASKED_RATE = 0.15  # BERT's share of masked tokens


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
    """Mean loss (nats) for 0, 1, 2 … padding tokens: counted like text, and left out by ignore_index."""

    pad: int
    counted: list[float]
    ignored: list[float]


@dataclass(frozen=True)
class Fed:
    """The last `count` tokens before the tail are the model's own; `loss` is on the true tail, nats per token."""

    count: int
    own: list[int]
    true: list[int]
    loss: float


@dataclass(frozen=True)
class Exposure:
    """The same tail scored after true text and after more and more of the model's own text."""

    tail: list[int]
    rows: list[Fed]


@dataclass(frozen=True)
class Signal:
    """What one input teaches: a decoder's targets, an encoder's masked positions, and the pairs each may read."""

    tokens: int
    decoder_targets: int
    masked: list[int]  # the positions of one draw
    passes: int  # draws until every token has been a target once
    decoder_pairs: int
    encoder_pairs: int


def shift(ids: Sequence[T]) -> tuple[list[T], list[T]]:
    """Teacher forcing: inputs are all tokens but the last, targets all but the first. UserError below two tokens."""
    if len(ids) < 2:
        raise UserError(f"The text has {len(ids)} token; at least 2 are needed for one scored prediction.")
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


def unshifted_loss(decoder: Decoder, ids: Sequence[int], *, runs: Runs | None = None) -> float:
    """The loss (nats per token) when each position is scored on the token it has just read."""
    return float(surprisal((runs or decoder.run)(ids).logits, ids).mean())


def score_text(decoder: Decoder, ids: Sequence[int], *, runs: Runs | None = None) -> Scored:
    """The same for a text. UserError for one of a single token, before any work."""
    shift(ids)
    return score((runs or decoder.run)(ids))


def mask_losses(decoder: Decoder, ids: Sequence[int], *, runs: Runs | None = None) -> dict[str, float]:
    """The loss on the true next tokens under each mask, every layer alike: causal, none and wrong_way."""
    _, targets = shift(ids)
    found = {direction: (runs or decoder.run)(ids, rule=MaskRule(direction), exact=False) for direction in DIRECTIONS}
    return {direction: float(surprisal(run.logits[:-1], targets).mean()) for direction, run in found.items()}


def padding(decoder: Decoder, ids: Sequence[int], most: int = 24, *, runs: Runs | None = None) -> Padding:
    """The mean loss of a row with 0 … `most` end-of-text tokens after it, counted and ignored.

    One pass serves all: no position reads the padding to its right.
    """
    shift(ids)
    pad = decoder.tokenizer.end_of_text
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
    )


def padded(decoder: Decoder, ids: Sequence[int], most: int = 24) -> list[int]:
    """The ids and as much padding after them as there is room for."""
    most = min(most, decoder.shape.context - len(ids))
    return [*ids, *[decoder.tokenizer.end_of_text] * most]


def exposure(decoder: Decoder, ids: Sequence[int], fed: Sequence[int] = FED_BACK) -> Exposure:
    """Score the last third of a text after its true beginning, and after beginnings the model finished itself.

    In row k the k tokens before the tail are the model's own greedy choice; tail and positions are the same in every
    row, so only what the model reads differs. UserError below three tokens.
    """
    if len(ids) < 3:
        raise UserError(f"The text has {len(ids)} token(s); at least 3 are needed to feed the model its own text.")
    ids = decoder.check_ids(ids)
    begin = len(ids) - max(1, len(ids) // 3)  # where the tail starts
    counts = [k for k in fed if k < begin]  # one true token must remain
    own = [_greedy(decoder, ids[: begin - k], k) for k in counts]
    rows = [ids[: begin - k] + text + ids[begin:] for k, text in zip(counts, own, strict=True)]
    results = []
    for k, text, run in zip(counts, own, decoder.batch(rows), strict=True):
        loss = float(surprisal(run.logits[begin - 1 : -1], ids[begin:]).mean())
        results.append(Fed(k, text, ids[begin - k : begin], loss))
    return Exposure(ids[begin:], results)


def _greedy(decoder: Decoder, ids: Sequence[int], count: int) -> list[int]:
    steps = decoder.stream(ids, lambda logits: int(logits.argmax()), max_new_tokens=count, keep_logits=False)
    return [step.id for step in steps]


# Encoder and decoder


def signal(tokens: int, seed: int = 0, rate: float = MASKED_RATE) -> Signal:
    """Count the training signal of one input of T tokens, for a decoder and for a masked-token encoder.

    An encoder masks max(1, round(rate · T)) positions at random, as BERT's own data program does. UserError below two.
    """
    shift(range(tokens))
    generator = torch.Generator().manual_seed(seed)
    count = max(1, round(rate * tokens))
    first = sorted(_draw(tokens, count, generator))
    seen, passes = set(first), 1
    while len(seen) < tokens:
        seen.update(_draw(tokens, count, generator))
        passes += 1
    return Signal(
        tokens=tokens,
        decoder_targets=tokens - 1,
        masked=first,
        passes=passes,
        decoder_pairs=tokens * (tokens + 1) // 2,
        encoder_pairs=tokens * tokens,
    )


def _draw(tokens: int, count: int, generator: torch.Generator) -> list[int]:
    return torch.randperm(tokens, generator=generator)[:count].tolist()
