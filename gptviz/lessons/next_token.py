"""The next-token page: what could come next, and how a choice is made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.writing import sampling, strategies
from gptviz.lab.writing.sampling import Settings
from gptviz.lessons.fields import Field
from gptviz.lessons.questions import Question
from gptviz.lessons.shown import shown
from gptviz.lessons.writing_questions import MOST_WRITTEN, public
from gptviz.service import Service

KEY = "next_token"
FIELDS = {
    field.name: field
    for field in (
        Field("temperature", "float", 1.0, 0, 5),
        Field("top_k", "int", 0, 0, 1_000_000),
        Field("top_p", "float", 1.0, 0, 1),
        Field("min_p", "float", 0.0, 0, 1),
        Field("repetition_penalty", "float", 1.0, 0.5, 3),
        Field("order", "choice", "temperature", choices=("temperature", "top_p")),
        Field("show", "choice", "bars", choices=("bars", "draws", "writing")),
        Field("seed", "int", 0, 0, sampling.MAX_SEED),
        Field("new", "int", 24, 1, MOST_WRITTEN),
        Field("ignore_end", "yes", False),
    )
}
NAMED = 64  # tokens that are sent by name with their probability; enough for the tallest stage
PLACES = (50, 100, 1_000, 10_000)  # further down the list


def questions(service: Service) -> list[Question]:
    """What the page asks, and /next_token, /generate."""

    def outlook(text: str, model: str = "") -> dict[str, Any]:
        """The likeliest tokens with their probability, some further down, and what all the others hold together."""
        decoder, ids = service.encode(text, model)
        logits = last_logits(service, decoder, ids)
        return {"tokens": shown(decoder, ids), "context": decoder.shape.context, **ranked(decoder, logits)}

    def logits(text: str, model: str = "") -> dict[str, Any]:
        """All logits [V] of the last position, float32, and the ids of the text, which a repetition penalty needs."""
        decoder, ids = service.encode(text, model)
        return {"logits": last_logits(service, decoder, ids).float(), "read": ids}

    def names(ids: list[int], model: str = "") -> dict[str, Any]:
        """The tokens of these ids (at most 2,000)."""
        if len(ids) > 2_000:
            raise UserError("too_many_ids", n=len(ids), most=2_000)
        decoder = service.decoder(model)
        return {"shown": shown(decoder, ids)}

    def contest(
        text: str,
        new: int = 24,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        ignore_end: bool = False,
        model: str = "",
    ) -> Iterator[dict[str, Any]]:
        """Greedy, untouched draws, draws with these settings, and beam search, one token each at a time."""
        decoder, ids = service.encode(text, model)
        if not 1 <= new <= MOST_WRITTEN:
            raise UserError("whole_between", name="new", value=new, low=1, high=MOST_WRITTEN)
        yours = Settings(temperature, top_k, top_p, min_p=min_p, repetition_penalty=repetition_penalty)
        ways, seed = [None, Settings(), yours], sampling.check_seed(seed)
        shared: Any = {"stream": service.writer(decoder), "each": service.stream, "ignore_end": ignore_end}
        for state in strategies.contest(decoder, ids, ways, beams=4, seed=seed, max_new_tokens=new, **shared):
            yield {"texts": [continuation(decoder, ids, each) for each in state.texts]}

    return [
        Question("outlook", outlook, public=False),
        Question("logits", logits, public=False),
        Question("names", names, public=False),
        Question("contest", contest, public=False, limit=16),
        *public(service),
    ]


def last_logits(service: Service, decoder: Decoder, ids: list[int]) -> Tensor:
    """The logits [V] of the last position."""
    return service.run(decoder, ids, exact=False).logits[-1]


def ranked(decoder: Decoder, logits: Tensor) -> dict[str, Any]:
    """The first NAMED tokens by rank, a few places further down, and the vocabulary's size."""
    found = sampling.stages(logits, Settings())
    order, p = found.order, found.raw
    top = order[:NAMED]
    places = [place for place in PLACES if NAMED < place < len(order)] + [len(order)]
    below = [{"place": place, "shown": shown(decoder, [int(order[place - 1])])[0], "p": float(p[order[place - 1]])}
             for place in places]  # fmt: skip
    return {
        "vocabulary": len(order),
        "ids": top.tolist(),
        "shown": shown(decoder, top.tolist()),
        "p": p[top].tolist(),
        "below": below,
        "entropy": sampling.entropy(p),
    }


def continuation(decoder: Decoder, prompt: list[int], text: strategies.Text) -> dict[str, Any]:
    """One continuation as the page draws it; `said` is the text it adds, once it has ended within the context."""
    fits = text.stop and len(prompt) + len(text.ids) <= decoder.shape.context
    ends = [place for place, id in enumerate(text.ids) if id in decoder.tokenizer.stops]
    added = text.ids[: ends[0]] if ends else text.ids
    return {
        "said": decoder.tokenizer.decode_after(prompt, added) if fits else "",
        "ids": text.ids,
        "shown": shown(decoder, text.ids),
        "p": text.p,
        "ends": ends,
        "stop": text.stop,
        "loops": [[loop.start, loop.stop, loop.period, loop.times] for loop in text.loops],
    }
