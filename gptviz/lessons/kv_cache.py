"""The KV-cache page: the race, its bill, why rows may be kept, what they weigh, where it ends, cost against length."""

from __future__ import annotations

from typing import Any, Literal

from gptviz import figures
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.looking import family
from gptviz.lab.writing import cache_memory, cache_rows, cost, edge
from gptviz.lab.writing.cache_work import LANES, Race
from gptviz.lab.writing.work import Meter, positions
from gptviz.lessons import draft_questions
from gptviz.lessons.fields import Field
from gptviz.lessons.kv_race import MOST, NEW, new_tokens_of, prompt_of, race_questions, sizes
from gptviz.lessons.questions import Question, integer
from gptviz.lessons.shown import shown
from gptviz.service import Service

KEY = "kv_cache"
ROWS_TOKENS = 256  # of the text, for the rows computed three times
EDGE_LEFT, EDGE_ASKED = 3, 8  # places left before the edge, and tokens asked for
EDGE_CONTEXT = 1024  # a longer context is not filled: it would take minutes
NO_LENGTHS: list[int] = []  # the default of `lengths`: powers of two up to 131,072; never changed
BITS = ("16", "32", "8", "4")
SHOW = ("race", "bill", "draft", "rows", "heads", "size", "end", "cost")
COSTS = ("reading", "writing", "bytes", "race")
CURVES = {  # what a figure of cost draws: the counted quantity, and its two parts
    "reading": ("flops", ("matrices", "attention")),
    "writing": ("next_flops", ("matrices", "attention")),
    "bytes": ("bytes", ("weights", "cache")),
}

FIELDS = {
    field.name: field
    for field in (
        Field("show", "choice", "race", choices=SHOW),
        Field("new", "int", NEW, 1, MOST),
        Field("first", "int", 0, 0, 100_000),  # tokens of the prompt that are read; 0: all
        Field("written", "int", -1, -1, MOST),  # rows of the race that are drawn; -1: all
        Field("draft", "choice", "repeats", choices=("repeats", "model")),
        Field("keep", "int", 0, 0, 100_000),  # 0: half of the text
        Field("change", "choice", "edited", choices=("edited", "cut")),
        Field("kv", "int", 0, 0, 512),  # key-value heads; 0: the model's own
        Field("public", "choice", "Llama-3-8B", choices=tuple(family.PUBLIC)),
        Field("tokens", "int", 8192, 1, 1_048_576),
        Field("texts", "int", 1, 1, 512),
        Field("bits", "choice", "16", choices=BITS),
        Field("cost", "choice", "reading", choices=COSTS),
        Field("axes", "choice", "tenfold", choices=("tenfold", "even")),
    )
}


def questions(service: Service) -> list[Question]:
    """What the page asks, and /kv_cache, /cache_memory, /cost and /speculative."""
    return [
        *race_questions(service),
        *_other_questions(service),
        *_public(service),
        *draft_questions.questions(service),
    ]


def _other_questions(service: Service) -> list[Question]:
    def kv_rows(text: str, keep: int = 0, model: str = "") -> dict[str, Any]:
        """K and V of all layers for three texts that begin alike."""
        decoder, ids = service.encode(text, model)
        return rows_three_times(service, decoder, ids, keep)

    def kv_edge(text: str, model: str = "") -> dict[str, Any]:
        """A short context filled to its end and then past it, by cropping."""
        decoder, ids = service.encode(text, model)
        chosen = small_enough(service, decoder)
        if chosen is None:
            raise UserError("no_short_context", model=decoder.name, n=decoder.shape.context)
        if chosen is not decoder:
            _, ids = service.encode(text, chosen.name)
        found = service.once(chosen, to_the_edge, ids)
        return {**found, "own": chosen is decoder, "asked_of": decoder.name, "asked_context": decoder.shape.context}

    def kv_models() -> list[dict[str, Any]]:
        """The public models of the calculator."""
        return models()

    def kv_cost(
        text: str,
        what: Literal["reading", "writing", "bytes", "race"] = "reading",
        axes: Literal["tenfold", "even"] = "tenfold",
        first: int = 0,
        new: int = NEW,
        model: str = "",
    ) -> dict[str, Any]:
        """A figure of cost against length, and its crossing. Its texts are keys of the page's words."""
        decoder, ids = prompt_of(service, text, first, model)
        return figure(decoder, ids, new_tokens_of(new), what, axes)

    return [
        Question("kv_rows", kv_rows, public=False),
        Question("kv_edge", kv_edge, public=False),
        Question("kv_models", kv_models, public=False),
        Question("kv_cost", kv_cost, public=False),
    ]


def _public(service: Service) -> list[Question]:
    def memory(
        name: str = "Llama-3-8B",
        context: int = 8192,
        batch: int = 1,
        dtype: Literal["float32", "bfloat16", "float16"] = "bfloat16",
        model: str = "",
    ) -> cache_memory.Memory:
        """A public model's cache against its weights, in bytes. `model` is checked and otherwise unused."""
        service.decoder(model)
        return cache_memory.memory(name, integer("context", context), integer("batch", batch), dtype)

    def cost_of(lengths: list[int] = NO_LENGTHS, model: str = "") -> dict[str, Any]:
        """Operations and bytes of the loaded model at these lengths (none: 1 to 131,072), counted from its shapes."""
        return cost.cost(service.decoder(model), lengths or cost.LENGTHS).as_json()

    return [
        Question("cache_memory", memory),
        Question("cost", cost_of),
    ]


# Why, how much, where it ends, and what it costs


def rows_three_times(service: Service, decoder: Decoder, ids: list[int], keep: int) -> dict[str, Any]:
    """The rows of the first `keep` tokens (0: half), three times. UserError for a text of one token."""
    ids = ids[:ROWS_TOKENS]
    if len(ids) < 2:
        raise UserError("too_short_for_prefix", n=len(ids))
    keep = keep or (len(ids) + 1) // 2
    found = service.once(decoder, cache_rows.moved, ids, keep)
    return {
        "tokens": shown(decoder, ids),
        "other": shown(decoder, found.other),  # the tokens that stand in the changed ending
        "keep": keep,
        "edited": found.edited,
        "cut": found.cut,
        "sample": found.sample,
        "layers": found.layers,
        "sample_layer": found.sample_layer,
        "numbers": found.numbers,
        "typical": found.typical,
        "tolerance": found.tolerance,
        "equal": found.equal,
        "dtype": str(decoder.dtype).removeprefix("torch."),
    }


def models() -> list[dict[str, Any]]:
    """Every public model that the calculator offers."""
    return [
        {
            "name": spec.name,
            "layers": spec.L,
            "heads": spec.h,
            "kv_heads": spec.kv_heads,
            "head_width": spec.head_width,
            "parameters": family.count(spec).total,
            "context": spec.C,
            "window": spec.window,
            "source": spec.source,
        }
        for spec in family.PUBLIC.values()
    ]


def small_enough(service: Service, decoder: Decoder) -> Decoder | None:
    """The decoder itself, or another loaded one whose context is quickly filled."""
    loaded = [decoder, *(service.decoder(name) for name in service.names)]
    return next((d for d in loaded if d.shape.context <= EDGE_CONTEXT), None)


def to_the_edge(decoder: Decoder, ids: list[int]) -> dict[str, Any]:
    """Fill the context but for a few places, ask for more than fit, and go on by cropping."""
    run = edge.begin(decoder, ids, EDGE_LEFT, EDGE_ASKED)
    for _ in run:
        pass
    shifted = edge.shifted(decoder, [*run.prompt, *run.written[: run.fits]])
    return {
        "model": decoder.name,
        "context": decoder.shape.context,
        "prompt": len(run.prompt),
        "begins": shown(decoder, run.prompt[:12]),
        "ends": shown(decoder, run.prompt[-12:]),
        "asked": run.asked,
        "fits": run.fits,
        "written": shown(decoder, run.written),
        "positions": run.positions,
        "dropped": run.dropped,
        "moved": shifted.moved,
        "typical": shifted.typical,
        "sample": shifted.sample,
        "layer": shifted.layer,
        "learned": cache_memory.learned_positions(decoder),
    }


def figure(decoder: Decoder, ids: list[int], new: int, what: str, axes: str) -> dict[str, Any]:
    """One of the four figures of cost, as Plotly takes it, with the numbers it is made of."""
    log = axes == "tenfold"
    if what == "race":
        room = Race(decoder, ids, new).room
        sums = {lane: [positions(len(ids), n + 1, cached=lane == "cached") for n in range(room)] for lane in LANES}
        return {
            "figure": figures.running_sums(sums, log=log).to_plotly_json(),
            "lengths": list(range(1, room + 1)),
            "lines": sums,
        }
    lengths = cost.LENGTHS if log else [max(1, cost.LENGTHS[-1] * k // 32) for k in range(33)]
    found = cost.cost(decoder, lengths)
    source, names = CURVES[what]
    lines = {name: [getattr(line, source)[name] for line in found.rows] for name in names}
    crossing, context = getattr(found, what), decoder.shape.context
    marks = {"context": context} | ({"crossing": crossing} if crossing else {})
    return {
        "figure": figures.against_length(lengths, lines, marks, source, log=log).to_plotly_json(),
        "crossing": crossing,
        "context": context,
        "lengths": list(lengths),
        "lines": lines,
        "model": sizes(decoder, Meter(decoder)),
    }
