"""The mask page: take the mask off the running model, and see what the guesses and a changed token make of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.run import Runs
from gptviz.lab.masking import leak, mask_ways
from gptviz.lab.masking.basis import equal_shapes
from gptviz.lab.masking.leak import TrueNext
from gptviz.lab.masking.narrow import narrow_when_open
from gptviz.lessons.fields import Field
from gptviz.lessons.questions import NO_LAYERS, Direction, Question
from gptviz.lessons.ruled import ruled
from gptviz.lessons.shown import shown
from gptviz.service import Service
from gptviz.service.wire import as_json

KEY = "mask"
FIELDS = {
    field.name: field
    for field in (
        Field("show", "choice", "answers", choices=("answers", "grid", "reach", "ways", "influence")),
        Field("open", "layers", ""),
        Field("direction", "choice", "none", choices=("none", "wrong_way")),
        Field("at", "int", -1, -1, 100_000),
        Field("by", "text", "the"),
    )
}
MOST = 2_048  # tokens: what is kept of two runs grows with layers, width and vocabulary, and a laptop has its limit
LONG_WORK = 2  # influence matrices at once; each gives way to other requests after every batch
DIGITS = 6  # short in JSON, and nothing but zero becomes zero
GRID = 4  # tokens whose scores and mask are shown number by number


def questions(service: Service) -> list[Question]:
    """What the page asks, and /mask, /influence, /mask_ways."""

    def true_tokens(
        text: str, open_layers: list[int] = NO_LAYERS, direction: str = "causal", model: str = ""
    ) -> dict[str, Any]:
        """The probability of every true next token, all masks closed and as set, and the mean surprise of both."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction, most=MOST)
        found = true_next(service, decoder, ids, rule)
        alone = len(ids) == 1
        return {
            "tokens": shown(decoder, ids),
            "layers": decoder.shape.layers,
            "closed": found.causal.tolist(),
            "changed": found.changed.tolist(),
            "rises": found.rises,
            "falls": found.falls,
            "narrow": narrow(decoder, ids, rule),
            "verdict": "same" if alone else found.verdict,
            "loss": {"closed": 0.0 if alone else found.loss_causal, "changed": 0.0 if alone else found.loss_changed},
        }

    def reach(
        text: str,
        open_layers: list[int] = NO_LAYERS,
        direction: str = "causal",
        position: int = -1,
        replacement: str = leak.REPLACEMENT,
        model: str = "",
    ) -> dict[str, Any]:
        """What moves, [L+1, T] and logits [T], when one token is replaced (-1: a word of the later half)."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction, most=MOST)
        place = word_in(decoder, ids) if position == -1 else leak.check_position(position, len(ids))
        new = leak.one_token(decoder, replacement)
        found = service.once(decoder, leak.contamination, ids, place, new, rule)
        return {
            "change": found.change.float(),
            "logit_change": found.logit_change.float(),
            "tolerance": found.basis.tolerance,
            "position": found.position,
            "replacement": decoder.tokenizer.token(found.replacement).shown,
        }

    def leaked(
        text: str, open_layers: list[int] = NO_LAYERS, direction: str = "causal", model: str = ""
    ) -> dict[str, Any]:
        """The share of each head's weight that lies on later tokens, mean over queries: [L, h]."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction, most=MOST)
        return {"leaked": service.once(decoder, leak.leaked_mass, ids, rule)}

    def mask_grid(
        text: str, open_layers: list[int] = NO_LAYERS, direction: str = "causal", model: str = ""
    ) -> dict[str, Any]:
        """Scores and weights of one head over the first four tokens, [n, n] each; a head that spreads its weight."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction, most=MOST)
        return service.once(decoder, grid_of, ids[:GRID], rule)

    def influence_columns(
        text: str, open_layers: list[int] = NO_LAYERS, direction: str = "causal", model: str = ""
    ) -> Iterator[dict[str, Any]]:
        """The influence matrix as it is made: a few columns [b, T] at a time, one for each token replaced."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction)
        tolerance = service.worker.run(lambda: equal_shapes(decoder).tolerance)
        for part in service.stream(leak.influence_parts(decoder, ids, rule)):
            yield {"columns": part.float(), "tolerance": tolerance}

    return [
        Question("true_tokens", true_tokens, public=False),
        Question("reach", reach, public=False),
        Question("leaked", leaked, public=False),
        Question("mask_grid", mask_grid, public=False),
        Question("influence_columns", influence_columns, public=False, limit=LONG_WORK),
        *_public(service),
    ]


def _public(service: Service) -> list[Question]:
    def mask(
        text: str,
        open_layers: list[int] = NO_LAYERS,
        direction: Direction = "causal",
        position: int = -1,
        replacement: str = leak.REPLACEMENT,
        model: str = "",
    ) -> dict[str, Any]:
        """How far one replaced token reaches: the residual stream after each layer, logits, loss, leaked weight."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction, most=MOST)
        place = leak.check_position(position, len(ids))
        leak.one_token(decoder, replacement)  # refuses what cannot be part of a key
        effect = service.once(decoder, leak.mask_effect, ids, rule, place, replacement)
        rises = true_next(service, decoder, ids, rule).rises
        leaked = service.once(decoder, leak.leaked_mass, ids, rule)
        more = {"rises": rises, "leaked": as_json(leaked, digits=DIGITS), "narrow": narrow(decoder, ids, rule)}
        return {**as_json(effect, digits=DIGITS), **more}

    def influence(
        text: str, open_layers: list[int] = NO_LAYERS, direction: Direction = "causal", model: str = ""
    ) -> dict[str, Any]:
        """matrix[i][j]: how far output i moves when token j is replaced (at most 64 tokens)."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction)
        parts = service.stream(leak.influence_parts(decoder, ids, rule))
        return as_json(leak.influence_of(decoder, ids, rule, parts), digits=DIGITS)

    def ways(text: str, layer: int = 0, model: str = "") -> dict[str, Any]:
        """The causal mask written three ways on one layer's query, key and value: code and largest differences."""
        decoder, ids = service.encode(text, model, most=MOST)
        return as_json(service.once(decoder, mask_ways.compare_ways, ids, decoder.check_layer(layer)))

    return [
        Question("mask", mask),
        Question("influence", influence, limit=LONG_WORK),
        Question("mask_ways", ways),
    ]


def true_next(service: Service, decoder: Decoder, ids: list[int], rule: MaskRule) -> TrueNext:
    """The probability of every true next token, all masks closed and under `rule`; nothing for a single token."""
    closed = chances(service, decoder, ids, CAUSAL)
    return TrueNext(rule.direction, closed, closed if rule.is_causal else chances(service, decoder, ids, rule))


def chances(service: Service, decoder: Decoder, ids: list[int], rule: MaskRule) -> Tensor:
    """The probability of every true next token [T-1] under one mask."""
    return (-service.once(decoder, leak.paid_under, ids, rule)).exp()


def narrow(decoder: Decoder, ids: list[int], rule: MaskRule) -> dict[str, int]:
    """How many opened layers keep a window that this text outgrows, of how many, and the shortest window."""
    return as_json(narrow_when_open([facts.reach for facts in decoder.facts], rule, len(ids)))


def grid_of(decoder: Decoder, ids: list[int], rule: MaskRule, *, runs: Runs | None = None) -> dict[str, Any]:
    """Scores and weights [n, n] of the head of one layer that rests least on a single token."""
    opened = leak.opened(rule, decoder.shape.layers)
    layer = opened[0] if 0 < len(opened) < decoder.shape.layers else decoder.shape.layers // 2
    seen = (runs or decoder.run)(ids, rule=rule, capture=[layer], last_only=True).attention[layer]
    weights = seen.weights.float()  # [h, n, n]
    spread = torch.special.entr(weights).sum((-1, -2))  # [h]
    head = int(spread.argmax())
    return {
        "tokens": shown(decoder, ids),
        "layer": layer,
        "head": head,
        "pattern": rule.pattern(layer),
        "scores": seen.scores[head].float(),
        "weights": weights[head],
    }


def word_in(decoder: Decoder, ids: list[int]) -> int:
    """A position in the later half that holds a word, not a comma; the last one where there is none."""
    tokens = shown(decoder, ids)
    later = range(len(ids) // 2, len(ids))
    return next((t for t in later if any(c.isalpha() for c in tokens[t])), len(ids) - 1)
