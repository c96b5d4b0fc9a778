"""The checks of what is read on, written on and copied from another text; see compare.py."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor

from tests.odd.case import CHANCE, LOGITS, NEW, Case, near
from tests.odd.parts import LAYER, twin


def alternatives(case: Case) -> float:
    """At every place the library's probability of the token that came, its rank, and the likeliest ones."""
    answer = case.call["alternatives"](text=case.text)
    p = case.logits.double().softmax(-1)  # [T, V]
    worst = 0.0
    for place, (at, came) in zip(answer["places"], enumerate(case.ids[1:]), strict=True):
        assert (place["position"], place["id"]) == (at + 1, came)
        assert place["rank"] == 1 + int((case.logits[at] > case.logits[at, came]).sum())
        ids = [top["id"] for top in place["top"]]
        worst = max(worst, near("p of what came", place["p"], p[at, came], 10 * CHANCE))
        near("p of the likeliest", [top["p"] for top in place["top"]], p[at].topk(len(ids)).values, 10 * CHANCE)
    return worst


def speculative(case: Case) -> float:
    """Guesses read several at a time write what the library writes one by one."""
    answer = case.call["speculative"](text=case.text, new_tokens=NEW)
    ids = [token["id"] for token in answer["tokens"]]
    theirs, _ = case.written  # the library ends with the text; what is compared here writes on
    assert ids[: len(theirs)] == theirs, "with guesses something else is written than by the library"
    assert answer["max_logit_delta"] <= 5 * LOGITS * float(case.logits.abs().max())
    return answer["max_logit_delta"]


def patching(case: Case) -> float:
    """One place of the library's model made what it is in the run of another text: the same share comes back."""
    source = _exchanged(case)
    if not source:
        return 0.0
    answer = case.call["patching"](text=case.text, source=source)
    target, against = answer["target"]["id"], answer["against"]["id"]
    other = case.decoder.tokenizer.encode(source)
    place = next(t for t, (a, b) in enumerate(zip(case.ids, other, strict=True)) if a != b)
    clean, theirs = _logits(case, other)
    corrupt, _ = _logits(case, case.ids)
    patched, _ = _logits(case, case.ids, (place, theirs[place]))
    most = 10 * LOGITS * float(case.logits.abs().max())
    apart = [float(logits[target] - logits[against]) for logits in (clean, corrupt, patched)]
    near("the source's difference", answer["clean"], apart[0], most)
    near("the text's difference", answer["corrupt"], apart[1], most)
    share = (apart[2] - apart[1]) / (apart[0] - apart[1])
    return near("what comes back", answer["matrix"][LAYER][place], share, 4 * most / abs(apart[0] - apart[1]))


CHECKS = (alternatives, speculative, patching)


def _exchanged(case: Case) -> str:
    """The text with two of its words exchanged, where that has as many tokens; nothing where it has not."""
    words = case.text.split(" ")
    for a, b in itertools.combinations(range(1, len(words)), 2):
        other = list(words)
        other[a], other[b] = words[b], words[a]
        ids = case.decoder.tokenizer.encode(" ".join(other))
        if len(ids) == len(case.ids) and ids != case.ids:
            return " ".join(other)
    return ""


def _logits(case: Case, ids: list[int], put: tuple[int, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """The library's last logits [V] in float64, and the stream [T, d] after LAYER, in which a place may be put."""
    kept: list[Tensor] = []

    def hook(_: Any, args: Any, output: Any) -> Any:
        stream = output[0] if isinstance(output, tuple) else output  # [1, T, d]
        kept.append(stream[0].clone())
        if put is None:
            return None
        changed = stream.clone()
        changed[0, put[0]] = put[1]
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    handle = twin(case, case.decoder.layers[LAYER]).register_forward_hook(hook)
    try:
        with torch.inference_mode():
            return case.stock(torch.tensor([ids]), use_cache=False).logits[0, -1].double(), kept[0]
    finally:
        handle.remove()
