"""What each page's script asks for its picture, in the same words: a test opens every one and finds nothing missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gptviz.decoder.decoder import Decoder
from gptviz.lessons.attention import MOST_ROWS

Asks = list[tuple[str, dict[str, Any]]]
Ask = Callable[[str, dict[str, Any]], Any]
NEURONS = 8  # that the page shows
LOOKS = 0.25  # of a row: the least weight of a head that is said to look at a word


def attention(fields: dict[str, Any], decoder: Decoder, text: str, _: Ask) -> Asks:
    """All heads small, the chosen one's rows, what it carries, and what becomes of the answer without some."""
    of = {"text": text, "model": decoder.name}
    layer, head = map(int, fields["head"].split("."))
    last = len(decoder.tokenizer.encode(text)) - 1
    at = last if fields["at"] < 0 else fields["at"]
    stage = "weights" if fields["stage"] == "values" else fields["stage"]
    one = {**of, "layer": layer, "head": head}
    rows = {"first": max(0, at - MOST_ROWS + 1) if last >= MOST_ROWS else 0, "last": at if last >= MOST_ROWS else last}
    asks: Asks = [("head_grid", of), *(("head_rows", {**one, "stage": each, **rows}) for each in {"weights", stage})]
    if fields["stage"] == "values":
        asks.append(("values", {**one, "position": at}))
    if fields["off"]:
        asks.append(("head_off", {**of, "heads": [list(map(int, h.split("."))) for h in fields["off"].split(",")]}))
    return asks


def mask(fields: dict[str, Any], decoder: Decoder, text: str, _: Ask) -> Asks:
    """The true next tokens under the masks as set, and how far a replaced token reaches."""
    asked = {"text": text, "model": decoder.name, **rule(fields)}
    asks: Asks = [("true_tokens", asked)]
    if fields["show"] == "reach":
        asks.append(("reach", {**asked, "position": fields["at"], "replacement": as_word(fields["by"])}))
        asks += [("leaked", asked)] if fields["open"] else []
    return asks


def prefix(fields: dict[str, Any], decoder: Decoder, text: str, _: Ask) -> Asks:
    """One check, with the model's own mask and with the one that is set."""
    asked = {"text": text, "model": decoder.name, **rule(fields), "method": fields["method"]}
    by = as_word(fields["by"]) if fields["method"] == "edit" else ""
    return [("two_checks", {**asked, "keep": fields["keep"], "by": by})]


def next_token(fields: dict[str, Any], decoder: Decoder, text: str, _: Ask) -> Asks:
    """The likeliest tokens, and all logits for the sliders."""
    of = {"text": text, "model": decoder.name}
    return [("outlook", of), ("logits", of)]


def inside(fields: dict[str, Any], decoder: Decoder, text: str, ask: Ask) -> Asks:
    """One column at every layer, and what its view asks besides."""
    of = {"text": text, "model": decoder.name}
    last = len(decoder.tokenizer.encode(text)) - 1
    place = last if fields["at"] < 0 else fields["at"]
    asks: Asks = [("column", {**of, "at": fields["at"]})]
    if fields["show"] == "parts":
        return asks + pushed(of, fields, ask)
    if fields["show"] == "patching":
        return [*asks, ("patching", {**of, "source": fields["source"], "part": fields["part"]})]
    if fields["show"] == "neurons":
        layer = decoder.shape.layers - 1 if fields["layer"] < 0 else fields["layer"]
        return [*asks, ("neurons", {**of, "layer": layer, "position": place, "count": NEURONS})]
    asks.append(("grid", {**of, "at": fields["at"]}))
    return asks + ([("routes", {**of, "position": place}), *pushed(of, fields, ask)] if fields["keep"] else [])


def pushed(of: dict[str, Any], fields: dict[str, Any], ask: Ask) -> Asks:
    """The answer's parts against a rival, and the answer without the head that looks at its word hardest."""
    rivals = ask("rivals", of)["rivals"]
    rival = next((each for each in rivals if each["text"] == fields["against"]), rivals[0])
    asks: Asks = [("rivals", of), ("attribution", {**of, "against": rival["text"]})]
    found = ask(*asks[1])
    there = [
        (float(found["weight"][layer][head]), [layer, head])
        for layer, row in enumerate(found["reads"])
        for head, read in enumerate(row)
        if read == found["target"].shown and float(found["weight"][layer][head]) >= LOOKS
    ]
    return [*asks, *(("ablate", {**of, "heads": [head]}) for _, head in there)]


def kv_cache(fields: dict[str, Any], decoder: Decoder, text: str, _: Ask) -> Asks:
    """The race's work, and the tokens that are written."""
    asked = {"text": text, "model": decoder.name, "first": fields["first"], "new": fields["new"]}
    return [("kv_count", asked), ("kv_words", asked)]


def rule(fields: dict[str, Any]) -> dict[str, Any]:
    """The masks as the scripts ask for them."""
    if not fields["open"]:
        return {"open_layers": [], "direction": "causal"}
    layers = [] if fields["open"] == "all" else [int(layer) for layer in fields["open"].split(",")]
    return {"open_layers": layers, "direction": fields["direction"]}


def as_word(typed: str) -> str:
    """What is typed as a word of a text, which has its space before it."""
    return f" {typed}" if re.match(r"[^\W_]", typed) else typed


ASKED: dict[str, Callable[[dict[str, Any], Decoder, str, Ask], Asks]] = {
    "attention": attention,
    "mask": mask,
    "prefix": prefix,
    "next_token": next_token,
    "inside": inside,
    "kv_cache": kv_cache,
}
