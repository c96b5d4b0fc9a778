"""What the widgets of the next-token page draw, as values for the browser."""

from __future__ import annotations

import json
from typing import Any

import torch

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.looking import logit_lens
from gptviz.lab.writing import sampling, strategies, writer
from gptviz.lab.writing.sampling import Settings
from gptviz.lessons.attention import packed
from gptviz.lessons.page import guess
from gptviz.service.wire import as_json

NAMED = 200  # tokens whose names travel with the logits; others are asked for when drawn
BARS = 20
MOST_WRITTEN = 200  # tokens in one go on the page; the endpoint writes as many as the context holds


def bars_value(decoder: Decoder, ids: list[int], read: logit_lens.Read) -> dict[str, Any]:
    """All V logits of the last position, the names of the likeliest tokens, and the text as tokens."""
    return {
        **position_value(decoder, read.logits),
        "tokens": shown(decoder, ids),
        "context": decoder.shape.context,
        "stops": sorted(decoder.tokenizer.stops),
        "bars": BARS,
        "most": MOST_WRITTEN,
    }


def position_value(decoder: Decoder, logits: torch.Tensor) -> dict[str, Any]:
    """Logits [V] as base64 float32, with the likeliest tokens by name."""
    top = torch.sort(logits, descending=True, stable=True).indices[:NAMED].tolist()
    return {
        "logits": packed(logits.float()),
        "top": one_string(as_json(decoder.tokenizer.tokens(top))),
    }


def lens_value(decoder: Decoder, ids: list[int], read: logit_lens.Read) -> dict[str, Any]:
    """The surprise of every token, and the lens at the last position."""
    return {
        "tokens": shown(decoder, ids),
        "nats": read.surprise.nats,
        "loss": read.surprise.loss,
        "perplexity": read.surprise.perplexity,
        **lens_rows(decoder, read, len(ids) - 1),
    }


def lens_rows(decoder: Decoder, read: logit_lens.Read, position: int) -> dict[str, Any]:
    """One row a layer: the likeliest tokens with p, the entropy, and the rank of the last layer's favourite."""
    try:
        readings = logit_lens.logit_lens(decoder, read.run, position)
    except UserError as error:
        return {"position": position, "rows": "[]", "note": str(error)}
    rows = [
        {
            "layer": r.layer,
            "shown": shown(decoder, r.ids),
            "ids": r.ids,
            "p": r.p,
            "entropy": r.entropy,
            "final_p": r.final_p,
            "final_rank": r.final_rank,
        }
        for r in readings
    ]
    return {"position": position, "rows": one_string(rows), "note": ""}


def guess_value(words: dict[str, str], read: logit_lens.Read) -> dict[str, Any]:
    """The tail's share at temperature 1 and 2, measured."""
    count = min(BARS, len(read.logits))
    one, two = (sampling.bars(sampling.stages(read.logits, Settings(t)), count)[1] for t in (1.0, 2.0))
    index = 1 if abs(two - one) < 0.01 else 2 if two > one else 0
    text = words["answer"].format(
        others=f"{len(read.logits) - count:,}", bars=count, one=_percent(one), two=_percent(two)
    )
    return {**guess(words), "answer": {"index": index, "text": text}}


def contest_value(decoder: Decoder, state: strategies.Contest, *, ended: bool) -> dict[str, Any]:
    """The columns and the tree as the widget draws them."""
    texts = [
        {"shown": shown(decoder, t.ids), "p": t.p, "stop": t.stop, "loops": loop_rows(t.loops)} for t in state.texts
    ]
    tree = [[n.parent, n.depth, decoder.tokenizer.token(n.id).shown, n.logp, n.score, n.fate] for n in list(state.tree)]
    return {"state": one_string({"texts": texts, "tree": tree, "best": state.best}), "ended": ended}


def one_string(value: Any) -> str:
    """A nested value as JSON text: Gradio's page would make each list in it reactive, which costs more than drawing."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shown(decoder: Decoder, ids: list[int]) -> list[str]:
    return [token.shown for token in decoder.tokenizer.tokens(ids)]


def loop_rows(found: list[writer.Loop]) -> list[list[int]]:
    return [[loop.start, loop.stop, loop.period, loop.times] for loop in found]


def _percent(p: float) -> str:
    return f"{100 * p:.1f} %"
