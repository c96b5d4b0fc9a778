"""The mask page: take the mask off the running model and see what a changed token reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr
import torch
from torch import Tensor

from gptviz.decoder.attention import MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.lab.masking import leak, mask_ways
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
    lines,
    prose,
    question,
    sentences,
    story,
)
from gptviz.service import Service
from gptviz.service.wire import as_json
from gptviz.widgets import widget

KEY, TAB = "mask", "The mask"
MOST = 2_048  # tokens: what is kept of two runs grows with layers, width and vocabulary, and a laptop has its limit
DIGITS = 6  # short in JSON, and nothing but zero becomes zero
LONG_WORK = 2  # influence matrices at once; each gives way to other requests after every batch


def build(service: Service, asked: gr.State) -> Page:
    """Lay the page out."""
    words = prose(KEY)
    question(words)
    said = {name: guess(words, f"guess_{name}") for name in ("map", "heads", "loss")} | {
        "loss_note": words["loss_note"].replace("*", "")
    }
    bench = widget(
        "mask", label="Take the mask away", server=[map_server(service), heads_server(service)], fixed={"words": said}
    )
    heading(words["heading_influence"], words["lede_influence"])
    matrix = widget("influence", label="Influence matrix", fixed={"words": guess(words, "guess_influence")})
    heading(words["heading_ways"], words["lede_ways"])
    ways = widget(
        "ways",
        label="The mask written three ways",
        server=[ways_server(service)],
        fixed={
            "words": guess(words, "guess_ways"),
            "codes": [
                [title, words[f"code_{way}"]] for title, way in zip(lines(words["codes"]), mask_ways.WAYS, strict=True)
            ],
            "extra": {kind: words[f"extra_{kind}"] for kind in ("refused", "both", "one")},
        },
    )
    story(words["story"])

    def show(now: Asked) -> dict[Any, Any]:
        decoder, ids = service.encode(now["text"], now["model"], most=MOST)
        return {
            bench: bench_value(service, decoder, ids, now["text"]),
            matrix: influence_value(now, decoder, ids),
            ways: {
                "text": now["text"],
                "model": decoder.name,
                "layers": decoder.shape.layers,
                "tokens": len(ids),
                "found": ways_of(service, decoder, ids, decoder.shape.layers // 2),
            },
        }

    def run(now: Asked, event: gr.EventData) -> Iterator[dict[str, Any]]:
        open_layers, direction = fields(event._data, "open_layers", "direction")
        decoder, ids = service.encode(now["text"], now["model"])
        rule = rule_of(open_layers, str(direction), decoder.shape.layers)
        columns: list[Tensor] = []
        for part in service.stream(leak.influence_parts(decoder, ids, rule)):
            columns.append(part)
            yield influence_value(now, decoder, ids, rule, torch.cat(columns))

    running = matrix.act(
        sentences(run),
        [asked],
        [matrix],
        show_progress="hidden",
        concurrency_limit=LONG_WORK,
        concurrency_id="influence",
        api_visibility="private",
    )
    matrix.pick(None, None, None, cancels=[running], api_visibility="private")
    return Page([bench, matrix, ways], show)


def endpoints(service: Service) -> None:
    """/mask, /influence and /mask_ways."""

    def mask(
        text: str,
        open_layers: list[int] = NO_LAYERS,
        direction: str = "causal",
        position: int = -1,
        replacement: str = " the",
        model: str = "",
    ) -> dict[str, Any]:
        """How far one replaced token reaches: the residual stream after each layer, logits, loss, leaked weight."""
        decoder, ids = service.encode(text, model, most=MOST)
        rule = rule_of(open_layers, direction, decoder.shape.layers)
        effect = found(service, decoder, ids, rule, integer("position", position), replacement)
        leaked = service.once(decoder, leak.leaked_mass, ids, rule)
        return {**as_json(effect, digits=DIGITS), "leaked": as_json(leaked, digits=DIGITS)}

    def influence(
        text: str, open_layers: list[int] = NO_LAYERS, direction: str = "causal", model: str = ""
    ) -> dict[str, Any]:
        """matrix[i][j]: how far output i moves when token j is replaced (at most 64 tokens)."""
        decoder, ids = service.encode(text, model)
        rule = rule_of(open_layers, direction, decoder.shape.layers)
        parts = service.stream(leak.influence_parts(decoder, ids, rule))
        return as_json(leak.influence_of(decoder, ids, rule, parts), digits=DIGITS)

    def ways(text: str, layer: int = 0, model: str = "") -> dict[str, Any]:
        """The causal mask written three ways on one layer's query, key and value: largest differences."""
        decoder, ids = service.encode(text, model, most=MOST)
        return ways_of(service, decoder, ids, integer("layer", layer))

    api(mask, "mask")
    api(influence, "influence", limit=LONG_WORK)
    api(ways, "mask_ways")


def found(
    service: Service, decoder: Decoder, ids: list[int], rule: MaskRule, position: int, replacement: str
) -> leak.MaskEffect:
    """One replaced token and what it moves."""
    leak.one_token(decoder, replacement)  # refuses what cannot be part of a key
    return service.once(decoder, leak.mask_effect, ids, rule, leak.check_position(position, len(ids)), replacement)


def ways_of(service: Service, decoder: Decoder, ids: list[int], layer: int) -> dict[str, Any]:
    """What /mask_ways answers."""
    found = service.once(decoder, mask_ways.compare_ways, ids, decoder.check_layer(layer))
    return as_json(found)


def bench_value(service: Service, decoder: Decoder, ids: list[int], text: str) -> dict[str, Any]:
    """What the bench shows first: every mask on, one word in the later half replaced."""
    tokens = [t.shown for t in decoder.tokenizer.tokens(ids)]
    later = range(len(ids) // 2, len(ids))
    place = next((t for t in later if any(c.isalpha() for c in tokens[t])), len(ids) - 1)  # a word, not a comma
    first = found(service, decoder, ids, MaskRule(), place, leak.REPLACEMENT)
    return {
        "text": text,
        "model": decoder.name,
        "tokens": tokens,
        "layers": decoder.shape.layers,
        "position": place,
        "replacement": leak.REPLACEMENT,
        "first": map_of(first),
    }


def map_of(effect: leak.MaskEffect) -> dict[str, Any]:
    """The part of /mask that the map draws; the rows of the stream and the logits as float32 in base64."""
    rows = torch.cat([effect.change, effect.logit_change[None]])  # [L+2, T]
    return {
        "change": packed(rows),
        "position": effect.position,
        "replacement": effect.replacement.shown,
        "open_layers": effect.open_layers,
        "loss": as_json(effect.loss, digits=DIGITS),
    }


def map_server(service: Service) -> Any:
    """What the bench calls after each click."""

    def map(asked: Any) -> dict[str, Any]:
        names = ("text", "model", "open_layers", "direction", "position", "replacement")
        text, model, open_layers, direction, position, replacement = fields(asked, *names)
        decoder, ids = service.encode(text, str(model), most=MOST)
        rule = rule_of(open_layers, str(direction), decoder.shape.layers)
        return map_of(found(service, decoder, ids, rule, integer("position", position), str(replacement)))

    return answered(map)


def heads_server(service: Service) -> Any:
    """The small pictures of all heads under the open layers, whole squares, and the weight each head leaks."""

    def heads(asked: Any) -> dict[str, Any]:
        text, model, open_layers, direction = fields(asked, "text", "model", "open_layers", "direction")
        decoder, ids = service.encode(text, str(model), most=MOST)
        rule = rule_of(open_layers, str(direction), decoder.shape.layers)
        panel = service.panel(decoder, ids, rule=rule)
        return {
            "layers": decoder.shape.layers,
            "heads": decoder.shape.heads,
            "side": panel.thumbnails.shape[-1],
            "thumbs": packed(panel.thumbnails),
            "stats": [[s.kind] for s in panel.stats],
            "leaked": as_json(service.once(decoder, leak.leaked_mass, ids, rule), digits=DIGITS),
        }

    return answered(heads)


def ways_server(service: Service) -> Any:
    """Another layer for the three ways."""

    def ways(asked: Any) -> dict[str, Any]:
        text, model, layer = fields(asked, "text", "model", "layer")
        decoder, ids = service.encode(text, str(model), most=MOST)
        return ways_of(service, decoder, ids, integer("layer", layer))

    return answered(ways)


def influence_value(
    now: Asked, decoder: Decoder, ids: list[int], rule: MaskRule | None = None, edits: Tensor | None = None
) -> dict[str, Any]:
    """What the influence widget draws: nothing yet, or the columns found so far (`edits` [n, T], one a token)."""
    T = len(ids)
    value: dict[str, Any] = {
        "text": now["text"],  # a run for the prompt before this one must not be shown under it
        "model": decoder.name,
        "tokens": [t.shown for t in decoder.tokenizer.tokens(ids)],
        "most": leak.MOST_TOKENS,
    }
    if rule is None or edits is None:
        return value
    full = torch.zeros(T, T)
    full[:, : len(edits)] = edits.T
    return {
        **value,
        "matrix": packed(full),
        "done": len(edits),
        "open_layers": leak.opened(rule, decoder.shape.layers),
        "direction": rule.direction if not rule.is_causal else "causal",
    }
