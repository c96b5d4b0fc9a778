"""The anatomy page's numbers, as its widgets take them."""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import Any

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.looking import anatomy, family, twice
from gptviz.lessons.page import Asked, fields, guess, integer, lines
from gptviz.service import Service
from gptviz.service.wire import as_json

PARTS = ("tokens", "attention", "ffn", "norm")  # the options of the first guess, in this order
MOST_STREAM = 512  # positions; more would be cells below a pixel
CHIPS = 40


def pairs(text: str) -> dict[str, str]:
    """A prose list of `key | text` lines."""
    split = (line.split(" | ", 1) for line in lines(text))
    return {key.strip(): value.strip() for key, value in split}


def dissected(service: Service, decoder: Decoder) -> anatomy.Anatomy:
    """The model taken apart, once a model."""
    return service.once(decoder, _dissect)


def _dissect(decoder: Decoder) -> anatomy.Anatomy:
    return anatomy.dissect(decoder.model)


def _positions(decoder: Decoder) -> anatomy.Positions:
    return anatomy.positions(decoder.model)


def scheme_value(service: Service, words: dict[str, str], decoder: Decoder, T: int) -> dict[str, Any]:
    """The boxes in order, what each is, and the totals of this model and of GPT-2 small."""
    found, small = dissected(service, decoder), anatomy.gpt2_small()
    named = [(decoder.name, found)] + ([] if found == small else [(words["totals_note"], small)])
    return {
        "model": decoder.name,
        "T": T,
        "width": decoder.shape.width,
        "vocabulary": decoder.shape.vocabulary,
        "total": found.total,
        "stages": [
            {
                "role": stage.role,
                "repeat": stage.repeat,
                "parameters": stage.parameters,
                "rows": [asdict(row) for row in stage.rows],
            }
            for stage in anatomy.scheme(found)
        ],
        "explain": pairs(words["explain"]),
        "sums": [
            {
                "name": name,
                "total": one.total,
                "untied_total": one.untied_total,
                "tying_saves": one.tying_saves,
                "share": one.share,
            }
            for name, one in named
        ],
    }


def part_guess(service: Service, words: dict[str, str], decoder: Decoder) -> dict[str, Any]:
    """Where most parameters sit, as counted."""
    found, names = dissected(service, decoder), lines(words["parts"])
    sizes = [sum(row.parameters for row in found.rows if row.role == part) for part in PARTS]
    ranked = sorted(range(len(PARTS)), key=lambda i: -sizes[i])
    text = words["answer"].format(
        model=decoder.name,
        largest=names[ranked[0]],
        share=round(100 * sizes[ranked[0]] / found.total),
        total=f"{found.total:,}",
        second=names[ranked[1]],
        second_share=round(100 * sizes[ranked[1]] / found.total),
    )
    return {**guess(words), "answer": {"index": ranked[0], "text": text}}


def positions_value(service: Service, words: dict[str, str], decoder: Decoder, T: int) -> dict[str, Any]:
    """Each position's vector length and what lies past the last row, or the wavelengths of a rotating model."""
    found = service.once(decoder, _positions)
    value: dict[str, Any] = {"kind": found.kind, "model": decoder.name, "T": T, "rows": found.rows}
    if found.kind == "learned":
        table = next(row for row in anatomy.gpt2_small().rows if row.role == "positions")
        rows, width = table.shape
        value["norms"] = as_json(found.norms, digits=5)
        value["title"] = words["positions_learned"]
        value["end"] = words["positions_end"].format(
            model=decoder.name,
            rows=found.rows,
            last=found.rows - 1,
            error=found.past_the_end,
            gpt2_rows=rows,
            gpt2_width=width,
            gpt2_error=anatomy.past_row(rows),
        )
    else:
        value["wavelengths"] = as_json(found.wavelengths)
        value["title"] = words["positions_rotary"].format(model=decoder.name)
        value["end"] = words["positions_rotary_end"].format(context=f"{decoder.shape.context:,}")
    return value


def example_value(service: Service, words: dict[str, str], decoder: Decoder) -> dict[str, Any] | None:
    """For a model without a position table, that of another loaded one."""
    if positions_value(service, words, decoder, 0)["kind"] == "learned":
        return None
    for name in service.names:
        value = positions_value(service, words, service.decoder(name), 0)
        if value["kind"] == "learned":
            return {**value, "title": words["example"].format(model=name)}
    return None


def measured_stream(service: Service, now: Asked) -> tuple[Decoder, list[int], anatomy.Stream]:
    """Vector lengths of the first MOST_STREAM positions of the text."""
    decoder, ids = service.encode(now["text"], now["model"])
    ids = ids[:MOST_STREAM]
    return decoder, ids, service.once(decoder, anatomy.stream_of, ids)


def stream_value(service: Service, now: Asked) -> dict[str, Any]:
    """The lengths for the picture, four digits each."""
    decoder, ids, found = measured_stream(service, now)
    return {
        "text": now["text"],
        "model": decoder.name,
        "tokens": [token.shown for token in decoder.tokenizer.tokens(ids)],
        **as_json(found, digits=4),
    }


def stream_guess(service: Service, words: dict[str, str], now: Asked) -> dict[str, Any]:
    """Whether the stream's vectors grow, as measured."""
    _, _, found = measured_stream(service, now)
    first, last, final = (median(row.tolist()) for row in (found.norms[0], found.norms[-1], found.final))
    ratio = last / first
    text = words["stream_answer"].format(
        first=f"{first:.2f}", last=f"{last:.1f}", ratio=f"{ratio:.1f}", final=f"{final:.1f}",
        sink=f"{float(found.norms[:, 0].max()):,.1f}",
    )  # fmt: skip
    index = 2 if ratio > 2 else 0 if ratio < 0.5 else 1
    return {**guess(words, "stream_guess"), "answer": {"index": index, "text": text}}


def token_value(service: Service, decoder: Decoder, token: int) -> dict[str, Any]:
    """One token's row in and out, and the nearest rows."""
    decoder.check_ids([token])
    found = service.once(decoder, anatomy.token_vector, token)
    shown = decoder.tokenizer.token
    return {
        "id": found.id,
        "shown": shown(found.id).shown,
        "width": found.width,
        "norm": found.norm,
        "tied": found.tied,
        "max_delta": found.max_delta,
        "near_in": [[shown(n.id).shown, n.cosine] for n in found.near_in],
        "near_out": [[shown(n.id).shown, n.cosine] for n in found.near_out],
    }


def tokens_value(service: Service, decoder: Decoder, ids: list[int]) -> dict[str, Any]:
    """The text's tokens to choose from, and the last one's neighbours."""
    own = list(dict.fromkeys(ids))[:CHIPS]
    return {
        "model": decoder.name,
        "tokens": [[token.id, token.shown] for token in decoder.tokenizer.tokens(own)],
        "first": token_value(service, decoder, own[-1]),
    }


def code_value(words: dict[str, str], check: twice.Equality | None) -> dict[str, Any]:
    """Both sources, and the comparison when it was made."""
    value: dict[str, Any] = {"code": twice.sources(), "before": words["sources_before"], "check": None}
    if check is not None:
        value["check"] = {**asdict(check), "parameters": check.parameters["library"]}
    return value


def family_value(words: dict[str, str]) -> dict[str, Any]:
    """The table of the family: each cell's text, and whether it changed from the model on its left."""
    specs = [family.PUBLIC[name] for name in family.STORY]
    names, texts = pairs(words["family_names"]), pairs(words["family_words"])
    cells = [family_cells(spec, texts) for spec in specs]
    unmarked = {"year", "sizes", "total", "saves", "V", "C"}  # of course these differ
    rows = []
    for key, label in pairs(words["family_rows"]).items():
        row = [
            [cell[key], k > 0 and key not in unmarked and key in differing(specs[k - 1], specs[k])]
            for k, cell in enumerate(cells)
        ]
        rows.append([label, row])
    return {"models": [names[spec.name] for spec in specs], "rows": rows, "note": words["family_note"]}


def differing(before: family.Spec, after: family.Spec) -> set[str]:
    """The rows of the table in which two models differ in kind."""
    found = set(family.changes(before, after))
    return found | ({"kv"} if "grouped" in found else set())


def family_cells(spec: family.Spec, texts: dict[str, str]) -> dict[str, str]:
    """One model's column."""
    counted = family.count(spec)
    return {
        "year": str(spec.year),
        "sizes": f"{spec.L} × {spec.h}, {spec.d:,}",
        "V": f"{spec.V:,}",
        "C": f"{spec.C:,}",
        "kv": str(spec.kv_heads),
        "total": f"{counted.total:,}",
        "saves": f"{100 * counted.tying_share:.1f} %",
        **{key: texts[f"{key}.{getattr(spec, key)}"] for key in family.PARTS},
    }


def presets() -> dict[str, Any]:
    """The public shapes the calculator starts from."""
    keys = ("d", "L", "h", "kv_heads", "V", "C", "tied", "ffn")
    shapes = {
        name: {**{k: getattr(spec, k) for k in keys}, "ffn_width": spec.inner} for name, spec in family.PUBLIC.items()
    }
    return {"start": "gpt2", "presets": shapes}


def counted(asked: Any) -> dict[str, Any]:
    """The count of a shape sent by the calculator. UserError, in one sentence, for one that cannot be built."""
    names = ("d", "L", "h", "V", "C", "kv_heads", "ffn_width")
    name, ffn, tied, *sizes = fields(asked, "name", "ffn", "tied", *names)
    if not isinstance(tied, bool):
        raise UserError(f"tied is {tied!r}; it must be true or false.")
    whole = {key: integer(key, size) for key, size in zip(names, sizes, strict=True)}
    spec = family.build(**whole, tied=tied, ffn=str(ffn), like=str(name))
    return {**asdict(family.count(spec)), "table": spec.V * spec.d, "source": spec.source}


def quiz_value(service: Service, words: dict[str, str], decoder: Decoder) -> list[dict[str, Any]]:
    """Three questions about the loaded model and one about GPT-2 small, answered by counting."""
    found, shape = dissected(service, decoder), decoder.shape
    sizes = {"vocabulary": f"{shape.vocabulary:,}", "width": f"{shape.width:,}", "head": f"{found.head_parameters:,}"}
    kind = "quiz_untied" if found.tied else "quiz_tied"
    other = found.untied_total if found.tied else found.total - found.head_parameters
    norms = [row for row in found.rows if row.role == "norm"]
    each = sum(row.layer == 0 for row in norms)
    plain = len(norms) == each * shape.layers + 1
    small = family.PUBLIC["gpt2"]
    gain = family.count(family.build(small.d, small.L, small.h, small.V, 2 * small.C)).total - family.count(small).total
    return [
        {
            "question": words[kind].format(model=decoder.name, total=f"{found.total:,}", **sizes),
            "answer": other,
            "unit": "parameters",
            "why": words[kind + "_why"].format(answer=f"{other:,}", **sizes),
        },
        {
            "question": words["quiz_norms"].format(model=decoder.name, layers=shape.layers),
            "answer": len(norms),
            "unit": "norms",
            "why": words["quiz_norms_why" if plain else "quiz_norms_other"].format(
                each=each, layers=shape.layers, answer=len(norms)
            ),
        },
        {
            "question": words["quiz_context"],
            "answer": gain,
            "unit": "parameters",
            "why": words["quiz_context_why"].format(rows=small.C, width=small.d, answer=f"{gain:,}"),
        },
    ]


def story_numbers() -> dict[str, str]:
    """Numbers in the prose: spreads of freshly made tables, measured, and GPT-2 small's shapes from its modules."""
    plain, small = anatomy.fresh_tables()
    rows, spec = {row.name: row for row in anatomy.gpt2_small().rows}, family.PUBLIC["gpt2"]
    modules = {"tokens": "wte", "positions": "wpe", "up": "h.0.mlp.c_fc", "down": "h.0.mlp.c_proj"}
    shapes = {key: str(rows[f"transformer.{name}"].shape) for key, name in modules.items()}
    sizes = {"layers": str(spec.L), "heads": str(spec.h), "width": str(spec.d), "head": str(rows["lm_head"].shape)}
    return {"fresh": f"{plain:.3f}", "small": f"{small:.4f}", **shapes, **sizes}
