"""The forward written out for speed, its row products and its cache, against the library."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional as F
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

from gptviz.decoder import row_product as rows
from gptviz.decoder.cache import FIRST_ROOM, GrowingCache, cache_bytes
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.fast_pass import FAMILIES, FastGPT2, FastLlama

IDS = [(37 * i + 11) % 300 for i in range(40)]
LLAMA_LIKE = {
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32,
    "intermediate_size": 64, "max_position_embeddings": 64,
}  # fmt: skip
FAMILY = [
    ("gpt2", {"n_layer": 3, "n_head": 4, "n_embd": 32, "n_positions": 64}),
    ("gpt2", {"n_layer": 3, "n_head": 4, "n_embd": 32, "n_positions": 64, "tie_word_embeddings": False}),
    ("llama", LLAMA_LIKE),
    ("llama", {**LLAMA_LIKE, "tie_word_embeddings": True, "num_key_value_heads": 4}),
    ("llama", {**LLAMA_LIKE, "attention_bias": True, "mlp_bias": True}),
    ("mistral", {**LLAMA_LIKE, "sliding_window": None}),
    ("qwen2", LLAMA_LIKE),
    ("qwen3", {**LLAMA_LIKE, "head_dim": 16}),
]
OTHERS = [
    ("mistral", {**LLAMA_LIKE, "sliding_window": 5}),
    ("gemma", {**LLAMA_LIKE, "head_dim": 8}),
    ("gpt_neox", {k: v for k, v in LLAMA_LIKE.items() if k != "num_key_value_heads"}),
    ("gpt2", {"n_layer": 2, "n_head": 2, "n_embd": 16, "scale_attn_by_inverse_layer_idx": True}),
]


def small(kind: str, sizes: dict, dtype: torch.dtype = torch.float32):
    torch.manual_seed(0)
    common = {"vocab_size": 300, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0, "initializer_range": 0.3}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **common, **sizes)).to(dtype).eval()
    with torch.no_grad():  # biases and norms that are all 0 or 1 would hide a forgotten one
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter)) if "norm" in name else parameter.normal_(0, 0.1)
    return model


def greedy(logits: torch.Tensor) -> int:
    return int(logits.argmax())


@torch.inference_mode()
def librarys(model, ids: list[int]) -> torch.Tensor:
    stock = copy.deepcopy(model)
    stock.set_attn_implementation("sdpa")
    return stock(torch.tensor([ids]), use_cache=False).logits[0]


@pytest.mark.parametrize(("kind", "sizes"), FAMILY)
@pytest.mark.parametrize("use_cache", [True, False])
def test_every_step_gives_the_librarys_logits(kind, sizes, use_cache):
    model = small(kind, sizes)
    decoder = Decoder.from_model(model, None)
    assert isinstance(decoder.fast, FastGPT2 if kind == "gpt2" else FastLlama)
    steps = list(decoder.stream(IDS[:6], greedy, max_new_tokens=30, use_cache=use_cache))
    whole = librarys(model, IDS[:6] + [s.id for s in steps])  # [T, V]
    for step in steps:
        assert (step.logits - whole[5 + step.index]).abs().max() <= 1e-4 * whole.abs().max()


@pytest.mark.parametrize(("kind", "sizes"), OTHERS)
def test_other_architectures_keep_the_librarys_forward(kind, sizes):
    model = small(kind, sizes)
    decoder = Decoder.from_model(model, None)
    assert decoder.fast is None
    steps = list(decoder.stream(IDS[:6], greedy, max_new_tokens=12))
    whole = librarys(model, IDS[:6] + [s.id for s in steps])
    assert max((s.logits - whole[5 + s.index]).abs().max() for s in steps) <= 1e-3


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_pass_that_differs_is_not_used(kind, monkeypatch):
    class Wrong(FAMILIES[kind]):  # type: ignore[valid-type,misc]  # chosen when the test runs
        def block(self, layer, x, turn, cache, last):
            return super().block(layer, x * 1.01, turn, cache, last)

    monkeypatch.setitem(FAMILIES, kind, Wrong)
    sizes = next(sizes for name, sizes in FAMILY if name == kind)
    assert Decoder.from_model(small(kind, sizes), None).fast is None


@pytest.mark.parametrize(("kind", "sizes"), [FAMILY[0], FAMILY[2]])
def test_bfloat16_stays_as_near_to_float32_as_the_librarys_own(kind, sizes):
    model = small(kind, sizes)
    exact = librarys(model, IDS)[-1]
    half = copy.deepcopy(model).bfloat16()
    theirs = (librarys(half, IDS)[-1].float() - exact).abs().max()
    decoder = Decoder.from_model(half, None)
    steps = list(decoder.stream(IDS[:10], lambda logits: 0, max_new_tokens=1))
    ours = [
        s.logits for s in decoder.stream(IDS[:30], _following(IDS[30:]), max_new_tokens=11)
    ]  # the last step has read all of IDS
    assert decoder.fast is not None
    assert steps[0].logits.dtype is torch.float32
    assert (ours[-1] - exact).abs().max() <= 2 * theirs + 0.02 * exact.abs().max()


def _following(ids):
    rest = iter([*ids, 0])
    return lambda logits: next(rest)


def test_whoever_asks_while_the_pass_is_being_made_is_served_by_the_library():
    """A short request may run between the layers of the very comparison that makes the pass."""
    kind, sizes = FAMILY[0]
    decoder = Decoder.from_model(small(kind, sizes), None)
    texts: list[list[int]] = []

    def between() -> None:
        decoder.between_layers = None
        texts.append([s.id for s in decoder.stream(IDS[:6], greedy, max_new_tokens=5)])

    decoder.between_layers = between
    assert decoder.fast is not None
    assert texts == [[s.id for s in decoder.stream(IDS[:6], greedy, max_new_tokens=5)]]


def test_the_last_chunk_after_a_cache_is_refused(tiny_gpt2):
    cache = GrowingCache()
    with torch.inference_mode():
        tiny_gpt2.fast(torch.tensor(IDS[:4]), cache)
        with pytest.raises(ValueError, match="mask"):
            tiny_gpt2.fast(torch.tensor(IDS[4:7]), cache)


def test_writing_leaves_the_models_weights_and_answers_alone(tiny_gpt2):
    before = {name: t.clone() for name, t in tiny_gpt2.model.state_dict().items()}
    logits = tiny_gpt2.run(IDS).logits
    list(tiny_gpt2.stream(IDS[:5], greedy, max_new_tokens=5))
    assert torch.equal(tiny_gpt2.run(IDS).logits, logits)
    assert all(torch.equal(before[name], t) for name, t in tiny_gpt2.model.state_dict().items())
    model = tiny_gpt2.model
    assert model.lm_head.weight.data_ptr() == model.transformer.wte.weight.data_ptr()


# Row products


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("stored", ["out, in", "in, out"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("outputs", "inputs"), [(96, 64), (97, 64), (96, 65), (97, 61), (1, 7), (300, 1)])
def test_a_row_product_equals_float64(threads, stored, bias, outputs, inputs):
    torch.manual_seed(outputs)
    weight, x, b = torch.randn(outputs, inputs), torch.randn(1, inputs), torch.randn(outputs)
    laid = weight if stored == "out, in" else weight.t().contiguous().t()
    exact = F.linear(x.double(), weight.double(), b.double() if bias else None)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        ours = rows.row_product(laid, b if bias else None)(x)
        head = rows.head_product(laid)(x)
    finally:
        torch.set_num_threads(before)
    assert ours.shape == (1, outputs)
    assert (ours.double() - exact).abs().max() <= 1e-5 * inputs**0.5
    assert (head.double() - F.linear(x.double(), weight.double())).abs().max() <= 1e-5 * inputs**0.5


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("bias", [True, False])
def test_a_16_bit_row_product_rounds_like_the_librarys(dtype, bias):
    torch.manual_seed(0)
    weight, x, b = torch.randn(96, 64).to(dtype), torch.randn(1, 64).to(dtype), torch.randn(96).to(dtype)
    exact = F.linear(x.double(), weight.double(), b.double() if bias else None)
    ours = rows.row_product(weight, b if bias else None)(x)
    assert ours.dtype is dtype
    assert (ours.double() - exact).abs().max() <= torch.finfo(dtype).eps * exact.abs().max()


def test_only_the_head_is_kept_twice():
    weight = torch.randn(96, 64)
    assert _tensors_of(rows.row_product(weight)) <= {weight.untyped_storage().data_ptr()}
    assert len(_tensors_of(rows.head_product(weight)) - {weight.untyped_storage().data_ptr()}) >= 1


def _tensors_of(product) -> set[int]:
    """Storages of the large tensors a product holds on to."""
    held = [cell.cell_contents for cell in product.__closure__ or ()]
    return {t.untyped_storage().data_ptr() for t in held if isinstance(t, torch.Tensor) and t.numel() > 1000}


# The cache


def test_the_cache_holds_the_librarys_rows(tiny_llama):
    ours, theirs = GrowingCache(), DynamicCache()
    for fresh in (IDS[:5], IDS[5:6], IDS[6:9], *([i] for i in IDS[9:40])):
        a, b = tiny_llama.step(fresh, ours), tiny_llama.step(fresh, theirs)
        assert (a - b).abs().max() <= 1e-5
    for mine, stock in zip(ours.layers, theirs.layers, strict=True):
        assert mine.keys.shape == stock.keys.shape
        assert (mine.keys - stock.keys).abs().max() <= 1e-5
        assert (mine.values - stock.values).abs().max() <= 1e-5
    assert cache_bytes(ours) == cache_bytes(theirs)


def rows_in(start: int, stop: int) -> torch.Tensor:
    return torch.arange(start, stop, dtype=torch.float32)[None, None, :, None].expand(1, 2, stop - start, 4)


def reserved_bytes(cache):
    """The memory behind the cache, the room ahead included."""
    tensors = [t for layer in cache.layers if layer.is_initialized for t in (layer.keys, layer.values)]
    return sum(t.untyped_storage().nbytes() for t in tensors)


def test_rows_are_written_in_place_and_the_buffer_doubles():
    cache = GrowingCache()
    cache.update(rows_in(0, 10), rows_in(0, 10), 0)
    first = cache.layers[0].keys.data_ptr()
    moves = 0
    for i in range(10, 1000):
        keys, values = cache.update(rows_in(i, i + 1), -rows_in(i, i + 1), 0)
        moves += keys.data_ptr() != first
        first = keys.data_ptr()
        assert cache_bytes(cache) == 2 * 2 * 4 * 4 * (i + 1)
        assert cache_bytes(cache) <= reserved_bytes(cache) <= 2 * cache_bytes(cache) + 2 * 2 * 4 * 4 * FIRST_ROOM
    assert moves <= 6
    assert torch.equal(keys, rows_in(0, 1000))
    assert torch.equal(values[:, :, 10:], -rows_in(10, 1000))


def test_a_cropped_reordered_or_reset_cache_goes_on_correctly():
    cache = GrowingCache()
    cache.update(rows_in(0, 10), rows_in(0, 10), 0)
    cache.crop(-4)
    assert torch.equal(cache.update(rows_in(50, 52), rows_in(50, 52), 0)[0][0, 0, :, 0],
                       torch.tensor([0.0, 1, 2, 3, 4, 5, 50, 51]))  # fmt: skip
    cache.reorder_cache(torch.tensor([0, 0]))
    both = torch.cat([rows_in(60, 61), rows_in(70, 71)])
    keys, _ = cache.update(both, both, 0)
    assert keys[:, 0, -1, 0].tolist() == [60, 70]
    assert keys[1, 0, :-1, 0].tolist() == [0, 1, 2, 3, 4, 5, 50, 51]
    cache.reset()
    assert cache_bytes(cache) == reserved_bytes(cache) == 0
    assert torch.equal(cache.update(rows_in(3, 4), rows_in(3, 4), 0)[0], rows_in(3, 4))


def test_others_may_use_the_model_during_a_long_prompt(tiny_gpt2, monkeypatch):
    monkeypatch.setattr("gptviz.decoder.decoder.PIECE_S", 0.0)
    alone = [s.logits for s in tiny_gpt2.stream(IDS, greedy, max_new_tokens=3)]
    others: list[int] = []

    def between() -> None:
        monkeypatch.setattr(tiny_gpt2, "between_layers", None)
        others.append(greedy(tiny_gpt2.run(IDS[:9]).logits[-1]))
        monkeypatch.setattr(tiny_gpt2, "between_layers", between)

    monkeypatch.setattr(tiny_gpt2, "between_layers", between)
    shared = [s.logits for s in tiny_gpt2.stream(IDS, greedy, max_new_tokens=3)]
    assert len(others) == 3 * tiny_gpt2.shape.layers
    assert len(set(others)) == 1
    assert all(torch.equal(a, b) for a, b in zip(alone, shared, strict=True))
