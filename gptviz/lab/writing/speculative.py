"""Speculative decoding: some tokens are guessed cheaply, and one pass of the model says which of them it would write.

A guess costs next to nothing: what followed the last time the text ended like this (n-grams, "prompt lookup"), or what
a smaller model of the same vocabulary would write. The model then reads all guesses at once. Those that are its own
choice stay, the first that is not is thrown away with all after it, and the pass has given one more token of its own:
the text is the greedy one, in fewer passes. (Leviathan et al., 2022, "Fast inference from transformers via speculative
decoding".)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Step
from gptviz.lab.writing.cache_work import check_new_tokens

LONGEST, SHORTEST = 3, 1  # tokens at the end of the text that are looked for earlier in it
MOST_DRAFT = 16

Drafter = Callable[[Sequence[int], int], list[int]]  # the text so far and how many tokens are wanted


@dataclass(frozen=True)
class Pass:
    """One pass of the model: the guesses it read, how many of the first fit, and the token it added itself."""

    draft: list[int]
    accepted: int
    own: int

    @property
    def written(self) -> list[int]:
        """What the text gained."""
        return [*self.draft[: self.accepted], self.own]


@dataclass(frozen=True)
class Difference:
    """Where the text parts from the greedy one: rounding of other shapes may decide between two close candidates.

    `gap` is how far apart the two tokens are in the greedy logits, `rounding` the largest |Δ| of the same logits from
    passes of other shapes, on this text up to there.
    """

    index: int
    gap: float
    rounding: float

    @property
    def explained(self) -> bool:
        """True where the candidates were closer than the rounding of both."""
        return self.gap <= 2 * self.rounding


@dataclass
class Speculation:
    """A prompt continued with guesses; iterate to run it: it yields itself after every pass.

    Beside it the plain greedy text is written token by token, and every choice compared. Like a race it runs on past an
    end token. UserError for a bad number of tokens, a full context, or a model whose kept rows cannot be taken back.
    """

    decoder: Decoder
    prompt: Sequence[int]
    new_tokens: int
    drafter: Drafter
    most: int = 4  # guesses a pass
    passes: list[Pass] = field(default_factory=list)
    delta: float = 0.0  # the largest |Δ| between the logits of both ways, on the same text
    differ: Difference | None = None
    compared: int = 0  # tokens that were held against the greedy text

    def __post_init__(self) -> None:
        self.prompt = self.decoder.check_ids(self.prompt)
        check_new_tokens(self.new_tokens)
        if not 1 <= self.most <= MOST_DRAFT:
            raise UserError("whole_between", name="length", value=self.most, low=1, high=MOST_DRAFT)
        self.room = min(self.new_tokens, self.decoder.shape.context - len(self.prompt))
        if self.room == 0:
            raise UserError("context_full", n=len(self.prompt), model=self.decoder.name)
        if any(rows.most is not None for rows in self.decoder.cache_rows):
            raise UserError("rows_gone", name=self.decoder.name)

    @property
    def ids(self) -> list[int]:
        """What has been written."""
        return [id for each in self.passes for id in each.written]

    @property
    def drafted(self) -> int:
        """Guesses so far."""
        return sum(len(each.draft) for each in self.passes)

    @property
    def accepted(self) -> int:
        """Guesses that were the model's own choice."""
        return sum(each.accepted for each in self.passes)

    @property
    def stop(self) -> str:
        """Why it ends: "length", or "context" where no position is left."""
        return "length" if self.room == self.new_tokens else "context"

    def __iter__(self) -> Iterator[Speculation]:
        greedy = self.decoder.stream(self.prompt, lambda logits: int(logits.argmax()), max_new_tokens=self.room)
        cache, text = self.decoder.new_cache(), list(self.prompt)
        logits = self.decoder.step(text, cache)[None]  # [1, V]; the prompt is read as ever
        draft: list[int] = []
        while True:
            done = judged(draft, logits)
            self.passes.append(done)
            for row, id in zip(logits, done.written, strict=False):
                if self.differ is None:
                    self._compare(row, id, next(greedy))
            if wrong := len(draft) - done.accepted:
                cache.crop(-wrong)  # their rows are taken back
            text += done.written
            yield self
            left = len(self.prompt) + self.room - len(text)
            if left == 0:
                return
            draft = self.drafter(text, min(self.most, left - 1))[: left - 1] if left > 1 else []
            logits = self.decoder.step_each([text[-1], *draft], cache)  # [1 + guesses, V]

    def _compare(self, row: Tensor, id: int, step: Step) -> None:
        logits, plain = step.logits, step.id
        assert logits is not None
        self.delta = max(self.delta, float((logits - row).abs().max()))
        if id == plain:
            self.compared += 1
        else:
            self.differ = Difference(self.compared, float(logits[plain] - logits[id]), self.delta)


def judged(draft: list[int], logits: Tensor) -> Pass:
    """Which guesses the model would have written; logits [1 + guesses, V], the first row before the first guess."""
    choices = logits.argmax(-1).tolist()
    accepted = next((n for n, id in enumerate(draft) if id != choices[n]), len(draft))
    return Pass(draft, accepted, choices[accepted])


def repeats(text: Sequence[int], count: int) -> list[int]:
    """What followed the last time the text ended in the same three tokens, or two, or one; nothing if it never did."""
    ids = list(text)
    for size in range(min(LONGEST, len(ids) - 1), SHORTEST - 1, -1):
        tail = ids[-size:]
        for start in range(len(ids) - size - 1, -1, -1):
            if ids[start : start + size] == tail:
                return ids[start + size : start + size + count]
    return []


def by_model(small: Decoder) -> Drafter:
    """What a smaller model would write greedily, from as much of the text as it can read."""

    def draft(text: Sequence[int], count: int) -> list[int]:
        seen = list(text)[-(small.shape.context - count) :]
        steps = small.stream(seen, lambda logits: int(logits.argmax()), max_new_tokens=count, keep_logits=False)
        return [step.id for step in steps]

    return draft


def agree(one: Decoder, other: Decoder) -> bool:
    """True where both models' tokens are the same: as many, and the same text for each of many that are looked at."""
    if one.shape.vocabulary != other.shape.vocabulary:
        return False
    some = list(range(0, one.shape.vocabulary, 97))
    shown = [[token.shown for token in each.tokenizer.tokens(some)] for each in (one, other)]
    return shown[0] == shown[1]
