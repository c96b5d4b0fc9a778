"""The map of copied places, layer × position, for a text of 14 tokens: `python -m bench patching`"""

from __future__ import annotations

import time
from typing import Any

from bench import decode
from bench.measure import machine
from gptviz.lab.looking.patching import PARTS, patching

TOKENS = 14
CHANGED = (1, 3, 9)  # places at which the two texts differ


def run(*, quick: bool = False) -> dict[str, Any]:
    """Seconds of the whole map, and until its first layer is there, for each part that may be copied."""
    rows = [_shape(shape, PARTS[:1] if quick else PARTS) for shape in decode.SHAPES]
    return {"machine": machine(), "tokens": TOKENS, "patching": rows}


def _shape(shape: str, parts: tuple[str, ...]) -> dict[str, Any]:
    decoder, _ = decode.build(shape)
    text = decode.ids_of(TOKENS, decoder.shape.vocabulary)
    source = [id + 1 if place in CHANGED else id for place, id in enumerate(text)]
    seconds: dict[str, dict[str, float]] = {}
    for part in parts:
        begin, first = time.perf_counter(), 0.0
        for _ in patching(decoder, text, source, part=part):
            first = first or time.perf_counter() - begin
        seconds[part] = {"first": first, "whole": time.perf_counter() - begin}
    return {"shape": shape, "layers": decoder.shape.layers, "seconds": seconds}
