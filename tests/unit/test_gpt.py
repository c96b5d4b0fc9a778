"""The two readable GPTs against transformers' GPT2LMHeadModel, and against each other."""

import pytest
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.errors import UserError
from gptviz.decoder.gpt import Config, LongGPT, ShortGPT, as_short, from_gpt2

SHAPES = [
    Config(vocabulary=50, context=16, width=24, heads=3, layers=2),
    Config(vocabulary=97, context=40, width=64, heads=4, layers=4),
    Config(vocabulary=31, context=9, width=20, heads=1, layers=1),
    Config(vocabulary=200, context=64, width=96, heads=12, layers=6),
]
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-10}


def stock(config: Config, dtype: torch.dtype, attention: str = "sdpa") -> GPT2LMHeadModel:
    """The library's model with random weights large enough that a wrong mask or GELU shows."""
    torch.manual_seed(1)
    model = GPT2LMHeadModel(
        GPT2Config(  # type: ignore[call-arg]  # its signature leaves out what every configuration takes
            vocab_size=config.vocabulary,
            n_positions=config.context,
            n_embd=config.width,
            n_head=config.heads,
            n_layer=config.layers,
            initializer_range=0.2,
            attn_implementation=attention,
        )
    )
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(p, 0.0, 0.2)
    return model.to(dtype).eval()


def both(config: Config, checkpoint: dict[str, torch.Tensor], dtype: torch.dtype) -> tuple[ShortGPT, LongGPT]:
    short, long = ShortGPT(config).to(dtype).eval(), LongGPT(config).to(dtype).eval()
    weights = from_gpt2(checkpoint)
    long.load_state_dict(weights)
    short.load_state_dict(as_short(weights))
    return short, long


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("config", SHAPES, ids=lambda c: f"{c.layers}x{c.heads}x{c.width}")
def test_both_equal_the_library_model(config: Config, dtype: torch.dtype) -> None:
    library = stock(config, dtype)
    short, long = both(config, library.state_dict(), dtype)
    for length in (1, 2, config.context - 1, config.context):
        ids = torch.randint(config.vocabulary, (3, length), generator=torch.Generator().manual_seed(length))
        with torch.no_grad():
            expected = library(ids).logits
            assert expected.std() > 0.3  # logits that say something: an all-equal model would pass anything
            for ours in (short, long):
                assert (ours(ids) - expected).abs().max() < TOLERANCE[dtype]


def test_both_equal_in_training_too() -> None:
    """The same gradient for the shared table: PyTorch's inference fast path hides nothing."""
    config = SHAPES[1]
    library = stock(config, torch.float64)
    ids = torch.randint(config.vocabulary, (2, 20), generator=torch.Generator().manual_seed(0))
    targets = ids[:, 1:].flatten()
    F.cross_entropy(library(ids).logits[:, :-1].flatten(0, 1), targets).backward()
    for ours in both(config, library.state_dict(), torch.float64):
        F.cross_entropy(ours.train()(ids)[:, :-1].flatten(0, 1), targets).backward()
        assert (ours.wte.weight.grad - library.transformer.wte.weight.grad).abs().max() < 1e-10


def test_a_checkpoint_as_the_hub_keeps_it() -> None:
    """openai-community/gpt2 has no "transformer." prefix, no lm_head, and stores each layer's mask."""
    config = SHAPES[0]
    library = stock(config, torch.float32)
    hub = library.transformer.state_dict()
    for layer in range(config.layers):
        hub[f"h.{layer}.attn.bias"] = torch.ones(1, 1, config.context, config.context).tril()
    ids = torch.arange(config.context)[None]
    with torch.no_grad():
        for ours in both(config, hub, torch.float32):
            assert (ours(ids) - library(ids).logits).abs().max() < 1e-4


@pytest.mark.parametrize("build", [ShortGPT, LongGPT])
def test_gpt2_small_has_its_published_size(build: type) -> None:
    with torch.device("meta"):
        model = build(Config())
    assert sum(p.numel() for p in model.parameters()) == 124_439_808  # the tied table counted once
    assert model.lm_head.weight is model.wte.weight


@pytest.mark.parametrize(("mask", "reads_left", "reads_right"), [
    ("causal", True, False),
    ("none", True, True),
    ("wrong_way", False, True),
])  # fmt: skip
def test_what_each_mask_lets_through(mask: str, reads_left: bool, reads_right: bool) -> None:
    """Replacing token 5 moves outputs only where the mask allows it; elsewhere the change is exactly zero."""
    config = SHAPES[1]
    long = LongGPT(config, mask).eval()
    long.load_state_dict(from_gpt2(stock(config, torch.float32).state_dict()))
    ids = torch.arange(12)[None]
    changed = ids.clone()
    changed[0, 5] = 77
    with torch.no_grad():
        moved = (long(ids) - long(changed)).abs().amax(dim=(0, 2))  # [T]
    assert moved[5] > 0.01
    assert bool((moved[6:] > 1e-3).all()) is reads_left
    assert bool((moved[:5] > 1e-3).all()) is reads_right
    if not reads_left:
        assert moved[6:].max() == 0.0
    if not reads_right:
        assert moved[:5].max() == 0.0


def test_the_open_masks_equal_a_formula() -> None:
    """One layer in float64 against softmax(QKᵀ/√d_k + M)·V written out with plain products."""
    config = SHAPES[2]
    weights = from_gpt2(stock(config, torch.float64).state_dict())
    x = torch.randn(2, 7, config.width, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    qkv = x @ weights["h.0.attn.c_attn.weight"].T + weights["h.0.attn.c_attn.bias"]
    q, k, v = qkv.split(config.width, dim=-1)  # one head
    scores = q @ k.transpose(1, 2) / config.width**0.5
    hidden = {
        "causal": torch.ones(7, 7).triu(1).bool(),
        "none": torch.zeros(7, 7).bool(),
        "wrong_way": torch.ones(7, 7).tril(-1).bool(),
    }
    for mask, hide in hidden.items():
        long = LongGPT(config, mask).double().eval()
        long.load_state_dict(weights)
        y = scores.masked_fill(hide, -torch.inf).softmax(-1) @ v
        expected = y @ weights["h.0.attn.c_proj.weight"].T + weights["h.0.attn.c_proj.bias"]
        assert (long.h[0].attn(x) - expected).abs().max() < 1e-12


def test_user_errors_name_the_value() -> None:
    config = SHAPES[0]
    with pytest.raises(UserError, match="17 tokens; the context has room for 16"):
        LongGPT(config)(torch.zeros(1, 17, dtype=torch.long))
    with pytest.raises(UserError, match="17 tokens; the context has room for 16"):
        ShortGPT(config)(torch.zeros(1, 17, dtype=torch.long))
    with pytest.raises(UserError, match='"sideways"'):
        LongGPT(config, "sideways")
