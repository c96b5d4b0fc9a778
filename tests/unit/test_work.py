"""Cache, FLOPs and bytes where a configuration alone would tell wrong numbers, against the library's tensors."""

from __future__ import annotations

import copy

import pytest
import torch

from gptviz.decoder.decoder import Decoder
from gptviz.lab.writing.cache_work import Race
from gptviz.lab.writing.work import Meter
from tests import tiny


def run(decoder: Decoder, ids: list[int], new_tokens: int) -> Race:
    race = Race(decoder, ids, new_tokens)
    for _ in race:
        pass
    return race


ODD = {  # family → its sizes, and by hand: what a token weighs, and what 23 tokens weigh
    "deepseek_v3": (tiny.DEEPSEEK, 3 * (8 + 4) * 4, 23 * 144),  # one compressed row of 8, one rotated of 4
    "mistral": ({"sliding_window": 5}, 3 * 2 * 16 * 4, 4 * 384),  # a window of 5 keeps 4 between steps
    "gemma2": ({"sliding_window": 5, "head_dim": 8}, 3 * 2 * 16 * 4, 2 * 4 * 128 + 23 * 128),
    "qwen2": ({"sliding_window": 5, "use_sliding_window": False}, 3 * 2 * 16 * 4, 23 * 384),  # a key that says nothing
    "gemma3n_text": (
        {
            "head_dim": 8,
            "sliding_window": 5,
            "num_kv_shared_layers": 1,
            "laurel_rank": 4,
            "layer_types": ["sliding_attention", "full_attention", "full_attention"],
            "activation_sparsity_pattern": [0.0] * 3,
            "vocab_size_per_layer_input": tiny.V,
            "hidden_size_per_layer_input": 8,
            "intermediate_size": [64] * 3,
        },
        2 * 2 * 16 * 4,
        4 * 128 + 23 * 128,
    ),
}


@pytest.mark.parametrize("kind", ODD)
def test_the_cache_weighs_what_the_librarys_own_cache_holds(kind):
    from transformers import DynamicCache

    sizes, per_token, in_all = ODD[kind]
    decoder = Decoder.from_model(tiny.model(kind, **sizes), None, name=kind)
    race = run(decoder, tiny.ids(8), 16)
    meter = race.meter
    assert meter.token_bytes == per_token
    assert meter.cache_bytes(23) == in_all
    assert [step.cache_bytes for step in race.steps] == [step.formula_bytes for step in race.steps]
    text = torch.tensor([[*tiny.ids(8), *(step.id for step in race.steps[:-1])]])
    model = copy.deepcopy(decoder.model)
    model.set_attn_implementation("eager")
    cache = DynamicCache(config=model.config)
    with torch.no_grad():
        model(text, cache=cache, use_cache=True)
    held = [layer for layer in cache.layers if layer.keys is not None]
    sizes = [int(layer.keys.nbytes + layer.values.nbytes) for layer in held]
    assert race.steps[-1].cache_bytes == in_all == sum(sizes)
    assert (meter.formula is not None) == (kind == "qwen2")
    assert race.max_delta <= 1e-4
    assert race.total["cached"].rows_computed == len(held) * 23


@pytest.mark.parametrize(("past", "fresh"), [(0, 12), (11, 1), (7, 5)])
def test_flops_of_a_window_and_of_unequal_widths_are_those_of_the_permitted_pairs(past, fresh):
    sizes = {"num_attention_heads": 4, "sliding_window": 5}
    windowed = Decoder.from_model(tiny.model("mistral", **sizes), None)
    pairs = sum(min(t + 1, 5) for t in range(past, past + fresh))
    assert Meter(windowed).pairs(past, fresh) == 3 * pairs * 4 * (2 * 8 + 2 * 8)
    wide = Decoder.from_model(tiny.model("deepseek_v3", **tiny.DEEPSEEK), None)
    pairs = sum(t + 1 for t in range(past, past + fresh))
    assert Meter(wide).pairs(past, fresh) == 3 * pairs * 4 * (2 * 12 + 2 * 8)


@pytest.mark.parametrize("kind", ["mixtral", "qwen2_moe"])
def test_experts_count_as_they_are_used(kind):
    """Against torch's own counter: the active experts are worked, those read are read, all are held."""
    from torch.utils.flop_counter import FlopCounterMode

    decoder = Decoder.from_model(tiny.model(kind, **(tiny.MIXTRAL if kind == "mixtral" else tiny.QWEN_MOE)), None)
    meter = Meter(decoder)
    model = copy.deepcopy(decoder.model)
    model.set_attn_implementation("eager")
    model.set_experts_implementation("eager")
    for T in (1, 9):
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            model(torch.tensor([tiny.ids(T)]), use_cache=False, logits_to_keep=1)
        rectangle = meter.pairs(0, 1) * (T * T - T * (T + 1) // 2)
        rotary = counter.get_total_flops() - meter.step(0, T).flops - rectangle
        assert 0 <= rotary <= 4 * T * decoder.shape.head_width
    each = decoder.experts.stacks[0].bytes
    assert meter.step(0, 1).bytes - meter.step(0, 1, expert_bytes=0).bytes == 2 * 2 * each  # two layers, two active
    assert meter.all_bytes == 4 * decoder.shape.parameters
    steps = list(decoder.stream(tiny.ids(9), lambda logits: 5, max_new_tokens=3))
    assert 4 * each <= steps[0].expert_bytes <= 2 * 8 * each
    assert [step.expert_bytes for step in steps[1:]] == [4 * each] * 2
