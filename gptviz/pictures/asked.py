"""What each page's script asks for its picture, in the same words: a test opens every one and finds nothing missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gptviz.decoder.decoder import Decoder
from gptviz.lessons.attention import MOST_ROWS

Asks = list[tuple[str, dict[str, Any]]]


def attention(fields: dict[str, Any], decoder: Decoder, text: str) -> Asks:
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


def mask(fields: dict[str, Any], decoder: Decoder, text: str) -> Asks:
    """The true next tokens under the masks as set, and how far a replaced token reaches."""
    asked = {"text": text, "model": decoder.name, **rule(fields)}
    asks: Asks = [("true_tokens", asked)]
    if fields["show"] == "reach":
        asks.append(("reach", {**asked, "position": fields["at"], "replacement": as_word(fields["by"])}))
        asks += [("leaked", asked)] if fields["open"] else []
    return asks


def prefix(fields: dict[str, Any], decoder: Decoder, text: str) -> Asks:
    """One check, with the model's own mask and with the one that is set."""
    asked = {"text": text, "model": decoder.name, **rule(fields), "method": fields["method"]}
    by = as_word(fields["by"]) if fields["method"] == "edit" else ""
    return [("two_checks", {**asked, "keep": fields["keep"], "by": by})]


def next_token(fields: dict[str, Any], decoder: Decoder, text: str) -> Asks:
    """The likeliest tokens, and all logits for the sliders."""
    of = {"text": text, "model": decoder.name}
    return [("outlook", of), ("logits", of)]


def inside(fields: dict[str, Any], decoder: Decoder, text: str) -> Asks:
    """One column at every layer, or the parts of the answer."""
    of = {"text": text, "model": decoder.name}
    asks: Asks = [("column", {**of, "at": fields["at"]})]
    if fields["show"] == "column":
        return [*asks, ("grid", {**of, "at": fields["at"]})]
    return [*asks, ("rivals", of), ("attribution", {**of, "against": fields["against"]})]


def kv_cache(fields: dict[str, Any], decoder: Decoder, text: str) -> Asks:
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


ASKED: dict[str, Callable[[dict[str, Any], Decoder, str], Asks]] = {
    "attention": attention,
    "mask": mask,
    "prefix": prefix,
    "next_token": next_token,
    "inside": inside,
    "kv_cache": kv_cache,
}
