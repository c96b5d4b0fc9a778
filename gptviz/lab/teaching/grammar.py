"""A little language whose entropy is known exactly, so a training loss can be held against the truth.

Every sentence has the same 17 places. Eight are free choices among equally likely words; the others are
fixed, or follow from a word already said (he or she, his or her, the same thing again). A perfect model
therefore pays ln k nats at a place with k choices and nothing elsewhere: no model that keeps to the past
can do better on average.
"""

from collections.abc import Sequence
from math import log
from typing import Protocol

import torch
from torch import Tensor

NAMES = ("anna", "mary", "tom", "paul")
THINGS = ("key", "hat", "bell", "cup", "kite")

# The places in order; one word means the word is fixed.
FRAME: tuple[tuple[str, ...], ...] = (
    NAMES,
    ("found", "lost", "saw", "drew"),
    ("a",),
    ("small", "red", "heavy", "broken"),
    THINGS,
    ("in",),
    ("the",),
    ("garden", "kitchen", "forest", "station"),
    ("and",),
    ("she", "he"),
    ("gave", "showed", "sold"),
    ("her", "his"),
    ("brother", "teacher", "friend"),
    ("the",),
    THINGS,
    ("today", "later", "again"),
    (".",),
)
LENGTH = len(FRAME)

# place -> (the earlier place that decides it, that place's word -> the word here)
AGREES: dict[int, tuple[int, dict[str, str]]] = {
    9: (0, dict(zip(NAMES, ("she", "she", "he", "he"), strict=True))),
    11: (0, dict(zip(NAMES, ("her", "her", "his", "his"), strict=True))),
    14: (4, {thing: thing for thing in THINGS}),
}
CHOICES = tuple(1 if place in AGREES else len(words) for place, words in enumerate(FRAME))
SENTENCES = torch.tensor(CHOICES).prod().item()  # how many different sentences there are
FLOOR = sum(map(log, CHOICES)) / LENGTH  # nats per token

WORDS: tuple[str, ...] = tuple(dict.fromkeys(word for words in FRAME for word in words))
ID = {word: i for i, word in enumerate(WORDS)}


def verdict(words: Sequence[str]) -> list[bool]:
    """For each word, whether the grammar allows it there, given the words before it in the sentence.

    Words past the 17th are wrong. A word that should agree with a wrong word may be any of its kind.
    """
    right = []
    for place, word in enumerate(words):
        allowed = FRAME[place] if place < LENGTH else ()
        if place in AGREES:
            earlier, follows = AGREES[place]
            if words[earlier] in follows:
                allowed = (follows[words[earlier]],)
        right.append(word in allowed)
    return right


def accepts(sentence: str | Sequence[str]) -> bool:
    """Whether the grammar can write this sentence: 17 words, the full stop among them, each one allowed."""
    words = sentence.split() if isinstance(sentence, str) else sentence
    return len(words) == LENGTH and all(verdict(words))


def sentences(count: int, generator: torch.Generator) -> Tensor:
    """Ids [count, 17] of sentences drawn uniformly from all of them."""
    columns: list[Tensor] = []
    for place, words in enumerate(FRAME):
        if place in AGREES:
            earlier, follows = AGREES[place]
            table = torch.zeros(len(WORDS), dtype=torch.long)
            for word, then in follows.items():
                table[ID[word]] = ID[then]
            columns.append(table[columns[earlier]])
        else:
            choice = torch.randint(len(words), (count,), generator=generator)
            columns.append(torch.tensor([ID[word] for word in words])[choice])
    return torch.stack(columns, dim=1)


class Data(Protocol):
    """Something to train on. `draw` gives fresh ids [count, 1 + 17]; the first one is given, not predicted."""

    @property
    def floor(self) -> float:
        """The true entropy, in nats per predicted token."""

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Sequences never seen before."""


class Sentences:
    """Each sequence is the full stop of a sentence before it, then one whole sentence."""

    floor = FLOOR

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Ids [count, 1 + 17]."""
        return torch.cat([torch.full((count, 1), ID["."]), sentences(count, generator)], dim=1)


class RandomTokens:
    """The same words with no grammar at all: every token is a fair draw, so nothing can be predicted."""

    floor = log(len(WORDS))

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Ids [count, 1 + 17]."""
        return torch.randint(len(WORDS), (count, 1 + LENGTH), generator=generator)


DATA: dict[str, Data] = {"sentences": Sentences(), "random": RandomTokens()}
