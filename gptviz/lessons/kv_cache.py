"""The KV-cache page: the race, why the rows may be kept, what they weigh, and where it ends."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import gradio as gr

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.figures import running_sums
from gptviz.lab.companions import companions
from gptviz.lab.looking import family
from gptviz.lab.masking import prefix
from gptviz.lab.writing import cache_memory
from gptviz.lab.writing.cache_work import Race, RaceStep, positions
from gptviz.lessons.page import (
    Asked,
    Page,
    api,
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
from gptviz.service import Service
from gptviz.service.models import device_name
from gptviz.service.wire import as_json
from gptviz.widgets import widget

KEY, TAB = "kv_cache", "KV cache"
NEW = 20  # tokens a race writes unless asked otherwise
MOST = 200  # on the page; the endpoint takes more
EDGE_LEFT, EDGE_ASKED = 3, 8  # room left before the edge, and tokens asked for
EDGE_CONTEXT = 1024  # a longer context is not filled unasked
KEPT_TOKENS = 64  # of the text, for the rows computed three times
LANES = {"uncached": "without a cache", "cached": "with the cache"}
AT_ONCE = 2  # races; each gives way to other requests after every lane
EVERY = 0.25  # seconds between two answers of the endpoint
FRAME = 0.1  # seconds between two pictures of a race
PRIVATE: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
RACING: dict[str, Any] = {"concurrency_limit": AT_ONCE, "concurrency_id": "race", **PRIVATE}


def build(service: Service, asked: gr.State) -> Page:
    """Lay the page out."""
    words = prose(KEY)
    question(words)
    ask = widget("predict", label="Guess before you look")
    race = widget("race", label="The race: without and with the cache", fixed={"words": _race_words(words)})
    heading(words["curves"], words["curves_lede"])
    empty = gr.Markdown(words["curves_empty"], elem_classes="gv-note")
    with gr.Row():
        counted = gr.Plot(
            visible=False, show_label=False, elem_classes="gv-curves", label="Positions run", min_width=320
        )
        timed = gr.Plot(visible=False, show_label=False, elem_classes="gv-curves", label="Seconds", min_width=320)
    heading(words["right"], words["right_lede"])
    kept = widget("kept", label="The same rows, three times")
    heading(words["calculator"], words["calculator_lede"])
    widget(
        "cachesize", label="Memory calculator", value={"ready": True},
        fixed={"models": models(), "note": words["calculator_note"]},
    )  # fmt: skip
    heading(words["edge"])
    edge = widget("edge", label="The end of the context")
    heading(words["server"], words["server_lede"])
    card = widget("card", label="The card's memory")
    watch = gr.Timer(2.0, active=False)
    gr.Markdown(words["server_text"], elem_classes="gv-note gv-server")
    story(words["story"])

    running = race.act(sentences(racing(service, words)), [asked], [race, counted, timed, empty], **RACING)
    race.pick(None, None, None, cancels=[running], **PRIVATE)
    edge.act(sentences(lambda now: to_the_edge(service, words, now)), [asked], [edge], **RACING)
    watch.tick(sentences(lambda now: card_value(service.decoder(now["model"]), words)), [asked], [card],
               concurrency_limit=None, **PRIVATE)  # fmt: skip

    def show(now: Asked) -> dict[Any, Any]:
        decoder, ids = service.encode(now["text"], now["model"])
        return {
            ask: guess_value(words, len(ids)),
            race: ready(decoder, ids),
            kept: kept_value(service, decoder, ids, words),
            edge: edge_value(service, decoder, words),
            card: card_value(decoder, words),
            watch: gr.Timer(active=decoder.device.type == "cuda"),
        }

    return Page([ask, race, kept, edge, card, watch], show)


def endpoints(service: Service) -> None:
    """/kv_cache and /cache_memory."""

    def kv_cache(text: str, new_tokens: int = NEW, model: str = "") -> Iterator[dict[str, Any]]:
        """Write the same text without and with the cache; streams the work counted and measured so far."""
        decoder, ids = service.encode(text, model)
        race = Race(decoder, ids, integer("new_tokens", new_tokens))
        yield as_json(race.bill())
        for state in service.stream(iter(race), every=EVERY):
            yield as_json(state.bill())

    def memory(
        name: str = "Llama-3-8B", context: int = 8192, batch: int = 1, dtype: str = "bfloat16", model: str = ""
    ) -> dict[str, Any]:
        """A public model's cache against its weights, in bytes. `model` is checked and otherwise unused."""
        service.decoder(model)
        return as_json(cache_memory.memory(name, integer("context", context), integer("batch", batch), dtype))

    api(kv_cache, "kv_cache", limit=AT_ONCE)
    api(memory, "cache_memory")


# The race


def racing(service: Service, words: dict[str, str]) -> Any:
    """Run both lanes, a message after each step; the curves when it is over."""

    def run(now: Asked, event: gr.EventData) -> Iterator[tuple[Any, ...]]:
        decoder, ids = service.encode(now["text"], now["model"])
        quiet = (gr.skip(),) * 3
        try:
            race = begin(decoder, ids, event._data)
        except UserError as error:  # the widget waits for an answer
            yield {**ready(decoder, ids), "error": str(error)}, *quiet
            return
        value: dict[str, Any] = {
            **ready(decoder, ids), "prompt": len(race.prompt), "new": race.room, "asked": race.new_tokens, "steps": [],
        }  # fmt: skip
        yield value, *quiet
        for state in service.stream(iter(race), every=FRAME):
            sent: list[Any] = value["steps"]
            value = {**value, "steps": sent + [row(decoder, step) for step in state.steps[len(sent) :]]}
            yield value, *quiet
        value = {**value, "done": True, "said": ending(words, race)}
        yield value, *(gr.Plot(figure, visible=True) for figure in bill(race)), gr.Markdown(visible=False)

    return run


def begin(decoder: Decoder, ids: list[int], wanted: Any) -> Race:
    """The race a browser asks for: {"prompt": tokens of the text, "new": tokens to write}. UserError on bad numbers."""
    prompt, new = fields(wanted, "prompt", "new")
    prompt, new = integer("prompt", prompt), integer("new", new)
    if not 1 <= prompt <= len(ids):
        raise UserError(f"prompt is {prompt}; it must be from 1 to {len(ids)} tokens.")
    if not 1 <= new <= MOST:
        raise UserError(f"new is {new}; it must be from 1 to {MOST} tokens.")
    return Race(decoder, ids[:prompt], new)


def row(decoder: Decoder, step: RaceStep) -> list[Any]:
    """One step for the widget: token, agreement, |Δ|, the cache's bytes by its tensors and by formula, both lanes."""
    lanes = [
        [w.positions, w.rows_computed, w.rows_reused, w.flops, w.bytes, round(lane.seconds, 6)]
        for lane in (step.uncached, step.cached)
        for w in (lane.work,)
    ]
    shown = decoder.tokenizer.token(step.id).shown
    return [shown, step.agrees, step.delta, step.cache_bytes, step.formula_bytes, *lanes]


def ready(decoder: Decoder, ids: list[int]) -> dict[str, Any]:
    """What the race shows before it starts."""
    shape = decoder.shape
    return {
        "tokens": [token.shown for token in decoder.tokenizer.tokens(ids)],
        "prompt": len(ids),
        "new": min(NEW, max(shape.context - len(ids), 1)),
        "most": MOST,
        "context": shape.context,
        "model": decoder.name,
        "dtype": str(decoder.dtype).removeprefix("torch."),
        "device": device_name(decoder.device),
        "parts": [shape.layers, shape.kv_heads, shape.head_width, decoder.model.dtype.itemsize],
    }


def ending(words: dict[str, str], race: Race) -> list[str]:
    """What has to be said about a race that is over: a choice that differed, a context that is full."""
    said = []
    if differing := sum(not step.agrees for step in race.steps):
        said.append(words["diverged"].format(count=differing))
    if race.stop == "context":
        context = race.decoder.shape.context
        said.append(
            words["stop_context"].format(
                context=f"{context:,}", prompt=f"{len(race.prompt):,}", written=f"{len(race.steps):,}"
            )
        )
    return said


def bill(race: Race) -> tuple[Any, Any]:
    """The running sums of both lanes: positions counted, seconds measured."""
    counted = {lane: list(accumulate(getattr(s, lane).work.positions for s in race.steps)) for lane in LANES}
    seconds = {lane: list(accumulate(getattr(s, lane).seconds for s in race.steps)) for lane in LANES}
    device = device_name(race.decoder.device)
    return (
        running_sums(counted, LANES, "positions run, counted", "%{y:,}"),
        running_sums(seconds, LANES, f"seconds, measured ({device})", "%{y:.3f} s"),
    )


def guess_value(words: dict[str, str], prompt: int, new: int = NEW) -> dict[str, Any]:
    """The question with this prompt's own numbers; the answer is a sum anybody can check."""
    right = positions(prompt, new, cached=False)
    numbers = {
        "prompt": f"{prompt:,}",
        "new": new,
        "a": f"{prompt + new:,}",
        "b": f"{prompt * new:,}",
        "c": f"{right:,}",
    }
    asked = guess(words)
    text = words["answer"].format(
        prompt=f"{prompt:,}",
        second=f"{prompt + 1:,}",
        last=f"{prompt + new - 1:,}",
        total=f"{right:,}",
        cached=f"{positions(prompt, new, cached=True):,}",
    )
    return {
        "question": asked["question"].format(**numbers),
        "options": [option.format(**numbers) for option in asked["options"]],
        "answer": {"index": 2, "text": text},
    }


def _race_words(words: dict[str, str]) -> dict[str, Any]:
    parts = ("lane_uncached", "lane_cached", "counted", "timed", "same", "same_note", "memory", "memory_line")
    tries = [line.rsplit(" | ", 1) for line in lines(words["try"])]
    return {part: words[part] for part in parts} | {
        "lanes": LANES,
        "tries": [[name, *map(int, numbers.split())] for name, numbers in tries],
    }


# Why, how much, and where it ends


def kept_value(service: Service, decoder: Decoder, ids: list[int], words: dict[str, str]) -> dict[str, Any]:
    """K and V of the first two thirds of the text in layer 5, three times; the edited text is the prefix page's own."""
    ids = ids[:KEPT_TOKENS]
    if len(ids) < 2:
        return {"note": words["right_short"]}
    keep = prefix.usual_keep(len(ids))
    other = prefix.second_prompt(decoder, ids, keep, "edit")
    service.together(decoder, companions(decoder, ids), layers=[cache_memory.shown_layer(decoder)])
    found = service.once(decoder, cache_memory.kept_rows, ids, keep, other=other)
    shown = [token.shown for token in decoder.tokenizer.tokens(ids)]
    return {**as_json(found), "tokens": shown, "dtype": as_json(decoder.dtype)}


def models() -> list[list[Any]]:
    """[name, L, h, h_kv, d_k, parameters, context, source] of every model the calculator offers."""
    return [
        [s.name, s.L, s.h, s.kv_heads, s.head_width, family.count(s).total, s.C, s.source]
        for s in family.PUBLIC.values()
    ]


def edge_value(service: Service, decoder: Decoder, words: dict[str, str]) -> dict[str, Any]:
    """What the edge section offers before anything is written."""
    chosen = _small_enough(service, decoder)
    name = decoder.name if chosen is None else chosen.name
    note = (
        "" if chosen is decoder else words["edge_large"].format(name=decoder.name, context=f"{decoder.shape.context:,}")
    )
    return {
        "lede": words["edge_lede"].format(name=name) if chosen else "",
        "note": note,
        "button": words["edge_button"] if chosen else "",
    }


def to_the_edge(service: Service, words: dict[str, str], now: Asked) -> dict[str, Any]:
    """Fill the context but for a few positions, ask for more than fit, and say where it stopped."""
    decoder = _small_enough(service, service.decoder(now["model"]))
    if decoder is None:
        raise UserError("No model with a short context is loaded here.")
    _, ids = service.encode(now["text"], decoder.name)
    context, prompt = decoder.shape.context, decoder.shape.context - EDGE_LEFT
    ids = (ids * (prompt // len(ids) + 1))[:prompt]
    steps = decoder.stream(ids, lambda logits: int(logits.argmax()), max_new_tokens=EDGE_ASKED, keep_logits=False)
    written = [step.id for step in service.stream(steps)]
    learned = cache_memory.learned_positions(decoder)
    return {
        **edge_value(service, service.decoder(now["model"]), words),
        "context": context,
        "prompt": prompt,
        "asked": EDGE_ASKED,
        "written": [token.shown for token in decoder.tokenizer.tokens(written)],
        "said": [
            words["edge_full"].format(
                asked=EDGE_ASKED,
                written=len(written),
                name=decoder.name,
                context=f"{context:,}",
                last=f"{context - 1:,}",
            ),
            words["edge_learned" if learned else "edge_rotary"].format(context=f"{context:,}"),
        ],
    }


def _small_enough(service: Service, decoder: Decoder) -> Decoder | None:
    """The decoder itself, or another loaded one whose context is quickly filled."""
    loaded = [decoder, *(service.decoder(name) for name in service.names)]
    return next((d for d in loaded if d.shape.context <= EDGE_CONTEXT), None)


def card_value(decoder: Decoder, words: dict[str, str]) -> dict[str, Any]:
    """The allocator's figures now, or the sentence that there are none."""
    figures = cache_memory.allocator(decoder.device)
    device = device_name(decoder.device)
    said = words["server_none" if figures is None else "server_live"].format(
        device="the CPU" if device == "cpu" else device
    )
    return {"figures": figures, "said": said}
