"""The prefix check page: change what comes later, and see whether anything earlier moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr
import torch
from torch import Tensor

from gptviz.decoder.attention import CAUSAL
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.masking import evidence, leak
from gptviz.lab.masking import prefix as lab
from gptviz.lab.masking.leak import rule_of
from gptviz.lessons.attention import packed
from gptviz.lessons.page import (
    NO_LAYERS,
    Asked,
    Page,
    answered,
    api,
    fields,
    guess,
    heading,
    integer,
    prose,
    question,
    sentences,
    story,
)
from gptviz.service import Service
from gptviz.service.wire import as_json
from gptviz.widgets import widget

KEY, TAB = "prefix", "Prefix check"
MOST = 2_048  # tokens: the logits of two runs have to fit into a laptop's memory
LONG_WORK = 2  # full checks at once; each gives way to other requests after every batch
DIGITS = 6  # short in JSON, and nothing but zero becomes zero
MAX_ENDING = 2_000  # characters of a new ending


def build(service: Service, asked: gr.State) -> Page:
    """Lay the page out."""
    words = prose(KEY)
    question(words)
    toy = as_json(lab.toys(), digits=DIGITS)
    heading(words["heading_toy"], words["lede_toy"])
    plain = {name: words[name].replace("*", "") for name in ("answer_toy", "answer_all")}
    widget(
        "toy",
        label="The toy",
        fixed={"toy": toy, "words": _ask(words, "guess_toy"), "answer": plain["answer_toy"]},
    )
    heading(words["heading_real"], words["lede_real"])
    board = widget(
        "prefix",
        label="Prefix check",
        server=[check_server(service), evidence_server(service)],
        fixed={
            "words": _ask(words, "guess_real"),
            "edit": words["edit_note"],
            "truncate": words["truncate_note"],
            "evidence": words["evidence_note"],
        },
    )
    heading(words["heading_all"], words["lede_all"])
    every = widget(
        "prefixes",
        label="All prefixes",
        fixed={"chunks": toy["chunks"], "words": _ask(words, "guess_all"), "answer": plain["answer_all"]},
    )
    story(words["story"])

    def show(now: Asked) -> dict[Any, Any]:
        decoder, ids = service.encode(now["text"], now["model"], most=MOST)
        return {board: board_value(service, decoder, ids, now["text"]), every: all_value(now, decoder, ids)}

    def run(now: Asked, event: gr.EventData) -> Iterator[dict[str, Any]]:
        open_layers, direction, method = fields(event._data, "open_layers", "direction", "method")
        decoder, ids = service.encode(now["text"], now["model"])
        rule = rule_of(open_layers, str(direction), decoder.shape.layers)
        wanted = {"open_layers": open_layers, "direction": direction, "method": method}
        parts: list[tuple[Tensor, float]] = []
        for part in service.stream(lab.all_parts(decoder, ids, rule, str(method))):
            parts.append(part)
            yield all_value(now, decoder, ids, lab.gather(ids, rule, str(method), parts), wanted)

    running = every.act(
        sentences(run),
        [asked],
        [every],
        show_progress="hidden",
        concurrency_limit=LONG_WORK,
        concurrency_id="all-prefixes",
        api_visibility="private",
    )
    every.pick(None, None, None, cancels=[running], api_visibility="private")
    return Page([board, every], show)


def endpoints(service: Service) -> None:
    """/prefix, /prefix_all and /prefix_toy."""

    def prefix(
        text: str,
        keep: int,
        open_layers: list[int] = NO_LAYERS,
        direction: str = "causal",
        method: str = "truncate",
        model: str = "",
    ) -> dict[str, Any]:
        """Do the first `keep` outputs change when what follows is cut off (or, "edit", replaced)?"""
        decoder, ids = service.encode(text, model, most=MOST)
        rule = rule_of(open_layers, direction, decoder.shape.layers)
        found = checked(service, decoder, ids, integer("keep", keep), rule, method, "")
        return as_json(lab.report(decoder, found), digits=DIGITS)

    def prefix_all(
        text: str,
        open_layers: list[int] = NO_LAYERS,
        direction: str = "causal",
        method: str = "edit",
        model: str = "",
    ) -> dict[str, Any]:
        """Every prefix length of the text at once: matrix[n-1][i] for length n and position i (at most 64 tokens)."""
        decoder, ids = service.encode(text, model)
        rule = rule_of(open_layers, direction, decoder.shape.layers)
        parts = service.stream(lab.all_parts(decoder, ids, rule, method))
        found = lab.full_report(decoder, lab.gather(ids, rule, method, parts))
        return as_json(found, digits=DIGITS)

    def prefix_toy() -> dict[str, Any]:
        """Four words and one attention, with the mask and without: outputs for four words and for three."""
        return as_json(lab.toys(), digits=DIGITS)

    api(prefix, "prefix")
    api(prefix_all, "prefix_all", limit=LONG_WORK)
    api(prefix_toy, "prefix_toy")


def checked(
    service: Service, decoder: Decoder, ids: list[int], keep: int, rule: Any, method: str, ending: str
) -> lab.Check:
    """One check; `ending` is text, and empty means other words of our choice."""
    lab.check_method(method)
    if len(ending) > MAX_ENDING:
        raise UserError(f"The new ending has {len(ending):,} characters; at most {MAX_ENDING:,} are read.")
    other = decoder.tokenizer.encode(ending, begin=False, name="The new ending")
    return service.once(decoder, lab.check, ids, keep, rule, method, other)


def _checked(service: Service, asked: Any) -> tuple[Decoder, lab.Check]:
    names = ("text", "model", "keep", "method", "ending", "open_layers", "direction")
    text, model, keep, method, ending, open_layers, direction = fields(asked, *names)
    decoder, ids = service.encode(text, str(model), most=MOST)
    rule = rule_of(open_layers, str(direction), decoder.shape.layers)
    return decoder, checked(service, decoder, ids, integer("keep", keep), rule, str(method), str(ending))


def check_server(service: Service) -> Any:
    """What the board calls after each click."""

    def check(asked: Any) -> dict[str, Any]:
        return board_of(*_checked(service, asked))

    return answered(check)


def evidence_server(service: Service) -> Any:
    """The same check as evidence to download."""

    def give(asked: Any) -> dict[str, Any]:
        return evidence.evidence(*_checked(service, asked))

    give.__name__ = "evidence"  # the name the widget calls
    return answered(give)


def board_of(decoder: Decoder, found: lab.Check) -> dict[str, Any]:
    """The part of /prefix that the board draws."""
    report = as_json(lab.report(decoder, found), digits=DIGITS)
    drawn = ("keep", "method", "positions", "max_delta", "tolerance", "dtype", "open_layers")
    return {**{name: report[name] for name in drawn}, "other": [t.shown for t in decoder.tokenizer.tokens(found.other)]}


def board_value(service: Service, decoder: Decoder, ids: list[int], text: str) -> dict[str, Any]:
    """What the board shows first: two thirds kept, the rest changed, every mask on."""
    keep = lab.usual_keep(len(ids))
    short = len(ids) < 2
    return {
        "text": text,
        "model": decoder.name,
        "tokens": [t.shown for t in decoder.tokenizer.tokens(ids)],
        "layers": decoder.shape.layers,
        "keep": keep,
        "usual": decoder.tokenizer.token(leak.one_token(decoder, leak.REPLACEMENT)).shown,
        "first": None if short else board_of(decoder, checked(service, decoder, ids, keep, CAUSAL, "edit", "")),
        "reason": "This text has one token; a prefix and something after it need two." if short else "",
    }


def all_value(
    now: Asked,
    decoder: Decoder,
    ids: list[int],
    found: lab.AllPrefixes | None = None,
    wanted: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What the picture of all prefixes draws: nothing yet, or the lengths done so far."""
    value: dict[str, Any] = {
        "text": now["text"],  # a run for the prompt before this one must not be shown under it
        "model": decoder.name,
        "tokens": [t.shown for t in decoder.tokenizer.tokens(ids)],
        "most": leak.MOST_TOKENS,
    }
    if found is None:
        return value
    full = torch.zeros(len(ids) - 1, len(ids))
    full[: len(found.deltas)] = found.deltas
    return {
        **value,
        "matrix": packed(full),
        "done": len(found.deltas),
        "tolerance": found.tolerance,
        "asked": wanted,
    }


def _ask(words: dict[str, str], part: str) -> dict[str, Any]:
    asked = guess(words, part)
    return {**asked, "question": asked["question"].replace("*", "")}
