"""The attention page: every head of every layer, one head from scores to what it carries, and heads switched off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.edits import Edits
from gptviz.decoder.errors import UserError
from gptviz.lab.looking import ablation, heads, induction, values
from gptviz.lab.masking.leak import rule_of
from gptviz.lab.writing.sampling import entropy
from gptviz.lessons.fields import Field
from gptviz.lessons.questions import NO_LAYERS, Question
from gptviz.lessons.shown import shown
from gptviz.service import Service
from gptviz.service.wire import as_json

KEY = "attention"
KINDS = (*heads.BOUNDS, "mixed")
FIELDS = {
    field.name: field
    for field in (
        Field("head", "head", ""),
        Field("stage", "choice", "weights", choices=("scores", "masked", "weights", "values")),
        Field("at", "int", -1, -1, 100_000),
        Field("rows", "choice", "one", choices=("one", "all")),
        Field("rest", "yes", False),
        Field("kind", "choice", "", choices=("", *KINDS)),
        Field("pick", "choice", "", choices=("", "parked", "pair")),
        Field("mute", "yes", False),
        Field("off", "heads", ""),
    )
}
NO_HEADS: list[list[int]] = []  # the default of `heads` and `edges`; never changed
MOST_ROWS = 64  # rows of one head that the page draws at once
# What /heads tells of each head.
STATS = (
    "layer", "head", "kind", "entropy", "first_token", "previous_token", "induction", "resting", "rests_on",
)  # fmt: skip
BARS = 5  # next tokens that the page shows before and after


def questions(service: Service) -> list[Question]:
    """What the page asks, and /attention, /heads, /values, /ablate."""

    def attention(
        text: str,
        layer: int = 0,
        head: int = 0,
        stage: Literal["weights", "scores", "masked"] = "weights",
        open_layers: list[int] = NO_LAYERS,
        model: str = "",
    ) -> dict[str, Any]:
        """One head's T x T matrix: rows are queries, columns are keys; a masked score is null."""
        decoder, ids = service.encode(text, model)
        rule = rule_of(open_layers, "none", decoder.shape.layers) if open_layers else CAUSAL
        matrix, _ = one_head(service, decoder, ids, layer, head, stage, rule)
        return {"tokens": decoder.tokenizer.tokens(ids), "matrix": matrix}

    def all_heads(text: str, size: int = 32, model: str = "") -> dict[str, Any]:
        """What every head does on this text: kind and measures."""
        decoder, ids = service.encode(text, model)
        panel = service.panel(decoder, ids, size=size)
        return {
            "layers": decoder.shape.layers,
            "heads": decoder.shape.heads,
            "size": panel.thumbnails.shape[-1],
            "stats": [{name: as_json(getattr(stat, name), digits=4) for name in STATS} for stat in panel.stats],
        }

    def head_values(text: str, layer: int = 0, head: int = 0, position: int = -1, model: str = "") -> dict[str, Any]:
        """What one head carries to one query: each key's weight, the length of its value, and of what it adds."""
        decoder, ids = service.encode(text, model)
        tokens = decoder.tokenizer.tokens(ids)
        return {"tokens": tokens, **carried(service, decoder, ids, layer, head, position)}

    def ablate(
        text: str,
        heads: list[list[int]] = NO_HEADS,
        edges: list[list[int]] = NO_HEADS,
        mode: Literal["zero", "mean"] = "zero",
        count: int = 20,
        model: str = "",
    ) -> dict[str, Any]:
        """The next token, and what becomes of it with heads off or edges (layer, head, query, key) blocked."""
        decoder, ids = service.encode(text, model)
        if not 1 <= count <= decoder.shape.vocabulary:
            raise UserError("whole_between", name="count", value=count, low=1, high=decoder.shape.vocabulary)
        found = ablated(service, decoder, ids, ablation.edits_of(decoder, len(ids), heads, edges, mode))
        target = int(found.before.argmax())
        return {
            "before": bars(decoder, found.before, count),
            "after": bars(decoder, found.after, count),
            "kl": found.kl,
            "target": decoder.tokenizer.token(target).as_json(),
            "target_p": {"before": float(found.before[target]), "after": float(found.after[target])},
        }

    public: list[tuple[str, Callable[..., Any]]] = [
        ("attention", attention),
        ("heads", all_heads),
        ("values", head_values),
        ("ablate", ablate),
    ]
    return [Question(name, fn) for name, fn in public] + own(service)


def own(service: Service) -> list[Question]:
    """What the page alone asks."""

    def head_grid(text: str, model: str = "") -> dict[str, Any]:
        """Small pictures of all heads, what each does, and which is opened first."""
        decoder, ids = service.encode(text, model)
        return grid(decoder, ids, service.panel(decoder, ids))

    def head_rows(
        text: str,
        layer: int,
        head: int,
        stage: Literal["weights", "scores", "masked"] = "weights",
        first: int = 0,
        last: int = 0,
        model: str = "",
    ) -> dict[str, Any]:
        """Rows first … last of one head, [R, T] float32, and which keys each may read."""
        decoder, ids = service.encode(text, model)
        if not (0 <= first <= last < len(ids) and last - first < MOST_ROWS):
            raise UserError("rows", first=first, last=last, most=MOST_ROWS, n=len(ids))
        matrix, seen = one_head(service, decoder, ids, layer, head, stage)
        return {"rows": matrix[first : last + 1], "seen": seen[first : last + 1]}

    def head_off(text: str, heads: list[list[int]], model: str = "") -> dict[str, Any]:
        """The likeliest next tokens with all heads, and with these switched off."""
        decoder, ids = service.encode(text, model)
        found = ablated(service, decoder, ids, ablation.edits_of(decoder, len(ids), heads, [], "zero"))
        return changed(decoder, found)

    def head_pair(text: str, model: str = "") -> dict[str, Any]:
        """The two heads that continue a repetition, if there is one, and what is left with the first one off."""
        decoder, ids = service.encode(text, model)
        return {"pair": service.once(decoder, induction.pair, ids)}

    asked: list[Callable[..., Any]] = [head_grid, head_rows, head_off, head_pair]
    return [Question(fn.__name__, fn, public=False) for fn in asked]


def one_head(
    service: Service, decoder: Decoder, ids: list[int], layer: int, head: int, stage: str, rule: MaskRule = CAUSAL
) -> tuple[Tensor, Tensor]:
    """One head's matrix [T, T] at a stage, and which keys each query may read [T, T]."""
    decoder.check_layer(layer)
    decoder.check_head(head)
    found = service.layer(decoder, ids, layer, rule=rule)
    return heads.stage_of(found, head, stage), found.seen


def carried(service: Service, decoder: Decoder, ids: list[int], layer: int, head: int, position: int) -> dict[str, Any]:
    """What /values answers, the tokens left out."""
    found = service.once(decoder, values.carried, ids, layer, head, position)
    return {
        "position": found.position,
        "weights": found.weights,
        "value_norms": found.value_norms,
        "contributions": found.contributions,
        "output_norm": found.output_norm,
        "stream_norm": found.stream_norm,
        "cosine": found.cosine,
        "longest": found.longest,
    }


def ablated(service: Service, decoder: Decoder, ids: list[int], edits: Edits) -> ablation.Ablation:
    """The ablation, from the shelf where it was made before."""
    return service.once(decoder, ablation.ablate, ids, edits)


def bars(decoder: Decoder, p: Tensor, count: int) -> dict[str, Any]:
    """The likeliest tokens with their probability, and the entropy in nats."""
    top = p.topk(min(count, len(p)))
    named = zip(top.indices.tolist(), decoder.tokenizer.tokens(top.indices.tolist()), top.values.tolist(), strict=True)
    return {"bars": [{"id": i, "shown": token.shown, "p": x} for i, token, x in named], "entropy": entropy(p)}


def changed(decoder: Decoder, found: ablation.Ablation) -> dict[str, Any]:
    """The tokens that lead before or after, with both probabilities."""
    first, then = found.before.topk(BARS).indices.tolist(), found.after.topk(BARS).indices.tolist()
    ids = [*first[:3], *(i for i in then[:3] if i not in first[:3])][:BARS]
    ids += [i for i in first if i not in ids][: BARS - len(ids)]
    return {
        "shown": shown(decoder, ids),
        "before": found.before[ids].tolist(),
        "after": found.after[ids].tolist(),
        "best_after": decoder.tokenizer.token(then[0]).shown,
        "best_after_p": float(found.after[then[0]]),
        "kl": found.kl,
    }


def grid(decoder: Decoder, ids: list[int], panel: heads.Panel) -> dict[str, Any]:
    """What the page draws of all heads: triangles of their small pictures [L*h, S(S+1)/2], kinds and measures."""
    side = panel.thumbnails.shape[-1]
    rows, columns = torch.tril_indices(side, side)
    stats = panel.stats
    return {
        "tokens": shown(decoder, ids),
        "layers": decoder.shape.layers,
        "heads": decoder.shape.heads,
        "side": side,
        "pooled": panel.pooled,
        "pictures": panel.thumbnails.reshape(-1, side, side)[:, rows, columns],
        "kinds": torch.tensor([KINDS.index(stat.kind) for stat in stats], dtype=torch.uint8),
        "names": list(KINDS),
        "bounds": heads.BOUNDS,
        "near": heads.NEAR,
        "measures": torch.tensor([stat.measure for stat in stats]),
        "rests_on": torch.tensor([stat.rests_on for stat in stats], dtype=torch.int32),
        "start": first_head(stats),
        "parked": parked_head(stats),
        "best": {kind: best_of(kind, stats) for kind in KINDS if any(stat.kind == kind for stat in stats)},
        "split": all(projection is not None for projection in decoder.projections),
    }


def first_head(stats: list[heads.HeadStat]) -> list[int]:
    """The head that is opened first: the one whose last row singles out one earlier word most."""
    found = max(stats, key=lambda stat: stat.singled)
    return [found.layer, found.head]


def parked_head(stats: list[heads.HeadStat]) -> list[int]:
    """A head whose last row rests on the first token, and still reads something clearly."""
    found = max(stats, key=lambda stat: stat.parked)
    return [found.layer, found.head]


def best_of(kind: str, stats: list[heads.HeadStat]) -> list[int]:
    """The head in which a kind shows most clearly."""
    found = max((stat for stat in stats if stat.kind == kind), key=lambda stat: stat.measure)
    return [found.layer, found.head]
