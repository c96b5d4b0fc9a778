"""One checkpoint folder through every endpoint, each number against the stock library on the same ids."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import tokenizers
import torch
from torch import Tensor

from gptviz.decoder.errors import UserError
from tests.odd import continued, inner, parts
from tests.odd.case import CHANCE, LOGITS, NEW, TEXT, WEIGHTS, Case, near
from tests.odd.endpoints import Refused

CHECKS: dict[str, Callable[[Case], float | None]] = {}


def check(fn: Callable[[Case], float | None]) -> Callable[[Case], float | None]:
    CHECKS[fn.__name__] = fn
    return fn


@check
def logits(case: Case) -> float:
    """The engine's logits, nothing watched and every layer watched."""
    most = LOGITS * float(case.logits.abs().max())
    plain = near("logits", case.decoder.run(case.ids).logits, case.logits, most)
    watched = case.decoder.run(case.ids, capture=range(case.decoder.shape.layers)).logits
    return max(plain, near("logits of watched layers", watched, case.logits, 5 * most))


@check
def anatomy(case: Case) -> float:
    total = sum(parameter.numel() for parameter in case.stock.parameters())
    assert case.call["anatomy"]()["total"] == total
    [row] = case.call["models"]()
    assert row["parameters"] == total
    assert row["layers"] == len(case.eager)
    assert row["heads"] == len(case.eager[0])
    given = case.decoder.run(case.ids, inputs=[0]).inputs[0]
    kept = len(given.key)  # the heads that the library hands to the attention, whatever the configuration says
    assert row["kv_heads"] == kept, f"/models says {row['kv_heads']} key/value heads, and the model has {kept}"
    return 0.0


@check
def tokenize(case: Case) -> float:
    answer = case.call["tokenize"](text=case.text)
    engine = tokenizers.Tokenizer.from_file(str(case.folder / "tokenizer.json"))
    engine.encode_special_tokens = True  # a typed <s> is three letters
    assert [token["id"] for token in answer["tokens"]] == engine.encode(case.text).ids
    changed = [loss for loss in answer["losses"] if loss["kind"] != "added"]
    assert not changed or case.text != TEXT, f"the text was changed: {changed}"
    return 0.0


@check
def attention(case: Case) -> float:
    """Weights of every head; the masked stage is empty exactly where the library weighs nothing."""
    worst = 0.0
    for layer, theirs in enumerate(case.eager):
        for head, weights in enumerate(theirs):
            asked = {"text": case.text, "layer": layer, "head": head}
            ours = case.call["attention"](**asked)["matrix"]
            worst = max(worst, near(f"layer {layer} head {head}", ours, weights, WEIGHTS))
            if head == 0:
                masked = case.call["attention"](**asked, stage="masked")["matrix"]
                hidden = torch.tensor([[value is None for value in row] for row in masked])
                assert torch.equal(hidden, weights == 0), f"layer {layer}: the mask shown is not the mask used"
                scores = torch.tensor([[float("-inf") if x is None else x for x in row] for row in masked])
                assert torch.isfinite(torch.tensor(case.call["attention"](**asked, stage="scores")["matrix"])).all()
                near(f"softmax of layer {layer}", _softmax(case, scores, weights), weights, WEIGHTS)
    return worst


def _softmax(case: Case, scores: Tensor, weights: Tensor) -> Tensor:
    """Softmax of the shown scores; rows that do not add up to one (attention sinks) are scaled as the library's."""
    return scores.softmax(-1) * weights.sum(-1, keepdim=True)


@check
def heads(case: Case) -> float:
    answer = case.call["heads"](text=case.text)
    ours = torch.tensor([stat["first_token"] for stat in answer["stats"]])
    theirs = torch.cat([_first(weights) for weights in case.eager])
    return near("mean weight on the first token", ours, theirs, 1e-4)


def _first(weights: Tensor) -> Tensor:
    """Each head's mean weight on the first token, of the rows whose mask lets them read it: [h, T, T] -> [h]."""
    rows = weights[:, 2:, 0]  # [h, T-2]
    return rows.sum(-1) / (rows > 0).any(0).sum().clamp(min=1)


@check
def next_token(case: Case) -> float:
    answer = case.call["next_token"](text=case.text, temperature=0.7, top_k=9)
    raw = case.logits[-1].double().softmax(-1)
    ids = [bar["id"] for bar in answer["bars"]]
    likeliest = case.logits[-1].topk(len(ids)).indices.tolist()
    assert ids == likeliest, "the order of the likeliest tokens differs from the library's"
    warm = (case.logits[-1].double() / 0.7).softmax(-1)
    near("p at 0.7", [bar["p_temperature"] for bar in answer["bars"]], warm[ids], CHANCE)
    assert answer["kept_count"] == 9
    return near("p", [bar["p_raw"] for bar in answer["bars"]], raw[ids], CHANCE)


@check
def surprisal(case: Case) -> float:
    answer = case.call["surprisal"](text=case.text)
    paid = -case.logits[:-1].double().log_softmax(-1).gather(-1, torch.tensor(case.ids[1:])[:, None])[:, 0]
    return near("surprisal", answer["nats"], paid, 1e-5 * float(case.logits.abs().max()))


@check
def mask(case: Case) -> float:
    place = len(case.ids) - 3
    answer = case.call["mask"](text=case.text, position=place)
    assert answer["replacement"]["id"] != case.ids[place]
    moved = torch.tensor(answer["logit_change"])
    assert moved[:place].max() <= case.zero, f"outputs before the edit moved by {float(moved[:place].max()):.3g}"
    assert moved[place] > 0
    edited = [*case.ids[:place], answer["replacement"]["id"], *case.ids[place + 1 :]]
    with torch.inference_mode():
        theirs = (case.stock(torch.tensor([edited]), use_cache=False).logits[0] - case.logits).abs().amax(-1)
    opened = case.call["mask"](text=case.text, position=place, direction="none")
    assert max(opened["logit_change"][:place]) > case.zero
    windows = [int((weights[0] > 0).sum(-1).max()) for weights in case.eager]  # most keys of a query
    kept = [size for size in windows if size < len(case.ids)]
    assert opened["narrow"] == {"layers": len(kept), "of": len(windows), "size": min(kept, default=0)}
    return near("change of the logits", moved, theirs, 2 * LOGITS * float(case.logits.abs().max()))


@check
def influence(case: Case) -> float:
    matrix = torch.tensor(case.call["influence"](text=case.text)["matrix"])
    future = float(matrix.triu(1).max())
    assert future <= case.zero, f"a later token moved an earlier output by {future:.3g}"
    assert matrix.diagonal().min() > 0
    return future


@check
def mask_ways(case: Case) -> float:
    """The ways agree; the flag does only where the library's mask is the plain triangle and no score is bounded."""
    worst = 0.0
    bounded = getattr(case.stock.config, "attn_logit_softcapping", None) is not None
    for layer, weights in enumerate(case.eager):
        answer = case.call["mask_ways"](text=case.text, layer=layer)
        whole = bool((weights[0] > 0).tril().sum() == len(case.ids) * (len(case.ids) + 1) // 2)
        assert answer["flag_says_it"] == (whole and not bounded), f"layer {layer}: flag_says_it"
        for pair in answer["differences"]:
            apart, most = pair["max_delta"], 1e-5 * max(1.0, answer["size"])
            if "is_causal" in (pair["a"], pair["b"]) and not answer["flag_says_it"]:
                assert apart > 0, f"layer {layer}: the flag is said to differ, and does not"
            else:
                assert apart <= most, f"layer {layer}: {pair['a']} and {pair['b']} differ by {apart:.3g}"
                worst = max(worst, apart)
    return worst


@check
def prefix(case: Case) -> float:
    worst = 0.0
    for method in ("truncate", "edit"):
        for answer in (
            case.call["prefix"](text=case.text, keep=9, method=method),
            case.call["prefix_all"](text=case.text, method=method),
        ):
            assert answer["invariant"], f"{method}: an earlier output moved by {answer['max_delta']:.3g}"
            worst = max(worst, answer["max_delta"])
        opened = case.call["prefix"](text=case.text, keep=9, method=method, direction="none")
        assert not opened["invariant"], f"{method}: no leak was found without a mask"
    return worst


@check
def generate(case: Case) -> float:
    """Greedy with and without a cache against the library's; the text goes on where the prompt ends."""
    ids, _ = case.written
    for cached in (True, False):
        answer = case.call["generate"](text=case.text, max_new_tokens=NEW, use_cache=cached)
        assert [token["id"] for token in answer["tokens"]] == ids, "greedy writes something else than the library"
    said = ids[:-1] if answer["stop"] == "end_of_text" else ids
    tokenizer = case.decoder.tokenizer
    assert tokenizer.decode(case.ids) + answer["text"] == tokenizer.decode([*case.ids, *said])
    for strategy in ("sample", "beam"):
        assert case.call["generate"](text=case.text, strategy=strategy, max_new_tokens=4)["tokens"]
    return 0.0


@check
def kv_cache(case: Case) -> float:
    ids, held = case.written
    answer = case.call["kv_cache"](text=case.text, new_tokens=NEW)
    assert [step["id"] for step in answer["steps"]][: len(ids)] == ids
    assert answer["same_tokens"]
    kept = answer["cache_bytes"]
    if len(ids) == NEW:
        assert kept["measured"] in held, f"{kept['measured']:,} B kept; the library keeps {held}"
    assert kept["formula"] == kept["measured"], f"the formula says {kept['formula']:,} B, kept {kept['measured']:,} B"
    assert answer["max_logit_delta"] <= 5 * LOGITS * float(case.logits.abs().max())
    return answer["max_logit_delta"]


CHECKS |= {fn.__name__: fn for fn in (*parts.CHECKS, *continued.CHECKS, *inner.CHECKS)}


@dataclass
class Outcome:
    """What became of a folder: refused as a whole, or each check's difference, refusal or fault."""

    refused: str = ""
    exact: dict[str, float] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)


def examine(folder: Path, text: str = TEXT, only: tuple[str, ...] = ()) -> Outcome:
    """Load a folder and run the checks on it; nothing is raised."""
    found = Outcome()
    try:
        case = Case(folder, text)
    except UserError as error:
        found.refused = str(error)
        return found
    for name, run in CHECKS.items():
        if only and name not in only:
            continue
        try:
            found.exact[name] = run(case) or 0.0
        except Refused as refusal:
            found.refusals[name] = str(refusal)
        except Exception as error:  # noqa: BLE001 - a traceback of any kind is what is looked for
            said = str(error).splitlines()[:1] or [traceback.extract_tb(error.__traceback__)[-1].line]
            found.wrong[name] = f"{type(error).__name__}: {said[0]}"
    return found
