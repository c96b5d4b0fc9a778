"""The race of the KV-cache page: one text written without and with the cache; counted, run, and summed up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.writing.cache_work import LANES, Bill, Race, RaceStep
from gptviz.lab.writing.work import Meter, positions
from gptviz.lessons.questions import Question, integer
from gptviz.lessons.shown import shown
from gptviz.service import Service
from gptviz.service.models import device_name

NEW = 20  # tokens a race writes unless asked otherwise
MOST = 200  # on the page; the endpoint takes more
AT_ONCE = 2  # races; each gives way to other requests after every lane
WRITTEN_AHEAD = 24  # tokens written for the first picture, without a race
EVERY = 0.25  # seconds between two answers of the endpoint
FRAME = 0.1  # seconds between two values for the page


def race_questions(service: Service) -> list[Question]:
    """What the race asks, and /kv_cache."""

    def kv_count(text: str, first: int = 0, new: int = NEW, model: str = "") -> dict[str, Any]:
        """The race's work, counted without running it, and the tokens it starts from."""
        decoder, ids = prompt_of(service, text, first, model)
        return counted(decoder, ids, new_tokens_of(new))

    def kv_words(text: str, first: int = 0, new: int = NEW, model: str = "") -> dict[str, Any]:
        """The first tokens that greedy writing gives, for the picture before any race."""
        decoder, ids = prompt_of(service, text, first, model)
        most = min(new_tokens_of(new), WRITTEN_AHEAD)
        return {"shown": shown(decoder, service.once(decoder, greedy, ids, most))}

    def kv_race(text: str, first: int = 0, new: int = NEW, model: str = "") -> Iterator[dict[str, Any]]:
        """Both lanes, step by step: only what is new each time, then how they compare."""
        decoder, ids = prompt_of(service, text, first, model)
        race = Race(decoder, ids, new_tokens_of(new))
        yield {"steps": []}
        sent = 0
        for _ in service.stream(iter(race), every=FRAME):
            yield {"steps": [row(decoder, step) for step in race.steps[sent:]]}
            sent = len(race.steps)
        yield {"steps": [], "done": ending(race)}

    def kv_cache(text: str, new_tokens: int = NEW, model: str = "") -> Iterator[Bill]:
        """Write the same text without and with the cache; streams the work counted and measured so far."""
        decoder, ids = service.encode(text, model)
        race = Race(decoder, ids, integer("new_tokens", new_tokens))
        yield race.bill()
        for state in service.stream(iter(race), every=EVERY):
            yield state.bill()

    return [
        Question("kv_count", kv_count, public=False),
        Question("kv_words", kv_words, public=False),
        Question("kv_race", kv_race, public=False, limit=AT_ONCE),
        Question("kv_cache", kv_cache, limit=AT_ONCE),
    ]


def prompt_of(service: Service, text: str, first: int, model: str) -> tuple[Decoder, list[int]]:
    """The decoder and the tokens a race starts from. UserError for more than the text has."""
    decoder, ids = service.encode(text, model)
    if not 0 <= first <= len(ids):
        raise UserError("first_tokens", value=first, n=len(ids))
    return decoder, ids[: first or len(ids)]


def new_tokens_of(new: int) -> int:
    if not 1 <= new <= MOST:
        raise UserError("whole_between", name="new", value=new, low=1, high=MOST)
    return new


def greedy(decoder: Decoder, ids: list[int], new: int) -> list[int]:
    steps = decoder.stream(ids, lambda logits: int(logits.argmax()), max_new_tokens=new, keep_logits=False)
    return [step.id for step in steps]


def counted(decoder: Decoder, ids: list[int], new: int) -> dict[str, Any]:
    """Both lanes' work step by step, from the shapes alone."""
    race = Race(decoder, ids, new)  # refuses a prompt that fills the context
    meter, shape, prompt, room = race.meter, decoder.shape, len(ids), race.room
    works = {
        "uncached": [meter.step(0, prompt + i) for i in range(room)],
        "cached": [meter.step(prompt + i - 1, 1) if i else meter.step(0, prompt) for i in range(room)],
    }
    return {
        "tokens": shown(decoder, ids),
        "asked": new,
        "new": room,
        "context": shape.context,
        "positions": {lane: positions(prompt, room, cached=lane == "cached") for lane in LANES},
        "flops": {lane: [work.flops for work in works[lane]] for lane in LANES},
        "bytes": {lane: [work.bytes for work in works[lane]] for lane in LANES},
        "looked_up": [meter.cache_bytes(prompt + i - 1) if i else 0 for i in range(room)],
        "model": sizes(decoder, meter),
    }


def sizes(decoder: Decoder, meter: Meter) -> dict[str, Any]:
    """What the picture says about the model."""
    shape = decoder.shape
    return {
        "name": decoder.name,
        "layers": shape.layers,
        "heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "head_width": shape.head_width,
        "element": meter.element,
        "per_token": meter.token_bytes,
        "plain": meter.formula is not None,
        "weights": meter.weight_bytes,
        "read_flops": meter.per_position,
        "look_up_flops": meter.pairs(1, 1) - meter.pairs(0, 1),
        "dtype": str(decoder.dtype).removeprefix("torch."),
        "device": device_name(decoder.device),
    }


def row(decoder: Decoder, step: RaceStep) -> dict[str, Any]:
    """One step for the page."""
    return {
        "shown": decoder.tokenizer.token(step.id).shown,
        "agrees": step.agrees,
        "delta": step.delta,
        "seconds": {lane: round(getattr(step, lane).seconds, 6) for lane in LANES},
    }


def ending(race: Race) -> dict[str, Any]:
    """How the lanes compare after the race: choices that differed, logits, the cache by its tensors and by formula."""
    last, differ = race.steps[-1], race.differ
    return {
        "differing": len(differ.steps) if differ else 0,
        "explained": differ is None or differ.explained,
        "gap": differ.gap if differ else 0.0,
        "rounding": differ.rounding if differ else 0.0,
        "delta": race.max_delta,
        "measured": last.cache_bytes,
        "formula": last.formula_bytes,
        "seconds": dict(race.seconds),
        "stop": race.stop,
    }
