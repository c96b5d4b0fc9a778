"""The attention page: every head of every layer, and one head from scores to weights."""

from __future__ import annotations

import base64
from typing import Any

import gradio as gr
import torch
from torch import Tensor

from gptviz.decoder.attention import CAUSAL, MaskRule, allowed
from gptviz.decoder.errors import UserError
from gptviz.lab.looking import heads
from gptviz.lab.masking.leak import rule_of
from gptviz.lessons.page import (
    NO_LAYERS,
    Asked,
    Page,
    answered,
    api,
    fields,
    guess,
    integer,
    lines,
    prose,
    question,
    story,
)
from gptviz.service import Service
from gptviz.service.wire import as_json
from gptviz.widgets import widget

KEY, TAB = "attention", "Attention"


def build(service: Service, asked: gr.State) -> Page:
    """Lay the page out."""
    words = prose(KEY)
    question(words)
    picture = widget("attention", label="Attention heads", server=[head_server(service)])
    ask = widget("predict", label="Guess before you look", value=guess(words))
    story(words["story"])

    def show(now: Asked) -> dict[Any, Any]:
        return {picture: picture_value(service, now["text"], now["model"]), ask: guess_value(service, words, now)}

    return Page([picture, ask], show)


def endpoints(service: Service) -> None:
    """/attention and /heads."""

    def attention(
        text: str,
        layer: int = 0,
        head: int = 0,
        stage: str = "weights",
        open_layers: list[int] = NO_LAYERS,
        model: str = "",
    ) -> dict[str, Any]:
        """One head's T x T matrix: rows are queries, columns are keys; a masked score is null."""
        decoder, ids = service.encode(text, model)
        rule = rule_of(open_layers, "none", decoder.shape.layers) if open_layers else CAUSAL
        matrix, _ = one_head(service, text, model, integer("layer", layer), integer("head", head), stage, rule)
        return as_json({"tokens": decoder.tokenizer.tokens(ids), "matrix": matrix})

    def all_heads(text: str, size: int = 32, model: str = "") -> dict[str, Any]:
        """What every head does on this text: kind and measures."""
        decoder, ids = service.encode(text, model)
        panel = service.panel(decoder, ids, size=integer("size", size))
        stats = as_json(panel.stats, digits=4)
        return {
            "layers": decoder.shape.layers,
            "heads": decoder.shape.heads,
            "size": panel.thumbnails.shape[-1],
            "stats": stats,
        }

    api(attention, "attention")
    api(all_heads, "heads")


def one_head(
    service: Service, text: str, model: str, layer: int, head: int, stage: str, rule: MaskRule = CAUSAL
) -> tuple[Tensor, str]:
    """One head's matrix [T, T] at a stage, and the pattern of its mask. UserError for what the model does not have."""
    decoder, ids = service.encode(text, model)
    decoder.check_layer(layer)
    decoder.check_head(head)
    if stage not in heads.STAGES:
        raise UserError(f'stage is "{stage}"; it must be one of {", ".join(heads.STAGES)}.')
    seen = service.layer(decoder, ids, layer, rule=rule)
    pattern = rule.pattern(layer)
    return heads.stage_of(seen, head, stage, allowed(pattern, len(ids), len(ids))), pattern


def head_server(service: Service) -> Any:
    """What the widget calls for one head: float32 numbers as base64, the triangle alone where the mask is causal."""

    def head(asked: Any) -> dict[str, Any]:
        text, model, layer, number, stage = fields(asked, "text", "model", "layer", "head", "stage")
        matrix, _ = one_head(service, text, str(model), integer("layer", layer), integer("head", number), str(stage))
        square = stage == "scores"
        return {"values": packed(matrix if square else triangle(matrix)), "square": square}

    return answered(head)


def picture_value(service: Service, text: str, model: str) -> dict[str, Any]:
    """What the attention widget draws: small pictures of all heads, and what each head does."""
    decoder, ids = service.encode(text, model)
    panel = service.panel(decoder, ids)
    return {
        "text": text,
        "model": decoder.name,
        "tokens": [t.shown for t in decoder.tokenizer.tokens(ids)],
        **panel_payload(panel),
        "start": first_head(panel),
        "explain": dict(zip(("induction", "previous", "first", "broad", "local", "mixed"), explain(), strict=True)),
    }


def first_head(panel: heads.Panel) -> list[int]:
    """The head to show first: one that does several things at once, and answers no question of the page."""
    mixed = [s for s in panel.stats if s.kind == "mixed"] or panel.stats
    chosen = min(mixed, key=lambda s: s.entropy)
    return [chosen.layer, chosen.head]


def panel_payload(panel: heads.Panel, *, square: bool = False) -> dict[str, Any]:
    """The part of a picture that grows with L and h: small pictures (their triangle, or `square`) and measures."""
    layers, across, side, _ = panel.thumbnails.shape
    flat = panel.thumbnails.reshape(-1, side, side)  # [L*h, S, S]
    return {
        "layers": layers,
        "heads": across,
        "side": side,
        "square": square,
        "pooled": panel.pooled,
        "thumbs": packed(flat if square else triangle(flat)),
        "stats": [
            [s.kind, round(s.entropy, 3), round(s.first_token, 4), round(s.previous_token, 4), round(s.induction, 4)]
            for s in panel.stats
        ],
    }


def explain() -> list[str]:
    """One sentence a kind of head, with the bound it is measured by."""
    return [line.format(**heads.BOUNDS, near=heads.NEAR) for line in lines(prose(KEY)["kinds"])]


def guess_value(service: Service, words: dict[str, str], asked: Asked) -> dict[str, Any]:
    """The guess box: in which third of the layers is the head that reads the previous token most?"""
    decoder, ids = service.encode(asked["text"], asked["model"])
    best = max(service.panel(decoder, ids).stats, key=lambda s: s.previous_token)
    third = min(2, 3 * best.layer // decoder.shape.layers)
    text = words["answer"].format(
        layer=best.layer, last=decoder.shape.layers - 1, head=best.head, share=round(100 * best.previous_token)
    )
    return {**guess(words), "answer": {"index": third, "text": text}}


def triangle(matrices: Tensor) -> Tensor:
    """The lower triangles of [..., T, T] with the diagonal, row by row: [..., T(T+1)/2]."""
    rows, columns = torch.tril_indices(matrices.shape[-2], matrices.shape[-1])
    return matrices[..., rows, columns]


def packed(numbers: Tensor) -> str:
    """A tensor's bytes as base64, for the browser."""
    return base64.b64encode(numbers.contiguous().numpy().tobytes()).decode()
