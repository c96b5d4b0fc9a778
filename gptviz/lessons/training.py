"""The training page: the shift, the loss of every token, and what spoils it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.companions import companions
from gptviz.lab.teaching import copying, teacher_forcing
from gptviz.lab.writing import cache_memory
from gptviz.lessons.page import Asked, Page, guess, heading, lines, prose, question, sentences, story
from gptviz.service import Service
from gptviz.service.wire import as_json
from gptviz.widgets import widget

KEY, TAB = "training", "Training"
MEASURED_UNASKED = 160  # tokens; the mistakes take four passes
LONGEST = 1_024  # tokens; logits of a longer text would fill a small machine's memory
FRAME = 0.1  # seconds between two pictures of a training
LIVE: dict[str, Any] = {"show_progress": "minimal", "api_visibility": "private"}


def build(service: Service, asked: gr.State) -> Page:
    """Lay the page out."""
    words = prose(KEY)
    question(words)
    ask = widget("predict", label="Guess before you look")
    strip = widget("lossstrip", label="The loss of every token")
    heading(*part(words, "mistakes"))
    mistakes = widget("mistakes", label="Mistakes in training")
    _copier(service, words)
    ending, own = _exposure(service, words, asked)
    heading(*part(words, "signal"))
    signal = widget("signal", label="Encoder and decoder")
    gr.Markdown(words["compare"], elem_classes="gv-note gv-mdtable")
    heading(*part(words, "quiz"))
    quiz = widget("quiz", label="Check yourself")
    story(words["story"])
    mistakes.act(sentences(lambda now: mistakes_value(service, now)), asked, mistakes, concurrency_limit=None, **LIVE)
    ask.guess(
        sentences(lambda now: {**strip_value(service, now), "reveal": True}), asked, strip,
        concurrency_limit=None, **LIVE,
    )  # fmt: skip

    def show(now: Asked) -> Iterator[dict[Any, Any]]:
        first = {ending: guess(words, "exposure_guess"), own: None}
        try:
            scored = score(service, now)
        except UserError as error:
            yield first | {strip: {"note": str(error)}, ask: None, mistakes: None, signal: None, quiz: []}
            return
        yield first | {
            strip: strip_value(service, now),
            ask: guess_value(service, words, now),
            signal: signal_value(service, now),
            quiz: quiz_value(words, service.decoder(now["model"]), scored),
        }
        count = len(scored.predictions) + 1
        later = {"note": words["mistakes_long"].format(count=count), "button": words["measure"]}
        yield {mistakes: mistakes_value(service, now) if count <= MEASURED_UNASKED else later}

    return Page([ask, strip, mistakes, ending, own, signal, quiz], show)


def endpoints(service: Service) -> None:
    """None of its own: the strip's numbers are those of /surprisal, which the next-token page offers."""


def _copier(service: Service, words: dict[str, str]) -> None:
    """The race of the copier against the honest model, which are models of their own."""
    heading(*part(words, "copier"))
    ask = widget("predict", label="Guess before you look", value=_copier_guess(words))
    go = gr.Button(words["copier_button"], variant="primary", elem_classes="gv-inline")
    race = widget("copier", label="A copier and an honest model")

    def train() -> Iterator[dict[Any, Any]]:
        for state in service.train(copying.race(), every=FRAME):
            yield {race: as_json(state, digits=4)}
        numbers = {"shifted": f"{state.shifted[-1]:.2f}", "unshifted": f"{state.unshifted[-1]:.3f}"}
        text = words["copier_answer"].format(steps=copying.STEPS, floor=f"{copying.FLOOR:.2f}", **numbers)
        yield {ask: {**_copier_guess(words), "answer": {"index": 2, "text": text}}}

    go.click(sentences(train), None, [race, ask], concurrency_limit=1, concurrency_id="training-copier", **LIVE)


def _copier_guess(words: dict[str, str]) -> dict[str, Any]:
    asked = guess(words, "copier_guess")
    return {**asked, "question": asked["question"].format(steps=copying.STEPS)}


def _exposure(service: Service, words: dict[str, str], asked: gr.State) -> tuple[gr.HTML, gr.HTML]:
    """The guess and the picture of a model that reads its own text."""
    heading(*part(words, "exposure"))
    ask = widget("predict", label="Guess before you look", value=guess(words, "exposure_guess"))
    go = gr.Button(words["exposure_button"], variant="primary", elem_classes="gv-inline")
    picture = widget("exposure", label="The true ending after the model's own text")

    def read_itself(now: Asked) -> dict[Any, Any]:
        decoder, ids = service.encode(now["text"], now["model"], most=LONGEST)
        found = service.once(decoder, teacher_forcing.exposure, ids)
        return {
            picture: exposure_value(decoder, ids, found),
            ask: {**guess(words, "exposure_guess"), "answer": exposure_answer(words, found)},
        }

    go.click(sentences(read_itself), asked, [picture, ask], concurrency_limit=None, **LIVE)
    return ask, picture


def part(words: dict[str, str], key: str) -> tuple[str, str]:
    """A title and the sentence under it, from one part of the prose."""
    title, _, rest = words[key].partition("\n\n")
    return title, rest


# Numbers for the widgets


def score(service: Service, now: Asked) -> teacher_forcing.Scored:
    """Guesses and loss of every position. UserError for a text of one token."""
    decoder, ids = service.encode(now["text"], now["model"], most=LONGEST)
    return service.once(decoder, teacher_forcing.score_text, ids)


def strip_value(service: Service, now: Asked) -> dict[str, Any]:
    """What the strip draws: tokens, their price, and the model's best guesses at each position."""
    decoder, ids = service.encode(now["text"], now["model"])
    scored = score(service, now)
    token, every = decoder.tokenizer.token, scored.predictions
    return {
        "text": now["text"],
        "model": decoder.name,
        "tokens": [token(i).shown for i in ids],
        "targets": [x.target for x in every],
        "nats": [round(x.nats, 4) for x in every],
        "p": [x.p for x in every],
        "rank": [x.rank for x in every],
        "guesses": [[[token(g.id).shown, g.p, g.id] for g in x.guesses] for x in every],
        "loss": scored.loss,
        "perplexity": scored.perplexity,
        "vocabulary": decoder.shape.vocabulary,
        "start": max(range(len(every)), key=lambda t: every[t].nats),
    }


def guess_value(service: Service, words: dict[str, str], now: Asked) -> dict[str, Any] | None:
    """The guess box: the dearest token among up to three others, spread over the prices."""
    scored = score(service, now)
    token = service.decoder(now["model"]).tokenizer.token
    dear = sorted(scored.predictions, key=lambda x: -x.nats)
    if len(dear) < 2:
        return None
    places = sorted({0, len(dear) // 4, len(dear) // 2, len(dear) - 1})
    options = sorted((dear[place] for place in places), key=lambda x: x.position)
    top = dear[0]
    answer = words["answer"].format(
        token=token(top.target).shown,
        position=top.position + 1,
        percent=percent(top.p),
        nats=f"{top.nats:.2f}",
        count=len(dear),
        loss=f"{scored.loss:.2f}",
    )
    return {
        "question": guess(words)["question"],
        "options": [f"{token(x.target).shown} ({x.position + 1})" for x in options],
        "answer": {"index": options.index(top), "text": answer},
    }


def mistakes_value(service: Service, now: Asked) -> dict[str, Any]:
    """The loss with each mistake in place, on the reader's own text."""
    decoder, ids = service.encode(now["text"], now["model"], most=LONGEST)
    service.together(decoder, companions(decoder, ids), layers=[cache_memory.shown_layer(decoder)])
    pads = service.once(decoder, teacher_forcing.padding, ids)
    return {
        "loss": score(service, now).loss,
        "unshifted": service.once(decoder, teacher_forcing.unshifted_loss, ids),
        "masks": service.once(decoder, teacher_forcing.mask_losses, ids),
        "padding": {
            "pad": decoder.tokenizer.token(pads.pad).shown,
            "counted": [round(x, 5) for x in pads.counted],
            "ignored": [round(x, 5) for x in pads.ignored],
        },
    }


def exposure_value(decoder: Decoder, ids: list[int], found: teacher_forcing.Exposure) -> dict[str, Any]:
    """Each row's own tokens beside the true ones, and what the ending costs after them."""

    def shown(some: list[int]) -> list[str]:
        return [token.shown for token in decoder.tokenizer.tokens(some)]

    begin = len(ids) - len(found.tail)
    rows = [
        {
            "count": row.count,
            "before": shown(ids[: begin - row.count]),
            "own": shown(row.own),
            "true": shown(row.true),
            "loss": row.loss,
        }
        for row in found.rows
    ]
    return {"tail": shown(found.tail), "rows": rows}


def exposure_answer(words: dict[str, str], found: teacher_forcing.Exposure) -> dict[str, Any]:
    """Dearer, cheaper or neither, as measured."""
    first, last = found.rows[0], found.rows[-1]
    change = last.loss - first.loss
    index = 2 if abs(change) < 1e-3 else 1 if change > 0 else 0
    verdict = lines(words["exposure_verdicts"])[{1: 0, 0: 1, 2: 2}[index]]
    numbers = {"first": f"{first.loss:.3f}", "count": last.count, "last": f"{last.loss:.3f}"}
    return {"index": index, "text": words["exposure_answer"].format(verdict=verdict, **numbers)}


def signal_value(service: Service, now: Asked) -> dict[str, Any]:
    """Targets of a decoder and of a masked-token encoder, counted on the reader's own text."""
    decoder, ids = service.encode(now["text"], now["model"])
    found = teacher_forcing.signal(len(ids))
    return {
        "tokens": [token.shown for token in decoder.tokenizer.tokens(ids)],
        "decoder_targets": found.decoder_targets,
        "masked": found.masked,
        "passes": found.passes,
        "decoder_pairs": found.decoder_pairs,
        "encoder_pairs": found.encoder_pairs,
    }


def quiz_value(words: dict[str, str], decoder: Decoder, scored: teacher_forcing.Scored) -> list[dict[str, Any]]:
    """Four questions; every answer is computed from the text or the model at hand."""
    count = len(scored.predictions)
    loss, tokens = f"{scored.loss:.2f}", count + 1
    vocabulary = decoder.shape.vocabulary
    flat = teacher_forcing.uniform_loss(vocabulary)
    targets = 2 * tokens - 1
    padding = guess(words, "quiz_padding")
    return [
        {
            "question": words["quiz_count"].format(tokens=tokens),
            "answer": count,
            "unit": "predictions",
            "why": words["quiz_count_why"].format(last=tokens - 1, tokens=tokens, answer=count),
        },
        {
            "question": words["quiz_perplexity"].format(loss=loss),
            "answer": scored.perplexity,
            "within": 0.02 * scored.perplexity,
            "waits": True,
            "why": words["quiz_perplexity_why"].format(loss=loss, answer=f"{scored.perplexity:,.1f}"),
        },
        {
            "question": words["quiz_loss"].format(vocabulary=f"{vocabulary:,}"),
            "answer": flat,
            "within": 0.1,
            "unit": "nats",
            "why": words["quiz_loss_why"].format(vocabulary=f"{vocabulary:,}", answer=f"{flat:.2f}"),
        },
        {
            "question": padding["question"].format(tokens=tokens),
            "options": padding["options"],
            "index": 1 if 0.4 < tokens / targets < 0.7 else 0,
            "why": words["quiz_padding_why"].format(
                pads=tokens, targets=targets, percent=round(100 * tokens / targets)
            ),
        },
    ]


def percent(p: float) -> str:
    """A probability for people; tiny ones keep two digits."""
    return f"{100 * p:.1f}\u00a0%" if p >= 0.001 else f"{100 * p:.2g}\u00a0%"
