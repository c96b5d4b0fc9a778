"""The next-token page: bars under temperature, top-k and top-p, draws, writing, and the logit lens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr
import torch

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab import lens, sampling, strategies, writing
from gptviz.lab.sampling import Settings
from gptviz.lessons.attention import packed
from gptviz.lessons.page import (
    Asked,
    Page,
    answered,
    fields,
    guess,
    heading,
    integer,
    lines,
    prose,
    question,
    sentences,
    story,
)
from gptviz.lessons.writing_endpoints import endpoints
from gptviz.service import Service
from gptviz.widgets import widget

KEY, TAB = "next_token", "Next token"
NAMED = 200  # tokens whose names travel with the logits; others are asked for when drawn
BARS = 20
MOST_WRITTEN = 200  # tokens in one go on the page; the endpoint writes as many as the context holds
LOOP_TOKENS = 60
PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}

__all__ = ["KEY", "TAB", "build", "endpoints"]


def build(service: Service, asked: gr.State) -> Page:
    """Lay the page out."""
    words = prose(KEY)
    question(words)
    ask = widget("predict", label="Guess before you look", value=guess(words))
    bars = widget(
        "next_token",
        label="Probabilities of the next token",
        server=[position_server(service), names_server(service)],
    )
    feed = widget("feed", label="", classes="gv-hidden")
    heading(*_titled(words, "strategies"))
    contest = widget("strategies", label="Strategies side by side", value={"words": words["beam"]})
    loop_guess = widget("predict", label="Guess before you write", value=_loop_question(words))
    heading(*_titled(words, "lens"))
    layers = widget("lens", label="Prediction after each layer", server=[lens_server(service)])
    story(words["story"])

    run = bars.act(
        sentences(run_on(service)), [asked], [feed], concurrency_limit=4, concurrency_id="writing", **PRIVATE
    )
    bars.pick(None, None, None, cancels=[run])
    compare = contest.act(
        sentences(side_by_side(service, words)),
        [asked],
        [contest],
        concurrency_limit=4,
        concurrency_id="writing",
        **PRIVATE,
    )
    contest.pick(None, None, None, cancels=[compare])
    loop_guess.guess(
        sentences(loop_answer(service, words)), [asked], [loop_guess], concurrency_limit=4, concurrency_id="writing",
        **PRIVATE,
    )  # fmt: skip

    said = {
        "words": {part: words[part] for part in ("draws", "order", "writing")},
        "tries": [_try(line) for line in lines(words["try"])],
    }

    def show(now: Asked) -> dict[Any, Any]:
        decoder, ids = service.encode(now["text"], now["model"])
        read = reading(service, decoder, ids)
        return {
            bars: {**now, **said, **bars_value(decoder, ids, read)},
            ask: guess_value(words, read),
            contest: {"words": words["beam"]},
            loop_guess: _loop_question(words),
            layers: {**now, **lens_value(decoder, ids, read)},
        }

    return Page([bars, ask, contest, loop_guess, layers], show)


# What the widgets draw


def reading(service: Service, decoder: Decoder, ids: list[int]) -> lens.Read:
    """One pass over the text, kept: the last logits, the surprise, the stream."""
    key = ("reading", decoder.name, tuple(ids))
    return service.compute(key, lambda: lens.read(decoder, ids), lambda read: read.nbytes)


def bars_value(decoder: Decoder, ids: list[int], read: lens.Read) -> dict[str, Any]:
    """All V logits of the last position, the names of the likeliest tokens, and the text as tokens."""
    return {
        **position_value(decoder, read.logits),
        "tokens": _shown(decoder, ids),
        "context": decoder.shape.context,
        "stops": sorted(decoder.tokenizer.stops),
        "bars": BARS,
        "most": MOST_WRITTEN,
    }


def position_value(decoder: Decoder, logits: torch.Tensor) -> dict[str, Any]:
    """Logits [V] as base64 float32, with the likeliest tokens by name."""
    top = torch.sort(logits, descending=True, stable=True).indices[:NAMED].tolist()
    return {"logits": packed(logits.float()), "top": [token.as_json() for token in decoder.tokenizer.tokens(top)]}


def position_server(service: Service) -> Any:
    """What the widget asks after each written token: the logits there, and the loops so far."""

    def position(asked: Any) -> dict[str, Any]:
        text, model, written = fields(asked, "text", "model", "ids")
        decoder, ids = service.encode(text, str(model))
        written = token_ids(written)
        whole = decoder.check_ids(ids + written)
        key = ("last", decoder.name, tuple(whole))
        logits = service.compute(key, lambda: decoder.run(whole, last_only=True).logits[-1], lambda x: x.nbytes)
        return {**position_value(decoder, logits), "loops": _loops(writing.loops(written))}

    return answered(position)


def names_server(service: Service) -> Any:
    """The token objects of any ids: what a draw from the tail needs."""

    def names(asked: Any) -> dict[str, Any]:
        model, ids = fields(asked, "model", "ids")
        decoder = service.decoder(str(model))
        return {"tokens": [t.as_json() for t in decoder.tokenizer.tokens(decoder.check_ids(token_ids(ids, 1000)))]}

    return answered(names)


def lens_server(service: Service) -> Any:
    """The prediction after every layer at one position."""

    def layers(asked: Any) -> dict[str, Any]:
        text, model, position = fields(asked, "text", "model", "position")
        decoder, ids = service.encode(text, str(model))
        read = reading(service, decoder, ids)
        return lens_rows(decoder, read, integer("position", position))

    return answered(layers)


def lens_value(decoder: Decoder, ids: list[int], read: lens.Read) -> dict[str, Any]:
    """The surprise of every token, and the lens at the last position."""
    return {
        "tokens": _shown(decoder, ids),
        "nats": read.surprise.nats,
        "loss": read.surprise.loss,
        "perplexity": read.surprise.perplexity,
        **lens_rows(decoder, read, len(ids) - 1),
    }


def lens_rows(decoder: Decoder, read: lens.Read, position: int) -> dict[str, Any]:
    """One row a layer: the likeliest tokens with p, the entropy, and the rank of the last layer's favourite."""
    try:
        readings = lens.logit_lens(decoder, read.run, position)
    except UserError as error:
        return {"position": position, "rows": [], "note": str(error)}
    rows = [
        {
            "layer": r.layer,
            "shown": _shown(decoder, r.ids),
            "ids": r.ids,
            "p": r.p,
            "entropy": r.entropy,
            "final_p": r.final_p,
            "final_rank": r.final_rank,
        }
        for r in readings
    ]
    return {"position": position, "rows": rows, "note": ""}


def guess_value(words: dict[str, str], read: lens.Read) -> dict[str, Any]:
    """The tail's share at temperature 1 and 2, measured."""
    count = min(BARS, len(read.logits))
    one, two = (sampling.bars(sampling.stages(read.logits, Settings(t)), count)[1] for t in (1.0, 2.0))
    index = 1 if abs(two - one) < 0.01 else 2 if two > one else 0
    text = words["answer"].format(
        others=f"{len(read.logits) - count:,}", bars=count, one=_percent(one), two=_percent(two)
    )
    return {**guess(words), "answer": {"index": index, "text": text}}


# Writing


def run_on(service: Service) -> Any:
    """Write on from the prompt and what is written already, one token a message, until it stops or is cancelled."""

    def run(now: Asked, event: gr.EventData) -> Iterator[dict[str, Any]]:
        number, written, wanted, seed, n = fields(event._data, "run", "ids", "settings", "seed", "n")
        decoder, ids = service.encode(now["text"], now["model"])
        written = token_ids(written)
        settings = None if wanted is None else settings_of(wanted)
        whole = decoder.check_ids(ids + written)
        texts = strategies.write(
            decoder,
            whole,
            settings,
            seed=sampling.check_seed(seed),
            start=len(written),
            max_new_tokens=at_most(n),
        )
        for text in service.stream(texts):
            yield {
                "run": number,
                "tokens": [
                    [id, shown, p] for id, shown, p in zip(text.ids, _shown(decoder, text.ids), text.p, strict=True)
                ],
                "loops": _loops(writing.loops(written + text.ids)),
                "stop": text.stop,
            }

    return run


def side_by_side(service: Service, words: dict[str, str]) -> Any:
    """Greedy, untouched draws, draws with the page's settings, and beam search, token by token."""
    said = {"words": words["beam"]}

    def compare(now: Asked, event: gr.EventData) -> Iterator[dict[str, Any]]:
        wanted, seed, beams, n = fields(event._data, "settings", "seed", "beams", "n")
        decoder, ids = service.encode(now["text"], now["model"])
        chosen = [None, Settings(), settings_of(wanted)]
        states = strategies.contest(
            decoder,
            ids,
            chosen,
            beams=integer("beams", beams),
            seed=sampling.check_seed(seed),
            max_new_tokens=at_most(n),
        )
        for state in service.stream(states):
            yield {**contest_value(decoder, state, ended=False), **said}
        yield {**contest_value(decoder, state, ended=True), **said}

    return compare


def contest_value(decoder: Decoder, state: strategies.Contest, *, ended: bool) -> dict[str, Any]:
    """The columns and the tree as the widget draws them."""
    texts = [{"shown": _shown(decoder, t.ids), "p": t.p, "stop": t.stop, "loops": _loops(t.loops)} for t in state.texts]
    tree = [[n.parent, n.depth, decoder.tokenizer.token(n.id).shown, n.logp, n.score, n.fate] for n in list(state.tree)]
    return {"texts": texts, "tree": tree, "best": state.best, "ended": ended}


def loop_answer(service: Service, words: dict[str, str]) -> Any:
    """Greedy writing, and whether it looped; done only when somebody has guessed."""

    def answer(now: Asked) -> dict[str, Any]:
        decoder, ids = service.encode(now["text"], now["model"])

        def greedy() -> strategies.Text:
            texts = strategies.write(decoder, ids, None, seed=0, start=0, max_new_tokens=LOOP_TOKENS)
            return list(texts)[-1]

        text = service.compute(("greedy", decoder.name, tuple(ids)), greedy)
        if text.loops:
            first = text.loops[0]
            sentence = words["answer_loop_yes"].format(start=first.start, period=first.period, times=first.times)
        else:
            sentence = words["answer_loop_no"].format(tokens=len(text.ids))
        return {**_loop_question(words), "answer": {"index": 0 if text.loops else 1, "text": sentence}}

    return answer


# Checks of what the browser sends


def settings_of(wanted: Any) -> Settings:
    """Settings from the page's own object. UserError for anything else."""
    return Settings(*fields(wanted, "temperature", "topK", "topP", "topPFirst"))


def token_ids(ids: Any, most: int = 100_000) -> list[int]:
    """A list of whole numbers from a client. UserError for anything else."""
    if not isinstance(ids, list) or len(ids) > most:
        raise UserError(f"ids must be a list of at most {most:,} token ids.")
    return [integer("id", id) for id in ids]


def at_most(n: Any) -> int:
    """How many tokens to write. UserError above what the page writes in one go."""
    n = integer("number of tokens", n)
    if not 1 <= n <= MOST_WRITTEN:
        raise UserError(f"number of tokens is {n}; it must be from 1 to {MOST_WRITTEN}.")
    return n


# Small things


def _shown(decoder: Decoder, ids: list[int]) -> list[str]:
    return [token.shown for token in decoder.tokenizer.tokens(ids)]


def _loops(found: list[writing.Loop]) -> list[list[int]]:
    return [[loop.start, loop.stop, loop.period, loop.times] for loop in found]


def _percent(p: float) -> str:
    return f"{100 * p:.1f} %"


def _titled(words: dict[str, str], part: str) -> tuple[str, str]:
    """A heading's title and sentence: the part's first line and the rest."""
    title, _, sentence = words[part].partition("\n")
    return title, sentence.strip()


def _loop_question(words: dict[str, str]) -> dict[str, Any]:
    values = guess(words, "guess_loop")
    return {**values, "question": values["question"].format(tokens=LOOP_TOKENS)}


def _try(line: str) -> list[Any]:
    sentence, numbers = line.rsplit(" | ", 1)
    return [sentence, *map(float, numbers.split())]
