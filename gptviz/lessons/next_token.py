"""The next-token page: bars under temperature, top-k and top-p, draws, writing, and the logit lens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.looking import logit_lens
from gptviz.lab.writing import sampling, strategies, writer
from gptviz.lab.writing.sampling import Settings
from gptviz.lessons.next_token_values import (
    MOST_WRITTEN,
    bars_value,
    contest_value,
    guess_value,
    lens_rows,
    lens_value,
    loop_rows,
    one_string,
    position_value,
    shown,
)
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
from gptviz.service import Keep, Service
from gptviz.service.wire import as_json
from gptviz.widgets import widget

KEY, TAB = "next_token", "Next token"
COMPARED = 40  # tokens each way of writing starts with, and the guess about loops is answered with
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
    loop_guess = widget("predict", label="Guess before you write", value=_loop_question(words))
    contest = widget("strategies", label="Strategies side by side", value=_contest_start(words))
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
            contest: _contest_start(words),
            loop_guess: _loop_question(words),
            layers: {**now, **lens_value(decoder, ids, read)},
        }

    return Page([bars, ask, contest, loop_guess, layers], show)


# What the widgets draw


def reading(service: Service, decoder: Decoder, ids: list[int]) -> logit_lens.Read:
    """One pass over the text: the last logits, the surprise, the stream."""
    found = service.once(decoder, logit_lens.surprise_of, ids)
    run = service.run(decoder, ids, keep=Keep(residual=True))
    return logit_lens.Read(run, run.logits[-1], found)


def position_server(service: Service) -> Any:
    """What the widget asks after each written token: the logits there, and the loops so far."""

    def position(asked: Any) -> dict[str, Any]:
        text, model, written = fields(asked, "text", "model", "ids")
        decoder, ids = service.encode(text, str(model))
        written = token_ids(written)
        whole = decoder.check_ids(ids + written)
        logits = service.run(decoder, whole).logits[-1]  # [V]
        return {**position_value(decoder, logits), "loops": loop_rows(writer.loops(written))}

    return answered(position)


def names_server(service: Service) -> Any:
    """The token objects of any ids: what a draw from the tail needs."""

    def names(asked: Any) -> dict[str, Any]:
        model, ids = fields(asked, "model", "ids")
        decoder = service.decoder(str(model))
        return {"tokens": as_json(decoder.tokenizer.tokens(decoder.check_ids(token_ids(ids, 1000))))}

    return answered(names)


def lens_server(service: Service) -> Any:
    """The prediction after every layer at one position."""

    def layers(asked: Any) -> dict[str, Any]:
        text, model, position = fields(asked, "text", "model", "position")
        decoder, ids = service.encode(text, str(model))
        read = reading(service, decoder, ids)
        return lens_rows(decoder, read, integer("position", position))

    return answered(layers)


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
                "state": one_string(
                    {
                        "tokens": list(zip(text.ids, shown(decoder, text.ids), text.p, strict=True)),
                        "loops": loop_rows(writer.loops(written + text.ids)),
                    }
                ),
                "stop": text.stop,
            }

    return run


def side_by_side(service: Service, words: dict[str, str]) -> Any:
    """Greedy, untouched draws, draws with the page's settings, and beam search, token by token."""
    said = _contest_start(words)

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


def loop_answer(service: Service, words: dict[str, str]) -> Any:
    """Greedy writing, and whether it looped; done only when somebody has guessed."""

    def answer(now: Asked) -> dict[str, Any]:
        decoder, ids = service.encode(now["text"], now["model"])
        text = service.once(decoder, strategies.greedy_text, ids, COMPARED)
        return {**_loop_question(words), "answer": loop_verdict(words, text)}

    return answer


def loop_verdict(words: dict[str, str], text: strategies.Text) -> dict[str, Any]:
    """Which option a finished text bears out; none when it ended early without a loop, which decides nothing."""
    if text.loops:
        first = text.loops[0]
        said = words["answer_loop_yes"].format(start=first.start, period=first.period, times=first.times)
        return {"index": 0, "text": said}
    decided = text.stop == "length"
    said = words["answer_loop_no" if decided else f"answer_loop_{text.stop}"]
    return {"index": 1 if decided else None, "text": said.format(tokens=len(text.ids), asked=COMPARED)}


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


def _titled(words: dict[str, str], part: str) -> tuple[str, str]:
    """A heading's title and sentence: the part's first line and the rest."""
    title, _, sentence = words[part].partition("\n")
    return title, sentence.strip()


def _loop_question(words: dict[str, str]) -> dict[str, Any]:
    values = guess(words, "guess_loop")
    return {**values, "question": values["question"].format(tokens=COMPARED)}


def _contest_start(words: dict[str, str]) -> dict[str, Any]:
    return {"words": words["beam"], "tokens": COMPARED}


def _try(line: str) -> list[Any]:
    sentence, numbers = line.rsplit(" | ", 1)
    return [sentence, *map(float, numbers.split())]
