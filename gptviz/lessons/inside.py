"""The page Inside: one column followed from the token table to the answer, and what the model is made of."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from typing import Any

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.run import Run
from gptviz.lab.looking import anatomy, depth, logit_lens, patching
from gptviz.lab.looking import attribution as parts_of
from gptviz.lessons import inside_questions, order_questions
from gptviz.lessons.fields import Field
from gptviz.lessons.inside_questions import WORD, piece
from gptviz.lessons.next_token import last_logits, shown
from gptviz.lessons.questions import Question
from gptviz.service import Keep, Service

KEY = "inside"
VIEWS = ("column", "table", "order", "swap", "stream", "neurons", "parts", "patching", "count")
FIELDS = {
    field.name: field
    for field in (
        Field("at", "int", -1, -1, 100_000),
        Field("layer", "int", -1, -1, 10_000),
        Field("keep", "float", 0.0, 0, 100),
        Field("show", "choice", "column", choices=VIEWS),
        Field("against", "text", ""),
        Field("part", "choice", "stream", choices=patching.PARTS),
        Field("source", "text", ""),
    )
}
COLUMNS = 40  # drawn at once: of a longer text, those around the chosen one
MOST_STREAM = 2_048  # positions; the stream of all layers has to be kept


def questions(service: Service) -> list[Question]:
    """The endpoints, and what the picture asks."""

    def column(text: str, at: int = -1, model: str = "") -> dict[str, Any]:
        """The text's tokens, and the first words of one column at every layer."""
        decoder, run = read(service, text, model)
        places = depth.window(len(run.ids), at, COLUMNS)
        return {
            "tokens": shown(decoder, run.ids),
            "ids": run.ids,
            "window": places,
            "place": at % len(run.ids),
            "vocabulary": decoder.shape.vocabulary,
            "width": decoder.shape.width,
            "rows": readings(decoder, run, at, 3),
        }

    def grid(text: str, at: int = -1, model: str = "") -> dict[str, Any]:
        """The word of every layer in a window of columns."""
        decoder, run = read(service, text, model)
        found = depth.depth(decoder, run, depth.window(len(run.ids), at, COLUMNS))
        words = [shown(decoder, row) for row in found.ids.tolist()]
        return {"window": found.positions, "words": words, "ids": found.ids, "p": found.p}

    def overview(text: str, model: str = "") -> dict[str, Any]:
        """How sure the model is of its best next token after every token of the text: [T]."""
        decoder, ids = service.encode(text, model, most=MOST_STREAM)
        return {"p": service.once(decoder, depth.sureness, ids)}

    def lookup(text: str, at: int = -1, model: str = "") -> dict[str, Any]:
        """One token's row of the table, its nearest rows, and its row in the head."""
        decoder, run = read(service, text, model)
        place = depth.window(len(run.ids), at, 1)[0]
        id = run.ids[place]
        found = service.once(decoder, anatomy.token_vector, id)
        row = decoder.model.get_input_embeddings().weight[id].detach().float().cpu()
        near = [{"shown": decoder.tokenizer.token(n.id).shown, "cosine": n.cosine} for n in found.near_in]
        out = [{"shown": decoder.tokenizer.token(n.id).shown, "cosine": n.cosine} for n in found.near_out]
        return {"id": id, "row": row, "norm": found.norm, "tied": found.tied, "near": near, "near_out": out}

    def order(text: str, model: str = "") -> dict[str, Any]:
        """Places of equal tokens and how they part; how the model knows a place."""
        decoder, run = read(service, text, model)
        places = service.once(decoder, anatomy.positions_of)
        return {
            "pairs": depth.pairs(run),
            "kind": places.kind,
            "rows": places.rows,
            "norms": places.norms.tolist(),
            "wavelengths": places.wavelengths.tolist(),
            "past_the_end": places.past_the_end,
            "context": decoder.shape.context,
        }

    def stream(text: str, at: int = -1, model: str = "") -> dict[str, Any]:
        """Lengths of the vectors between the blocks and of what each block adds, in a window of columns."""
        decoder, run = read(service, text, model)
        found = anatomy.stream(decoder, run)
        places = depth.window(len(run.ids), at, COLUMNS)
        return {
            "window": places,
            "norms": found.norms[:, places].tolist(),
            "added": found.added[:, places].tolist(),
            "final": found.final[places].tolist(),
        }

    def rivals(text: str, model: str = "") -> dict[str, Any]:
        """Tokens that the answer may be held against: the next likeliest, and the likeliest that stands in the text."""
        decoder, ids = service.encode(text, model, most=parts_of.MOST)
        p = last_logits(service, decoder, ids).double().softmax(-1)  # [V]
        order = p.argsort(descending=True, stable=True).tolist()
        there = set(ids)
        tokens = decoder.tokenizer
        words = (id for id in order[1:] if id in there and len(tokens.token(id).shown.strip("·")) >= WORD)
        chosen = list(dict.fromkeys([*itertools.islice(words, 1), *order[1:3]]))
        return {
            "answer": tokens.token(order[0]).shown,
            "rivals": [{"shown": tokens.token(i).shown, "text": tokens.decode([i]), "p": float(p[i])} for i in chosen],
        }

    def boxes(model: str = "") -> dict[str, Any]:
        """The boxes in the order data passes them, for this model and for GPT-2 small."""
        decoder = service.decoder(model)
        return {"own": _boxes(_dissected(service, decoder)), "small": _boxes(anatomy.gpt2_small())}

    private = (column, grid, overview, lookup, order, stream, rivals, boxes)
    return [
        *_public(service),
        *inside_questions.questions(service),
        *order_questions.questions(service),
        *(Question(fn.__name__, fn, public=False) for fn in private),
    ]


def _public(service: Service) -> list[Question]:
    """/lens, /attribution and /anatomy."""

    def lens(text: str, position: int = -1, count: int = 5, model: str = "") -> dict[str, Any]:
        """What the model would say at one position if it stopped after each layer."""
        decoder, run = read(service, text, model)
        rows = readings(decoder, run, position, count)
        place = position % len(run.ids)
        return {
            "token": decoder.tokenizer.token(run.ids[place]),
            "position": place,
            "target": decoder.tokenizer.token(rows[-1]["top"][0]["id"]),
            "rows": rows,
        }

    def attribution(text: str, target: str = "", against: str = "", model: str = "") -> dict[str, Any]:
        """The last position's logit as a sum: what the embedding, each head and each feed-forward layer add to it.

        target "" is the likeliest token; against "" compares with none, else the parts add up to the difference.
        """
        decoder, ids = service.encode(text, model, most=parts_of.MOST)
        wanted = piece(decoder, target, "target") if target else None
        other = piece(decoder, against, "against") if against else None
        return attributed(decoder, ids, service.once(decoder, parts_of.attribution, ids, wanted, other))

    def whole(model: str = "") -> dict[str, Any]:
        """Every module with its shape and parameters, and the totals with and without tying."""
        return anatomy_of(service, service.decoder(model))

    return [Question("lens", lens), Question("anatomy", whole), Question("attribution", attribution)]


def attributed(decoder: Decoder, ids: list[int], found: parts_of.Attribution) -> dict[str, Any]:
    """What /attribution answers; each head with the token that its last row reads most, the first one aside."""
    token = decoder.tokenizer.token
    return {
        "target": token(found.target),
        "against": None if found.against is None else token(found.against),
        "logit": found.logit,
        "sum": found.sum,
        "parts": [asdict(part) for part in found.parts],
        "reads": [[token(ids[key]).shown for key in row] for row in found.reads.tolist()],
        "weight": found.weight,
    }


def readings(decoder: Decoder, run: Run, position: int, count: int) -> list[dict[str, Any]]:
    """What the position would say after each layer."""
    return [_reading(decoder, row) for row in logit_lens.logit_lens(decoder, run, position, count=count)]


def read(service: Service, text: str, model: str) -> tuple[Decoder, Run]:
    """The run of a text with its residual stream."""
    decoder, ids = service.encode(text, model, most=MOST_STREAM)
    return decoder, service.run(decoder, ids, keep=Keep(residual=True), exact=False)


def anatomy_of(service: Service, decoder: Decoder) -> dict[str, Any]:
    """What /anatomy answers."""
    found = _dissected(service, decoder)
    rows = [
        {
            "name": row.name,
            "kind": row.kind,
            "role": row.role,
            "layer": row.layer,
            "shape": row.shape,
            "tensors": row.tensors,
            "parameters": row.parameters,
            "shared_with": row.shared_with,
        }
        for row in found.rows
    ]
    return {
        "rows": rows,
        "total": found.total,
        "tied": found.tied,
        "untied_total": found.untied_total,
        "tying_saves": found.tying_saves,
    }


def _dissected(service: Service, decoder: Decoder) -> anatomy.Anatomy:
    return service.once(decoder, anatomy.anatomy_of)


def _boxes(found: anatomy.Anatomy) -> dict[str, Any]:
    stages = [
        {
            "role": stage.role,
            "repeat": stage.repeat,
            "parameters": stage.parameters,
            "rows": [
                {"name": r.name, "role": r.role, "shape": r.shape, "parameters": r.parameters, "shared": r.shared_with}
                for r in stage.rows
            ],
        }
        for stage in anatomy.scheme(found)
    ]
    roles: dict[str, int] = {}
    for row in found.rows:
        roles[row.role] = roles.get(row.role, 0) + row.parameters
    return {
        "stages": stages,
        "roles": roles,
        "total": found.total,
        "tied": found.tied,
        "untied_total": found.untied_total,
        "tying_saves": found.tying_saves,
        "share": found.share,
    }


def _reading(decoder: Decoder, row: logit_lens.Reading) -> dict[str, Any]:
    top = zip(row.ids, shown(decoder, row.ids), row.p, strict=True)
    return {
        "after": "embedding" if row.layer == 0 else row.layer - 1,
        "top": [{"id": id, "shown": look, "p": p} for id, look, p in top],
        "entropy": row.entropy,
        "target_p": row.final_p,
        "target_rank": row.final_rank,
    }
