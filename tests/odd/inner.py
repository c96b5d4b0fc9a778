"""The checks of the neurons of a layer and of the route to an answer; see compare.py."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from tests.odd.case import LOGITS, Case
from tests.odd.parts import LAYER, twin

LEAST = 1e-6  # share: practically every edge
NEURONS = 5


def neurons(case: Case) -> float:
    """The activations are what one matrix of the library's own block is given at that place."""
    answer = case.call["neurons"](text=case.text, layer=LAYER, count=NEURONS)
    given = _given(case)
    found = {each["index"]: each["activation"] for each in answer["neurons"]}
    index = torch.tensor(list(found))
    apart = [
        float((x[index].double() - torch.tensor(list(found.values())).double()).abs().max())
        for x in given
        if len(x) > int(index.max())
    ]
    assert apart, "no matrix of the block is given so many numbers"
    size = max(1.0, *(abs(x) for x in found.values()))
    assert min(apart) <= LOGITS * size, f"no matrix of the block is given these activations: {min(apart):.3g} apart"
    return min(apart)


def routes(case: Case) -> float:
    """No share is below 0, those of a place add up to no more than 1, and no edge goes where nothing is read."""
    answer = case.call["routes"](text=case.text, least=LEAST)
    brought = {(layer, place): stayed for layer, place, stayed, _ in answer["places"]}
    for layer, head, query, key, share in answer["edges"]:
        assert 0 <= share <= 1
        assert case.eager[layer][head, query, key] > 0, "an edge from a token that the library's head does not read"
        brought[layer, query] += share
    most = max(brought.values())
    assert most <= 1 + 1e-6, f"the shares of a place add up to {most}"
    assert all(0 <= part <= 1 for *_, part in answer["places"])
    return max(0.0, most - 1)


def _given(case: Case) -> list[Tensor]:
    """What every matrix of one block of the library's model is given at the last token."""
    block, kept, handles = twin(case, case.decoder.layers[LAYER]), [], []
    for module in block.modules():
        if isinstance(module, nn.Linear | Conv1D):
            take = module.register_forward_pre_hook(
                lambda _, args: kept.append(args[0].reshape(-1, args[0].shape[-1])[-1])
            )
            handles.append(take)
    with torch.inference_mode():
        case.stock(torch.tensor([case.ids]), use_cache=False)
    for handle in handles:
        handle.remove()
    return kept


CHECKS = (neurons, routes)
