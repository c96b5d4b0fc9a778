"""What the KV-cache page says of a model's cache and of a race that is over."""

from __future__ import annotations

from typing import Any

from gptviz.decoder.decoder import Decoder
from gptviz.lab.writing.cache_work import Race
from gptviz.lab.writing.work import Meter


def weight_of_a_token(decoder: Decoder, words: dict[str, str]) -> dict[str, Any]:
    """What a token weighs in the cache: the formula's numbers, or the sentence of a model that has no such formula."""
    meter = Meter(decoder)
    if meter.formula is not None:
        return {"parts": list(meter.formula), "each": meter.token_bytes, "weighs": ""}
    bounded = sorted({rows.most + 1 for rows in meter.kept if rows.most is not None})
    said = words["memory_line_other"].format(
        per_token=f"{meter.token_bytes:,}", layers=decoder.shape.layers, keeping=len(meter.kept)
    )
    if bounded:
        said += " " + words["memory_line_window"].format(
            count=sum(rows.most is not None for rows in meter.kept), window=" / ".join(f"{n:,}" for n in bounded)
        )
    return {"parts": None, "each": meter.token_bytes, "weighs": said}


def ending(words: dict[str, str], race: Race) -> list[str]:
    """What has to be said about a race that is over: a choice that differed, a context that is full."""
    said = []
    if race.differ is not None:
        found = race.differ
        numbers = {name: f"{getattr(found, name):.2g}" for name in ("delta", "gap", "rounding")}
        said.append(words["diverged" if found.explained else "diverged_more"].format(count=len(found.steps), **numbers))
    if race.stop == "context":
        context = race.decoder.shape.context
        said.append(
            words["stop_context"].format(
                context=f"{context:,}", prompt=f"{len(race.prompt):,}", written=f"{len(race.steps):,}"
            )
        )
    return said
