"""One place copied from another run, against forward hooks on the library's own model."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.replay import Replay
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.looking import patching as lab
from gptviz.lab.looking.patching import Patching, patching
from tests import tiny

TEXT = [11, 257, 300, 11, 42, 9, 1000, 5]
SOURCE = [11, 300, 257, 11, 42, 9, 1200, 5]
CLOSE = 2e-4  # of a share: both runs round in float32, and the difference that comes back is 1


def whole(decoder: Decoder, text: list[int] = TEXT, source: list[int] = SOURCE, **given: Any) -> Patching:
    return list(patching(decoder, text, source, **given))[-1]


def blocks_of(model: Any) -> list[nn.Module]:
    return list(model.model.layers if hasattr(model, "model") else model.transformer.h)


def holder(block: Any, part: str) -> nn.Module:
    """The library's module whose output is the stream after a block, or what one of its two parts adds."""
    if part == "stream":
        return block
    if part == "attention":
        return block.self_attn.o_proj if hasattr(block, "self_attn") else block.attn.c_proj
    return block.mlp


@torch.inference_mode()
def by_hooks(decoder: Decoder, text: list[int], source: list[int], part: str, places: list[tuple[int, int]]) -> Any:
    """The share that comes back at each (layer, place), from hooks on a copy of the model: {place: share}."""
    model = copy.deepcopy(decoder.model)
    for module in model.modules():
        module._forward_hooks.clear()  # the copy has this project's as well
    model.set_attn_implementation("eager")
    kept: dict[int, Tensor] = {}

    def run(ids: list[int], hooks: dict[int, Callable[..., Any]]) -> Tensor:
        handles = [holder(blocks_of(model)[at], part).register_forward_hook(hook) for at, hook in hooks.items()]
        logits = model(torch.tensor([ids]), use_cache=False).logits[0, -1].double()
        for handle in handles:
            handle.remove()
        return logits

    def keep(layer: int) -> Callable[..., None]:
        def hook(_: nn.Module, __: Any, out: Any) -> None:
            kept[layer] = (out[0] if isinstance(out, tuple) else out).clone()

        return hook

    def put(layer: int, place: int) -> Callable[..., Any]:
        def hook(_: nn.Module, __: Any, out: Any) -> Any:
            x = (out[0] if isinstance(out, tuple) else out).clone()
            x[:, place] = kept[layer][:, place]
            return (x, *out[1:]) if isinstance(out, tuple) else x

        return hook

    clean = run(source, {layer: keep(layer) for layer in range(decoder.shape.layers)})
    corrupt = run(text, {})
    gain = clean.softmax(-1) - corrupt.softmax(-1)
    a, b = int(gain.argmax()), int(gain.argmin())
    room = (clean[a] - clean[b]) - (corrupt[a] - corrupt[b])
    shares = {}
    for layer, place in places:
        logits = run(text, {layer: put(layer, place)})
        shares[layer, place] = float(((logits[a] - logits[b]) - (corrupt[a] - corrupt[b])) / room)
    return shares


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama", "nano"])
@pytest.mark.parametrize("part", lab.PARTS)
def test_every_place_is_what_hooks_on_the_stock_model_give(name: str, part: str, request: Any) -> None:
    decoder: Decoder = request.getfixturevalue(name)
    found = whole(decoder, part=part)
    places = list(itertools.product(range(decoder.shape.layers), range(len(TEXT))))
    for (layer, place), share in by_hooks(decoder, TEXT, SOURCE, part, places).items():
        assert float(found.matrix[layer, place]) == pytest.approx(share, abs=CLOSE), (layer, place)
    assert found.matrix.abs().max() > 0.05


@pytest.mark.parametrize("part", lab.PARTS)
def test_some_places_of_smollm2_are_what_hooks_give(smollm2: Decoder, part: str) -> None:
    encode = smollm2.tokenizer.encode
    text = encode("When Mary and John went to the store, John gave a drink to")
    source = encode("When John and Mary went to the store, Mary gave a drink to")
    tried = [(0, 9), (12, 1), (23, 13), (29, 13)]
    theirs = by_hooks(smollm2, text, source, part, tried)
    states = {}
    for state in patching(smollm2, text, source, part=part):
        states[state.done] = state
    assert len(states) == 30
    for (layer, place), share in theirs.items():
        assert float(states[30].matrix[layer, place]) == pytest.approx(share, abs=1e-3), (layer, place)
    if part == "stream":  # the name is carried by its own place, and late it moves to the last one
        assert float(states[30].matrix[12, 9]) > 0.5 > float(states[30].matrix[12, 13])
        assert float(states[30].matrix[25, 13]) > 0.5 > float(states[30].matrix[25, 9])


@pytest.mark.parametrize("part", lab.PARTS)
def test_what_cannot_reach_the_answer_is_exactly_0(tiny_llama: Decoder, part: str) -> None:
    matrix = whole(tiny_llama, part=part).matrix
    assert torch.equal(matrix[:, 0], torch.zeros(4, dtype=torch.float64))  # before the first difference
    assert torch.equal(matrix[-1, :-1], torch.zeros(len(TEXT) - 1, dtype=torch.float64))  # nobody reads it any more
    if part == "stream":
        assert float(matrix[-1, -1]) == pytest.approx(1.0, abs=1e-5)


def test_the_map_grows_from_the_top(tiny_gpt2: Decoder) -> None:
    states = list(patching(tiny_gpt2, TEXT, SOURCE))
    assert [state.done for state in states] == [1, 2, 3, 4]
    for state in states:
        known = ~state.matrix.isnan().any(-1)
        assert known.tolist() == [layer >= 4 - state.done for layer in range(4)]


def test_named_tokens_are_held_against_each_other(tiny_gpt2: Decoder) -> None:
    found = whole(tiny_gpt2, target=7, against=300)
    for ids, said in ((SOURCE, found.clean), (TEXT, found.corrupt)):
        logits = tiny_gpt2.run(ids).logits[-1].double()
        assert said == pytest.approx(float(logits[7] - logits[300]), abs=1e-4)


def test_other_passes_in_between_change_nothing(tiny_llama: Decoder) -> None:
    alone = whole(tiny_llama, part="attention").matrix
    busy = {"now": False}

    def breathe() -> None:
        if not busy["now"]:
            busy["now"] = True
            tiny_llama.run([5, 6, 7])
            busy["now"] = False

    tiny_llama.between_layers = breathe
    try:
        among = whole(tiny_llama, part="attention").matrix
    finally:
        tiny_llama.between_layers = None
    assert torch.equal(alone, among)


def test_what_cannot_be_compared_is_one_sentence(tiny_gpt2: Decoder) -> None:
    for source, part, said in (
        (SOURCE[:-1], "stream", "source has 7 tokens; it must have as many as text, 8."),
        (TEXT, "stream", "nothing can come back"),
        (SOURCE, "mind", "part is .mind.; it must be one of stream, attention, feed_forward."),
    ):
        with pytest.raises(UserError, match=said):
            whole(tiny_gpt2, TEXT, source, part=part)
    with pytest.raises(UserError, match="at most 64"):
        whole(tiny_gpt2, [1] * 65, [2] * 65)


def test_a_family_whose_parts_are_not_added_says_so_and_still_has_its_stream() -> None:
    decoder = Decoder.from_model(tiny.model("olmo2"), Tokenizer.gpt2(), name="odd")
    text, source = tiny.ids(8), [*tiny.ids(8)[:3], 7, *tiny.ids(8)[4:]]
    assert math.isfinite(float(whole(decoder, text, source).matrix.sum()))
    assert math.isfinite(float(whole(decoder, text, source, part="attention").matrix.sum()))
    with pytest.raises(UserError, match="odd does more between its parts than add them"):
        whole(decoder, text, source, part="feed_forward")


def test_a_pass_taken_up_again_is_the_pass(tiny_gpt2: Decoder) -> None:
    replay = Replay(tiny_gpt2, TEXT)
    run = tiny_gpt2.run(TEXT, residual=True)
    assert run.residual is not None
    assert torch.equal(replay.stream, run.residual)
    for first in range(5):
        end = replay.run(replay.stream[first : first + 1], first)
        assert torch.allclose(end[0], run.residual[-1], atol=1e-5)
        assert torch.allclose(replay.logits(end)[0], run.logits[-1], atol=1e-4)
