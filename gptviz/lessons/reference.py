"""The reference page: the decoder written twice, the family, calculators, a server's memory, terms, a quiz, the API."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from gptviz.decoder.decoder import Decoder
from gptviz.lab.looking import anatomy, family, twice
from gptviz.lab.teaching import scale
from gptviz.lab.writing import cache_memory
from gptviz.lab.writing.work import Meter, bytes_per_token, positions
from gptviz.lessons.fields import Field
from gptviz.lessons.questions import Question
from gptviz.service import Service
from gptviz.service.models import device_name

KEY, PROMPTED = "reference", False
SHOW = ("terms", "code", "family", "scale", "count", "server", "settings", "kinds", "quiz", "api")
COMPARED = 256  # tokens of the text that the two implementations are compared on
SIZES = ("d", "L", "h", "kv_heads", "V", "C", "ffn_width")

FIELDS = {
    field.name: field
    for field in (
        Field("show", "choice", "terms", choices=SHOW),
        Field("like", "choice", "gpt2", choices=tuple(family.PUBLIC)),
        *(Field(size, "int", -1, -1, family.LIMITS[size]) for size in SIZES),  # -1: as in `like`
        Field("ffn", "choice", "", choices=("", "gelu", "swiglu")),
        Field("tied", "choice", "", choices=("", "yes", "no")),
        Field("find", "text", ""),
    )
}


def questions(service: Service) -> list[Question]:
    """What the sections ask; none is an endpoint of its own."""

    def ref_code() -> dict[str, Any]:
        """Both implementations, as they run."""
        return twice.sources()

    def ref_equal(text: str, model: str = "") -> dict[str, Any]:
        """Both implementations against the library, on the loaded model or another loaded one that is a GPT-2."""
        return equal(service, text, model)

    def ref_family() -> list[dict[str, Any]]:
        """The table of the family: one column a model, with what changed from the one before."""
        return columns()

    def ref_scale() -> dict[str, Any]:
        """Public models by parameters and by the tokens they learned from; the best ratio at fixed work."""
        models = [{**asdict(m), "operations": float(m.operations), "ratio": m.ratio} for m in scale.TRAINED]
        return {"models": models, "best": scale.BEST_RATIO}

    def ref_presets() -> dict[str, Any]:
        """The public shapes that the parameter calculator starts from."""
        keys = (*SIZES, "tied", "ffn", "source")
        return {
            name: {**{key: getattr(spec, key) for key in keys}, "ffn_width": spec.inner}
            for name, spec in family.PUBLIC.items()
        }

    def ref_count(
        like: str,
        d: int,
        L: int,
        h: int,
        kv_heads: int,
        V: int,
        C: int,
        ffn_width: int,
        ffn: Literal["gelu", "swiglu"],
        tied: bool,
    ) -> dict[str, Any]:
        """The parameters of a shape by part. A formula: it asks no model."""
        spec = family.build(d, L, h, V, C, tied, ffn, kv_heads, ffn_width, like)
        return {**asdict(family.count(spec)), "table": spec.V * spec.d, "source": spec.source}

    def ref_card(model: str = "") -> dict[str, Any]:
        """The allocator's figures now, or none."""
        return card(service.decoder(model))

    def ref_quiz(model: str = "") -> list[dict[str, Any]]:
        """Questions about the loaded model and the course's own, answered by counting."""
        return quiz(service, service.decoder(model))

    def ref_api() -> list[dict[str, Any]]:
        """Every endpoint: name, parameters with defaults, and what it answers."""
        return endpoints(service)

    return [
        Question("ref_code", ref_code, public=False),
        Question("ref_equal", ref_equal, public=False),
        Question("ref_family", ref_family, public=False),
        Question("ref_scale", ref_scale, public=False),
        Question("ref_presets", ref_presets, public=False),
        Question("ref_count", ref_count, public=False),
        Question("ref_card", ref_card, public=False),
        Question("ref_quiz", ref_quiz, public=False),
        Question("ref_api", ref_api, public=False),
    ]


def equal(service: Service, text: str, model: str) -> dict[str, Any]:
    """How far the two implementations' logits are from the library's. UserError where no GPT-2 is loaded."""
    decoder = service.decoder(model)
    asked = decoder.name
    if not twice.fits(decoder):
        others = (service.decoder(name) for name in service.names)
        decoder = next((other for other in others if twice.fits(other)), decoder)
    ids = decoder.tokenizer.encode(text)[: min(COMPARED, decoder.shape.context)]
    found = service.once(decoder, twice.equality, ids)
    return {**asdict(found), "parameters": found.parameters["library"], "asked": asked, "other": decoder.name != asked}


def columns() -> list[dict[str, Any]]:
    """One column a model of the family's story."""
    specs = [family.PUBLIC[name] for name in family.STORY]
    return [_column(spec, specs[k - 1] if k else None) for k, spec in enumerate(specs)]


def _column(spec: family.Spec, before: family.Spec | None) -> dict[str, Any]:
    counted = family.count(spec)
    changed = set(family.changes(before, spec)) if before else set()
    return {
        "name": spec.name,
        "year": spec.year,
        "L": spec.L,
        "h": spec.h,
        "d": spec.d,
        "vocabulary": spec.V,
        "context": spec.C,
        "kv_heads": spec.kv_heads,
        **{part: str(getattr(spec, part)).lower() for part in family.PARTS},
        "total": counted.total,
        "saves": counted.tying_share,
        "cache": bytes_per_token(spec.L, spec.kv_heads, spec.head_width, 2),
        "changed": sorted(changed - {"grouped"} | ({"kv_heads"} if "grouped" in changed else set())),
    }


def card(decoder: Decoder) -> dict[str, Any]:
    """What CUDA's allocator says where there is a card, and the weights of the loaded model."""
    return {
        "figures": cache_memory.allocator(decoder.device),
        "device": device_name(decoder.device),
        "model": decoder.name,
        "parameters": decoder.shape.parameters,
        "element": decoder.model.dtype.itemsize,
        "per_token": Meter(decoder).token_bytes,
    }


def quiz(service: Service, decoder: Decoder) -> list[dict[str, Any]]:
    """{key, values, answer} with a number, or with `options` and the index of the right one."""
    shape = decoder.shape
    found = service.once(decoder, anatomy.anatomy_of)
    norms = [row for row in found.rows if row.role == "norm"]
    each = sum(row.layer == 0 for row in norms)
    small, llama = family.PUBLIC["gpt2"], family.PUBLIC["Llama-3-8B"]
    longer = family.count(family.build(small.d, small.L, small.h, small.V, 2 * small.C)).total
    model = {
        "model": decoder.name, "total": found.total, "vocabulary": shape.vocabulary, "width": shape.width,
        "head": found.head_parameters, "layers": shape.layers, "each": each,
    }  # fmt: skip
    tied = found.untied_total if found.tied else found.total - found.head_parameters
    plain = len(norms) == each * shape.layers + 1
    return [
        {"key": "cache", "values": {"prompt": 10, "new": 20}, "answer": positions(10, 20, cached=False)},
        {"key": "shift", "values": {}, "answer": 3},
        {"key": "leak", "values": {}, "options": 3, "answer": 2},
        {"key": "zero", "values": {}, "options": 3, "answer": 0},
        {"key": "untied" if found.tied else "tied", "values": model, "answer": tied},
        {"key": "norms" if plain else "norms_other", "values": model, "answer": len(norms)},
        {
            "key": "context",
            "values": {"rows": small.C, "width": small.d},
            "answer": longer - family.count(small).total,
        },
        {
            "key": "llama",
            "values": {"layers": llama.L, "kv": llama.kv_heads, "width": llama.head_width},
            "answer": bytes_per_token(llama.L, llama.kv_heads, llama.head_width, 2),
        },
    ]


def endpoints(service: Service) -> list[dict[str, Any]]:
    """What programs may ask, in the order of the pages."""
    from gptviz.lessons import PAGES, frame  # they hold this page, too

    asked = [*frame.questions(service), *(q for page in PAGES for q in page.questions(service))]
    return [
        {
            "name": question.name,
            "parameters": [
                [name, None if p.default is p.empty else p.default] for name, p in question.signature.parameters.items()
            ],
            "says": " ".join((question.fn.__doc__ or "").strip().split("\n\n")[0].split()),
            "streams": question.streams,
        }
        for question in asked
        if question.public
    ]
