"""How a decoder is taught: the shift, the loss of every token, and the mistakes that spoil it, as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gptviz.decoder.attention import DIRECTIONS, MaskRule
from gptviz.decoder.decoder import Decoder, Run
from gptviz.decoder.errors import UserError
from gptviz.decoder.pieces import opening

IGNORE = -100  # the label that cross_entropy leaves out, PyTorch's default ignore_index
FED_BACK = (0, 1, 2, 4, 8, 16)
ROWS = 128  # positions worked on at once in float64: 1,024 rows of 50,257 would take 400 MB each time
CONTROLS = 4  # stretches of other true text for each row of the exposure
OTHER_TEXT = (
    " In the morning the baker opens his shop. He puts warm bread on the shelf and writes the prices on a small board."
    " Children stop at the window on their way to school, and an old man buys a roll for his dog. At noon the street is"
    " quiet again, and the baker sits down outside with a cup of tea."
)
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
class Control:
    """The same places filled with other true text; `loss` is on the true tail, nats per token."""

    words: list[int]
    differs: int
    loss: float


@dataclass(frozen=True)
class Fed:
    """The last `count` tokens before the tail are the model's own; `loss` is on the true tail, nats per token.

    `differs` says how many of them are not what the text says. `controls` put other true text in the same places.
    """

    count: int
    own: list[int]
    true: list[int]
    loss: float
    controls: list[Control]

    @property
    def differs(self) -> int:
        return sum(a != b for a, b in zip(self.own, self.true, strict=True))

    @property
    def control(self) -> float | None:
        """The mean loss of the controls; None where nothing was replaced."""
        return math.fsum(c.loss for c in self.controls) / len(self.controls) if self.controls else None


@dataclass(frozen=True)
class Exposure:
    """The same tail scored after true text, after more and more of the model's own, and after other true text."""

    tail: list[int]
    rows: list[Fed]

    @property
    def verdict(self) -> str:
        """What the longest row shows: the model's own words against other true text, which any model must pay for.

        "same" where the model wrote what the text says; "worse" where its own words make the ending dearer than every
        control does; "better" where cheaper than every one; "no_worse" where they lie among them.
        """
        last = self.rows[-1]
        if not last.differs:
            return "same"
        losses = [control.loss for control in last.controls]
        return "worse" if last.loss > max(losses) else "better" if last.loss < min(losses) else "no_worse"


@dataclass(frozen=True)
class Signal:
    """What one input teaches: a decoder's targets, an encoder's masked positions, and the pairs each may read."""

    tokens: int
    decoder_targets: int
    masked: list[int]  # the positions of one draw
    passes: int  # draws until every token has been a target once
    decoder_pairs: int
    encoder_pairs: int


def shift(ids: Sequence[int]) -> tuple[list[int], list[int]]:
    """Teacher forcing: inputs are all tokens but the last, targets all but the first. UserError below two tokens."""
    if len(ids) < 2:
        raise UserError(f"The text has {len(ids)} token; at least 2 are needed for one scored prediction.")
    return list(ids[:-1]), list(ids[1:])


def losses(logits: Tensor, targets: Sequence[int]) -> Tensor:
    """-ln p of each target in nats, [N] float64, from logits [N, V]; 0 where the target is IGNORE."""
    wanted = torch.tensor(list(targets))
    parts = zip(logits.split(ROWS), wanted.split(ROWS), strict=True)
    return torch.cat(
        [F.cross_entropy(some.double(), ids, reduction="none", ignore_index=IGNORE) for some, ids in parts]
    )  # [N]


def score(run: Run, count: int = 5) -> Scored:
    """Every position's `count` best guesses and the loss of its true next token."""
    _, targets = shift(run.ids)
    logits = run.logits[:-1]  # [T-1, V]; the last position has no known answer
    nats = losses(logits, targets)  # [T-1]
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
    return Scored(predictions, loss, math.exp(min(loss, 700.0)))  # e^710 is too large for a float


def uniform_loss(vocabulary: int) -> float:
    """The loss (nats) of a model that finds all V tokens equally likely: where training starts."""
    return float(losses(torch.zeros(1, vocabulary), [0]))


# The mistakes


def unshifted_loss(run: Run) -> float:
    """The loss (nats per token) when each position is scored on the token it has just read."""
    return float(losses(run.logits, run.ids).mean())


def mask_losses(decoder: Decoder, ids: Sequence[int]) -> dict[str, float]:
    """The loss on the true next tokens under each mask, every layer alike: causal, none and wrong_way."""
    _, targets = shift(ids)
    runs = {direction: decoder.run(ids, rule=MaskRule(direction)) for direction in DIRECTIONS}
    return {direction: float(losses(run.logits[:-1], targets).mean()) for direction, run in runs.items()}


def padding(decoder: Decoder, ids: Sequence[int], most: int = 24) -> Padding:
    """The mean loss of a row with 0 … `most` end-of-text tokens after it, counted and ignored.

    One pass serves all: no position reads the padding to its right.
    """
    shift(ids)
    pad = opening(decoder.tokenizer, decoder.shape.vocabulary)
    most = min(most, decoder.shape.context - len(ids))
    row = [*ids, *[pad] * most]
    run = decoder.run(row)
    counted = losses(run.logits[:-1], row[1:])  # [T-1+most]
    labels = [*ids[1:], *[IGNORE] * most]
    ignored = losses(run.logits[:-1], labels)  # [T-1+most]
    real = len(ids) - 1
    return Padding(
        pad=pad,
        counted=[float(counted[: real + n].mean()) for n in range(most + 1)],
        ignored=[float(ignored[: real + n].sum() / real) for n in range(most + 1)],
    )


def exposure(
    decoder: Decoder, ids: Sequence[int], fed: Sequence[int] = FED_BACK, other: Sequence[int] | None = None
) -> Exposure:
    """Score the last third of a text after its true beginning, and after beginnings the model finished itself.

    In row k the k tokens before the tail are the model's own greedy choice; tail and positions are the same in every
    row, so only what the model reads differs. Another middle alone makes any ending dearer, for a perfect model too.
    So each row has controls: equally many tokens of other true text (`other`, or a text of our own) in the same
    places, CONTROLS stretches of it. UserError below three tokens.
    """
    if len(ids) < 3:
        raise UserError(f"The text has {len(ids)} token(s); at least 3 are needed to feed the model its own text.")
    ids = decoder.check_ids(ids)
    begin = len(ids) - max(1, len(ids) // 3)  # where the tail starts
    counts = [k for k in fed if k < begin]  # one true token must remain
    other = list(decoder.tokenizer.encode(OTHER_TEXT, begin=False) if other is None else other)
    middles: list[list[list[int]]] = []  # of each row: the model's own, then the controls
    for k in counts:
        own = _greedy(decoder, ids[: begin - k], k)
        middles.append([own, *(stretches(other, k) if k else [])])
    flat = [ids[: begin - k] + text + ids[begin:] for k, texts in zip(counts, middles, strict=True) for text in texts]
    paid = iter(_tail_losses(decoder, flat, begin))
    rows = []
    for k, (own, *texts) in zip(counts, middles, strict=True):
        true, loss = ids[begin - k : begin], next(paid)
        controls = [Control(text, sum(a != b for a, b in zip(text, true, strict=True)), next(paid)) for text in texts]
        rows.append(Fed(k, own, true, loss, controls))
    return Exposure(ids[begin:], rows)


def stretches(text: Sequence[int], length: int) -> list[list[int]]:
    """CONTROLS stretches of a text, evenly spread over it; a text too short for them begins again."""
    starts = [len(text) * n // CONTROLS for n in range(CONTROLS)]
    return [[text[(start + i) % len(text)] for i in range(length)] for start in starts]


def _tail_losses(decoder: Decoder, rows: Sequence[Sequence[int]], begin: int) -> list[float]:
    """The mean loss on each row's tokens from `begin` on; a few rows at a time, since logits are large."""
    size = max(1, ROWS * 4 // len(rows[0]))
    runs = (run for at in range(0, len(rows), size) for run in decoder.batch(rows[at : at + size]))
    return [float(losses(run.logits[begin - 1 : -1], run.ids[begin:]).mean()) for run in runs]


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
