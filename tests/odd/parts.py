"""The checks of what is shown of a model's parts: layers read alone, heads and what they carry, cost; see compare.py.

The library's own model answers each of them by hooks on its modules, its hidden states, or PyTorch's counter of FLOPs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from tests.odd.case import CHANCE, LOGITS, NEW, WEIGHTS, Case, near

LAYER, HEAD = 1, 2  # of three layers and four heads
LENGTHS = 1e-4  # largest difference of a vector's length allowed, as a share of the longest


def lens(case: Case) -> float:
    """Each layer's reading against final norm and head on the library's hidden state; the last, its own logits."""
    place = len(case.ids) // 2
    rows = case.call["lens"](text=case.text, position=place)["rows"]
    with torch.inference_mode():
        states = case.stock(torch.tensor([case.ids]), use_cache=False, output_hidden_states=True).hidden_states
        before = torch.stack([state[0, place] for state in states[:-1]])  # [L, d], what enters each block
        early = case.stock.get_output_embeddings()(twin(case, case.decoder.norm)(before))  # [L, V]
    theirs = torch.cat([early.float(), case.logits[place][None]]).double().softmax(-1)  # [L+1, V]
    assert len(rows) == len(theirs)
    worst = 0.0
    for row, p in zip(rows, theirs, strict=True):
        ids = [top["id"] for top in row["top"]]
        worst = max(worst, near(f"p after {row['after']}", [top["p"] for top in row["top"]], p[ids], 10 * CHANCE))
        near(f"the likeliest after {row['after']}", p[ids], p.topk(len(ids)).values, 10 * CHANCE)
    return worst


def values(case: Case) -> float:
    """The weights are the library's row; what the head adds is its slice through the library's W_O."""
    place = len(case.ids) - 4
    answer = case.call["values"](text=case.text, layer=LAYER, head=HEAD, position=place)
    near("the row of weights", answer["weights"], case.eager[LAYER][HEAD, place], WEIGHTS)
    theirs = _carried(case, LAYER, place)
    return near("what the head adds", answer["output_norm"], theirs[HEAD], LENGTHS * float(theirs.max()))


def ablate(case: Case) -> float:
    """With nothing off it is /next_token; with a head off, the library's model with that head's outputs at zero."""
    untouched = case.call["ablate"](text=case.text)
    assert untouched["before"] == untouched["after"]
    assert untouched["kl"] == 0
    plain = case.call["next_token"](text=case.text)["bars"]
    assert [bar["id"] for bar in untouched["before"]["bars"]] == [bar["id"] for bar in plain]
    near("p", [bar["p"] for bar in untouched["before"]["bars"]], [bar["p_raw"] for bar in plain], CHANCE)
    off = case.call["ablate"](text=case.text, heads=[[LAYER, HEAD]])
    assert off["kl"] > 0
    if case.decoder.projections[LAYER] is None:
        return 0.0
    with _head_off(case, LAYER, HEAD), torch.inference_mode():
        theirs = case.stock(torch.tensor([case.ids]), use_cache=False).logits[0, -1].double().softmax(-1)
    return near(
        "p with a head off", [bar["p"] for bar in off["after"]["bars"]],
        theirs[[bar["id"] for bar in off["after"]["bars"]]], 10 * CHANCE,
    )  # fmt: skip


def attribution(case: Case) -> float:
    """The parts sum to the library's largest logit; each head's vector is as long as the library's."""
    answer = case.call["attribution"](text=case.text)
    largest = float(case.logits[-1].abs().max())
    assert answer["target"]["id"] == int(case.logits[-1].argmax())
    for layer in range(case.decoder.shape.layers):
        theirs = _carried(case, layer, -1)
        ours = [part["length"] for part in answer["parts"] if (part["kind"], part["layer"]) == ("head", layer)]
        near(f"what the heads of layer {layer} add", ours, theirs, LENGTHS * float(theirs.max()))
    near("logit", answer["logit"], case.logits[-1].max(), LOGITS * largest)
    return near("sum of the parts", answer["sum"], case.logits[-1].max(), 5 * LOGITS * largest)


def cost(case: Case) -> float:
    """FLOPs as PyTorch counts the library's matrix products; weights and cache as its tensors weigh."""
    T = len(case.ids)
    [row] = case.call["cost"](lengths=[T])["rows"]
    assert min(*row["flops"].values(), *row["next_flops"].values(), *row["bytes"].values()) > 0
    every = sum(parameter.nbytes for parameter in case.stock.parameters())
    assert row["bytes"]["weights"] <= every
    if not case.grouped:  # of experts only the active ones are counted
        assert row["bytes"]["weights"] == _read_each_time(case.stock)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            case.stock(torch.tensor([case.ids]), use_cache=False)
        counted = counter.get_flop_counts()["Global"]
        products = sum(count for op, count in counted.items() if str(op) in ("aten.mm", "aten.addmm"))
        assert row["flops"]["matrices"] + T * row["flops"]["head"] == products  # the library's head reads every row
    written = len(case.written[0])
    if written == NEW:  # the last token written is never run
        [end] = case.call["cost"](lengths=[T + NEW - 1])["rows"]
        assert end["bytes"]["cache"] in case.written[1], f"{end['bytes']['cache']:,} B; the library: {case.written[1]}"
    return 0.0


CHECKS = (lens, values, ablate, attribution, cost)


def twin(case: Case, module: nn.Module) -> nn.Module:
    """The library's module of the same name."""
    [name] = [name for name, other in case.decoder.model.named_modules() if other is module]
    return case.stock.get_submodule(name)


def _carried(case: Case, layer: int, place: int) -> Tensor:
    """How long a vector each head adds to the stream at a place: its slice of W_O's input alone through W_O; [h]."""
    projection, kept = twin(case, case.decoder.projections[layer]), []
    handle = projection.register_forward_pre_hook(lambda _, args: kept.append(args[0][0, place]))
    with torch.inference_mode():
        case.stock(torch.tensor([case.ids]), use_cache=False)
        handle.remove()
        alone = torch.block_diag(*kept[0].chunk(case.decoder.shape.heads))  # [h, h * d_v], one head's part in each row
        return (projection(alone) - projection(torch.zeros_like(alone))).norm(dim=-1)


@contextmanager
def _head_off(case: Case, layer: int, head: int) -> Iterator[None]:
    """The library's model with zeros for one head's outputs."""

    def without(_: nn.Module, args: Any) -> Any:
        parts = list(args[0].chunk(case.decoder.shape.heads, dim=-1))
        parts[head] = torch.zeros_like(parts[head])
        return (torch.cat(parts, dim=-1), *args[1:])

    handle = twin(case, case.decoder.projections[layer]).register_forward_pre_hook(without)
    try:
        yield
    finally:
        handle.remove()


def _read_each_time(model: Any) -> int:
    """Bytes of all weights but the tables that are only looked up; a head that shares its table is read."""
    tables = [p for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters(recurse=False)]
    head = model.get_output_embeddings().weight
    looked_up = {id(p) for p in tables if p is not head}
    return sum(p.nbytes for p in model.parameters() if id(p) not in looked_up)
