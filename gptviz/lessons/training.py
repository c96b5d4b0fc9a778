"""The training page: what one pass asks, one real step of learning, and the mistakes that spoil it."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

from gptviz.decoder.decoder import Decoder
from gptviz.lab.companions import companions
from gptviz.lab.looking import logit_lens
from gptviz.lab.teaching import copying, one_step, own_words, teacher_forcing
from gptviz.lessons.fields import Field
from gptviz.lessons.questions import Question
from gptviz.lessons.shown import shown
from gptviz.lessons.steps import LESSONS
from gptviz.places import ASSETS
from gptviz.service import Service
from gptviz.service.wire import as_json

KEY = "training"
LONGEST = 1_024  # tokens; logits of a longer text would fill a small machine's memory
FRAME = 0.1  # seconds between two pictures of a training
MOST_PADS = 24
MOST_OWN = 16
USUAL_RATE = 0.002  # lowers the loss on every text and shipped model tried; 25 times as much overshoots
# One step takes a copy of all weights and a pass forward and back: what is above these is shown on nano instead,
# so that it stays below two seconds on two free cores.
LARGEST_PUPIL = 200_000_000  # weights
LARGEST_STEP = 8_600_000_000  # weights times tokens
FIELDS = {
    field.name: field
    for field in (
        Field(
            "show",
            "choice",
            "learn",
            choices=("learn", "level", "mistakes", "padding", "own", "encoder", "copier", "history"),
        ),
        Field("mistake", "choice", "unshifted", choices=("unshifted", "none", "wrong_way")),
        Field("rate", "float", USUAL_RATE, 0.00001, one_step.LARGEST_RATE),
        Field("pads", "int", 4, 0, MOST_PADS),
        Field("own", "int", 8, 1, MOST_OWN),
        Field("at", "int", -1, -1, 100_000),
    )
}


def questions(service: Service) -> list[Question]:
    """/surprisal, and what the page asks."""

    def surprisal(text: str, model: str = "") -> dict[str, Any]:
        """−ln p of every token after the first; their mean is the loss, exp of it the perplexity."""
        decoder, ids = service.encode(text, model)
        found = service.once(decoder, logit_lens.surprise_of, ids)
        return {"tokens": as_json(decoder.tokenizer.tokens(ids)), **as_json(found)}

    def shifted(text: str, model: str = "") -> dict[str, Any]:
        """Every token asked for after those before it: its probability and surprise, and the model's own favourite."""
        decoder, ids = service.encode(text, model, most=LONGEST)
        teacher_forcing.shift(ids)
        return strip(decoder, ids, service.once(decoder, teacher_forcing.score_text, ids, count=1))

    def learned(text: str, rate: float = USUAL_RATE, model: str = "") -> dict[str, Any]:
        """The surprises before and after one step of gradient descent on this text, on a copy of the model."""
        decoder, ids = service.encode(text, model, most=LONGEST)
        pupil, its = pupil_for(service, decoder, text, ids)
        found = service.once(pupil, one_step.learn, its, rate)
        return {
            "model": pupil.name,
            "tokens": shown(pupil, its),
            "before": rounded(found.before),
            "after": rounded(found.after),
            "rate": rate,
            "parameters": pupil.shape.parameters,
            "seconds": round(found.seconds, 3),
        }

    def mistakes(text: str, model: str = "") -> dict[str, Any]:
        """What each place costs with one thing wrong: targets not shifted, mask off, mask turned round."""
        decoder, ids = service.encode(text, model, most=LONGEST)
        teacher_forcing.shift(ids)
        service.together(decoder, companions(decoder, ids))
        found = service.once(decoder, teacher_forcing.mistakes, ids)
        return {name: rounded(nats) for name, nats in found.items()}

    def padded(text: str, model: str = "") -> dict[str, Any]:
        """What end-of-text tokens after the text cost, and the mean with 0, 1, 2 … of them counted."""
        decoder, ids = service.encode(text, model, most=LONGEST)
        teacher_forcing.shift(ids)
        service.together(decoder, companions(decoder, ids))
        found = service.once(decoder, teacher_forcing.padding, ids, MOST_PADS)
        return {"pad": shown(decoder, [found.pad])[0], "nats": rounded(found.nats), "counted": rounded(found.counted)}

    own: list[Callable[..., Any]] = [shifted, learned, mistakes, padded]
    return [
        Question("surprisal", surprisal),
        *(Question(fn.__name__, fn, public=False) for fn in own),
        *_beside_the_strip(service),
    ]


def _beside_the_strip(service: Service) -> list[Question]:
    """Own words, the encoder, and the copier."""

    def own_text(text: str, count: int = 8, model: str = "") -> dict[str, Any]:
        """The ending's price after true words, the model's own, and equally many of other true texts."""
        decoder, ids = service.encode(text, model)
        count = min(count, max(1, min(len(ids), own_words.LONGEST) - tail_of(ids) - 1))
        others = [decoder.tokenizer.encode(" " + line, begin=False)[:count] for line in true_texts()]
        return compared(decoder, service.once(decoder, own_words.compare, ids, count, others))

    def asked_less(text: str, model: str = "") -> dict[str, Any]:
        """What the same text asks of a decoder and of a masked encoder."""
        decoder, ids = service.encode(text, model)
        found = teacher_forcing.signal(len(ids))
        return {**vars(found), "shown": shown(decoder, ids)}

    def copier() -> Iterator[dict[str, Any]]:
        """Two small models on tokens of pure chance, one with the shift forgotten: their losses as they train."""
        sent = 0
        for race in service.train(copying.race(), every=FRAME):
            new = {kind: as_json(getattr(race, kind)[sent:], digits=4) for kind in ("shifted", "unshifted")}
            yield {"floor": race.floor, "vocabulary": race.vocabulary, "steps": copying.STEPS, **new}
            sent = len(race.steps)

    def history() -> dict[str, Any]:
        """How nano learned, recorded: losses, heads and what it wrote, from step 0 on."""
        return recorded()

    return [
        Question("history", history, public=False),
        Question("own_text", own_text, public=False),
        Question("asked_less", asked_less, public=False),
        Question("copier", copier, public=False, limit=4),
    ]


def pupil_for(service: Service, decoder: Decoder, text: str, ids: list[int]) -> tuple[Decoder, list[int]]:
    """Who learns: the model itself, or, where it is too large for that, nano on as much of the text as it reads."""
    size = decoder.shape.parameters
    small = size <= LARGEST_PUPIL and size * len(ids) <= LARGEST_STEP
    if small or "nano" not in service.names or decoder.name == "nano":
        return decoder, ids
    nano = service.decoder("nano")
    return nano, nano.tokenizer.encode(text)[: nano.shape.context]


def strip(decoder: Decoder, ids: list[int], scored: teacher_forcing.Scored) -> dict[str, Any]:
    """One column a question."""
    every = scored.predictions
    return {
        "tokens": shown(decoder, ids),
        "nats": rounded([x.nats for x in every]),
        "rank": [x.rank for x in every],
        "best": shown(decoder, [x.guesses[0].id for x in every]),
        "best_p": [round(x.guesses[0].p, 6) for x in every],
        "loss": scored.loss,
        "perplexity": scored.perplexity,
        "vocabulary": decoder.shape.vocabulary,
        "flat": teacher_forcing.uniform_loss(decoder.shape.vocabulary),
    }


def compared(decoder: Decoder, found: own_words.Compared) -> dict[str, Any]:
    """The test of own words as the page draws it."""

    def row(each: own_words.Replaced) -> dict[str, Any]:
        return {"words": shown(decoder, each.ids), "loss": round(each.loss, 5)}

    return {
        "kept": shown(decoder, found.kept),
        "tail": shown(decoder, found.tail),
        "true": row(found.true),
        "own": [row(each) for each in found.own],
        "other": [row(each) for each in found.other],
        "own_mean": found.own_mean,
        "other_mean": found.other_mean,
        "verdict": found.verdict,
    }


def tail_of(ids: list[int]) -> int:
    """How many tokens the scored ending of `own_words.compare` has."""
    return min(own_words.TAIL, max(1, min(len(ids), own_words.LONGEST) // 3))


@functools.cache
def recorded() -> dict[str, Any]:
    """The recording that `python -m gptviz.nano.watched` made."""
    found: dict[str, Any] = json.loads((ASSETS / "nano" / "training.json").read_text(encoding="utf-8"))
    return found


@functools.cache
def true_texts() -> list[str]:
    """Plain sentences that people wrote for this page; pieces of them stand where the model's own words would."""
    return (LESSONS / "en" / "true_text.txt").read_text(encoding="utf-8").splitlines()


def rounded(nats: list[float]) -> list[float]:
    """To a hundred-thousandth of a nat, which is finer than anything that is shown."""
    return [round(x, 5) for x in nats]
