"""What a twin is worth: its loss on fresh sequences, with a future to read and without, and what it writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gptviz.decoder.gpt import LongGPT
from gptviz.lab.teaching.grammar import DATA, ID, LENGTH, WORDS, Data, accepts, verdict
from gptviz.lab.teaching.twin import MAX_SEED, Twin

SHOWN = 6  # sentences handed out, of the SAMPLES that are judged
SAMPLES = 500
EVALUATED = 2000  # fresh sequences behind each final loss
PREFIXED = 200  # of them, run prefix by prefix
SKETCHED = 200  # sentences judged at such a pause
QUOTED = 4  # of them handed out


@dataclass(frozen=True)
class Sketch:
    """What a twin wrote in the middle of its training: the share that the grammar accepts, and a few sentences."""

    step: int
    valid: float | None  # None for a language without a grammar
    written: int
    text: str


@dataclass(frozen=True)
class Judged:
    """How a trained twin stands: loss on fresh sequences, loss without a future to read, and what it writes.

    `repeats_input` and `says_next` are shares of positions of fresh rows, `repeats` the share of written words that
    equal the word before them: what each mistake teaches differs, and these tell them apart.
    """

    loss: float
    error: float  # standard error of the loss
    writing_loss: float
    valid: float | None  # share of the sentences that the grammar accepts; None for a language without one
    written: int
    repeats_input: float
    says_next: float
    repeats: float
    text: str
    right: list[list[bool]] | None  # word by word
    losses: list[float]


@torch.no_grad()
def judge(twin: Twin, data: Data, seed: int, pause: Callable[[], None] = lambda: None) -> Judged:
    """What a trained twin is worth, on sequences that were not in its training."""
    fresh = torch.Generator().manual_seed(seed + MAX_SEED + 1)  # no sequence of the training
    ids = data.draw(EVALUATED, fresh)
    each = twin.token_losses(ids).mean(dim=1)  # [EVALUATED]
    pause()
    alone = next_token_losses(twin.model, ids[:PREFIXED])
    pause()
    ids_written = write(twin.model, SAMPLES, fresh)  # [SAMPLES, 17]
    words = [[WORDS[i] for i in row] for row in ids_written.tolist()]
    pause()
    told = twin.model(ids)[:, :-1].argmax(dim=-1)  # [EVALUATED, T]: its favourite with the whole row beside it
    grammatical = data is DATA["sentences"]
    return Judged(
        loss=each.mean().item(),
        error=each.std().item() / EVALUATED**0.5,
        writing_loss=alone.mean().item(),
        valid=sum(map(accepts, words)) / SAMPLES if grammatical else None,
        written=SAMPLES,
        repeats_input=(told == ids[:, :-1]).double().mean().item(),  # it says the word it has just been given
        says_next=(told == ids[:, 1:]).double().mean().item(),  # it says the word that really follows
        repeats=(ids_written[:, 1:] == ids_written[:, :-1]).double().mean().item(),  # of its own last word, writing
        text="\n".join(" ".join(sentence) for sentence in words[:SHOWN]),
        right=[verdict(sentence) for sentence in words[:SHOWN]] if grammatical else None,
        losses=[float(f"{loss:.4g}") for loss in twin.losses],
    )


def sketch(twin: Twin, data: Data, step: int, seed: int) -> Sketch:
    """What a twin writes in the middle of its training: the share that the grammar accepts, and a few sentences.

    The same draws each time, and none of the training's own, so that pausing changes nothing.
    """
    ids = write(twin.model, SKETCHED, torch.Generator().manual_seed(seed + MAX_SEED + 2))
    words = [[WORDS[i] for i in row] for row in ids.tolist()]
    valid = sum(map(accepts, words)) / SKETCHED if data is DATA["sentences"] else None
    return Sketch(step, valid, SKETCHED, "\n".join(" ".join(each) for each in words[:QUOTED]))


@torch.no_grad()
def next_token_losses(model: LongGPT, ids: Tensor) -> Tensor:
    """Cross-entropy [B, T] of the true next token when the model is given the prefix alone, as in writing."""
    columns = [
        F.cross_entropy(model(ids[:, : t + 1])[:, -1], ids[:, t + 1], reduction="none") for t in range(ids.size(1) - 1)
    ]
    return torch.stack(columns, dim=1)


@torch.no_grad()
def write(model: LongGPT, count: int, generator: torch.Generator) -> Tensor:
    """Ids [count, 17] written after a full stop, sampled at temperature 1; what is to the right does not exist yet."""
    ids = torch.full((count, 1), ID["."])
    for _ in range(LENGTH):
        p = model(ids)[:, -1].softmax(dim=-1)  # [count, V]
        ids = torch.cat([ids, torch.multinomial(p, 1, generator=generator)], dim=1)
    return ids[:, 1:]
