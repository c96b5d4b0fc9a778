"""The prefix check page: change what comes later, and see whether any earlier guess moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gptviz.decoder.attention import MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.masking import evidence as lab_evidence
from gptviz.lab.masking import leak
from gptviz.lab.masking import prefix as lab
from gptviz.lessons.fields import Field
from gptviz.lessons.questions import NO_LAYERS, Direction, Method, Question
from gptviz.lessons.ruled import ruled
from gptviz.lessons.shown import shown
from gptviz.service import Service
from gptviz.service.wire import as_json

KEY = "prefix"
FIELDS = {
    field.name: field
    for field in (
        Field("show", "choice", "check", choices=("check", "toy", "all", "evidence")),
        Field("keep", "int", 0, 0, 100_000),
        Field("method", "choice", "edit", choices=lab.METHODS),
        Field("open", "layers", "all"),
        Field("direction", "choice", "none", choices=("none", "wrong_way", "blocks")),
        Field("by", "text", ""),
    )
}
MOST = 2_048  # tokens: the logits of two runs have to fit into a laptop's memory
DIGITS = 6  # short in JSON, and nothing but zero becomes zero
LONG_WORK = 2  # full checks at once; each gives way to other requests after every batch
MAX_ENDING = 2_000  # characters of a new ending
USUAL = 12  # tokens kept at most, unless the reader asks for more


def questions(service: Service) -> list[Question]:
    """What the page asks, and /prefix, /prefix_all, /prefix_toy."""

    def two_checks(
        text: str,
        keep: int = 0,
        open_layers: list[int] = NO_LAYERS,
        direction: str = "causal",
        method: str = "edit",
        by: str = "",
        model: str = "",
    ) -> dict[str, Any]:
        """The same check with the model's own mask and with a faulty one; keep 0: about a third of the text."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction, most=MOST)
        n = length_kept(ids, keep)
        own = checked(service, decoder, ids, n, MaskRule(), method, by)
        faulty = checked(service, decoder, ids, n, rule, method, by)
        return {
            "tokens": shown(decoder, ids),
            "other": shown(decoder, own.other),
            "layers": decoder.shape.layers,
            "keep": n,
            "dtype": str(decoder.dtype).removeprefix("torch."),
            "own": side(decoder, own),
            "faulty": side(decoder, faulty),
        }

    def prefix_rows(
        text: str,
        open_layers: list[int] = NO_LAYERS,
        direction: str = "causal",
        method: str = "edit",
        model: str = "",
    ) -> Iterator[dict[str, Any]]:
        """Every prefix length as it is checked: a few rows [b, T] at a time, and what counts as unchanged."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction)
        for rows, basis in service.stream(lab.all_parts(decoder, ids, rule, method)):
            yield {"rows": rows.float(), "tolerance": basis.tolerance}

    def evidence(
        text: str,
        keep: int = 0,
        open_layers: list[int] = NO_LAYERS,
        direction: str = "causal",
        method: str = "edit",
        by: str = "",
        model: str = "",
    ) -> dict[str, Any]:
        """One check as a file that anybody can run again."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction, most=MOST)
        found = checked(service, decoder, ids, length_kept(ids, keep), rule, method, by)
        return service.worker.run(lambda: lab_evidence.evidence(decoder, found))

    return [
        Question("two_checks", two_checks, public=False),
        Question("evidence", evidence, public=False),
        Question("prefix_rows", prefix_rows, public=False, limit=LONG_WORK),
        *_public(service),
    ]


def _public(service: Service) -> list[Question]:
    def prefix(
        text: str,
        keep: int = 0,
        open_layers: list[int] = NO_LAYERS,
        direction: Direction = "causal",
        method: Method = "truncate",
        model: str = "",
    ) -> dict[str, Any]:
        """Do the first `keep` outputs (0: half) change when what follows is cut off (or, "edit", replaced)?"""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction, most=MOST)
        half = keep or length_kept(ids, len(ids) // 2)
        found = checked(service, decoder, ids, half, rule, method, "")
        return as_json(lab.report(decoder, found), digits=DIGITS)

    def prefix_all(
        text: str,
        open_layers: list[int] = NO_LAYERS,
        direction: Direction = "causal",
        method: Method = "edit",
        model: str = "",
    ) -> dict[str, Any]:
        """Every prefix length of the text at once: matrix[n-1][i] for length n and position i (at most 64 tokens)."""
        decoder, ids, rule = ruled(service, text, model, open_layers, direction)
        parts = service.stream(lab.all_parts(decoder, ids, rule, method))
        found = lab.full_report(decoder, lab.gather(ids, rule, method, parts))
        return as_json(found, digits=DIGITS)

    def prefix_toy() -> dict[str, Any]:
        """Four words and one attention, with the mask and without: outputs for four words and for three."""
        return as_json(lab.toys(), digits=DIGITS)

    return [
        Question("prefix", prefix),
        Question("prefix_all", prefix_all, limit=LONG_WORK),
        Question("prefix_toy", prefix_toy),
    ]


def length_kept(ids: list[int], keep: int) -> int:
    """How many tokens are kept: as asked, and for 0 about a third. UserError where there are not two tokens."""
    if len(ids) < 2:
        raise UserError("too_short_for_prefix", n=len(ids))
    return keep or max(1, min(USUAL, len(ids) - 1, round(0.3 * len(ids))))


def checked(
    service: Service, decoder: Decoder, ids: list[int], keep: int, rule: MaskRule, method: str, ending: str
) -> lab.Check:
    """One check; `ending` is text, and empty means other words of our choice."""
    lab.check_method(method)
    if len(ending) > MAX_ENDING:
        raise UserError("too_many_characters", name="ending", n=len(ending), most=MAX_ENDING)
    other = decoder.tokenizer.encode(ending, begin=False, name="ending") if method == "edit" else []
    return service.once(decoder, lab.check, ids, keep, rule, method, other)


def side(decoder: Decoder, found: lab.Check) -> dict[str, Any]:
    """What the page draws of one check: scores and probabilities at each kept position."""
    guesses = found.guesses
    return {
        "deltas": found.deltas.tolist(),
        "changed": found.changed,
        "tolerance": found.tolerance,
        "moved": guesses.moved.tolist(),
        "expected": shown(decoder, guesses.expected.tolist()),
        "before": guesses.before.tolist(),
        "after": guesses.after.tolist(),
        "loss": found.loss,
        "open": leak.opened(found.rule, decoder.shape.layers),
    }
