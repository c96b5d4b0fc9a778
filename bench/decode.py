"""Writing tokens with the cache, and reading a prompt, against the library in the same run."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedModel

from bench.measure import machine, medians, read_bandwidth, spread, take_turns
from gptviz.decoder.decoder import Decoder
from gptviz.lab.writing.work import Meter

PROMPT, NEW = 10, 128
PREFILL = (64, 256, 1024)
SHAPES: dict[str, Callable[[], PreTrainedModel]] = {
    # Random weights: the time depends on the shape alone. A wider start than 0.02 keeps the best two logits apart.
    "gpt2-124m": lambda: GPT2LMHeadModel(GPT2Config(initializer_range=0.05, eos_token_id=None, bos_token_id=None)),
    "smollm2-135m": lambda: LlamaForCausalLM(
        LlamaConfig(
            vocab_size=49152, hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
            intermediate_size=1536, max_position_embeddings=8192, tie_word_embeddings=True, initializer_range=0.05,
            bos_token_id=None, eos_token_id=None,
        )
    ),
}  # fmt: skip


def build(shape: str, dtype: torch.dtype = torch.float32) -> tuple[Decoder, PreTrainedModel]:
    """The decoder of that shape, and the library's model with the same weights and its own attention."""
    torch.manual_seed(0)
    made: Any = SHAPES[shape]()  # Any: the library's decorators hide what .to and .generate take
    model = made.to(dtype).eval()
    stock = copy.deepcopy(model)
    no_text: Any = None  # only ids are run
    return Decoder.from_model(model, no_text, name=shape), stock


def ids_of(count: int, vocabulary: int) -> list[int]:
    """A prompt of that many tokens, the same every time."""
    return torch.randint(vocabulary, (count,), generator=torch.Generator().manual_seed(1)).tolist()


@torch.inference_mode()
def generate(model: Any, prompt: list[int], new: int) -> list[int]:
    """The library's greedy text with its own cache."""
    ids = torch.tensor([prompt], device=model.device)
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False, use_cache=True, pad_token_id=0
    )
    return out[0, len(prompt) :].tolist()


def write(decoder: Decoder, prompt: list[int], new: int) -> list[int]:
    """Our greedy text with the cache."""
    steps = decoder.stream(prompt, lambda logits: int(logits.argmax()), max_new_tokens=new, keep_logits=False)
    return [step.id for step in steps]


def decoding(shape: str, *, new: int = NEW, half: bool = True) -> dict[str, Any]:
    """Tokens per second of writing, ours against `generate`, and the share of the read bandwidth that is used."""
    decoder, stock = build(shape)
    prompt = ids_of(PROMPT, decoder.shape.vocabulary)
    same = write(decoder, prompt, new) == generate(stock, prompt, new)
    bandwidth: list[float] = []
    read = read_bandwidth()
    contestants: dict[str, Callable[[], Any]] = {
        "library float32": lambda: generate(stock, prompt, new),
        "read": lambda: bandwidth.append(read()),
        "gptviz float32": lambda: write(decoder, prompt, new),
    }
    if half:
        small, _ = build(shape, torch.bfloat16)
        contestants["gptviz bfloat16"] = lambda: write(small, prompt, new)
    seconds = take_turns(contestants)
    middle = medians(seconds)
    speed = {name: new / s for name, s in middle.items() if name != "read"}
    weights = Meter(decoder).weight_bytes
    result = {
        "shape": shape,
        "prompt": PROMPT,
        "new_tokens": new,
        "same_tokens": same,
        "tokens_per_second": speed,
        "seconds": {name: spread(values) for name, values in seconds.items() if name != "read"},
        "speedup": speed["gptviz float32"] / speed["library float32"],
        "weight_bytes_per_token": weights,
        "read_bytes_per_second": spread(bandwidth[1:]),
        "share_of_read_bandwidth": weights * speed["gptviz float32"] / statistics.median(bandwidth[1:]),
    }
    if half:
        result["bfloat16_speedup_over_library_float32"] = speed["gptviz bfloat16"] / speed["library float32"]
    return result


@torch.inference_mode()
def last_logits(model: PreTrainedModel, prompt: list[int]) -> torch.Tensor:
    """The library on a prompt, with a cache, computing only the logits needed."""
    return model(torch.tensor([prompt], device=model.device), use_cache=True, logits_to_keep=1).logits[0, -1]


def prefill(shape: str, lengths: tuple[int, ...] = PREFILL) -> list[dict[str, Any]]:
    """Seconds to read a prompt of T tokens and give the next token's logits."""
    decoder, stock = build(shape)
    rows = []
    for T in lengths:
        prompt = ids_of(T, decoder.shape.vocabulary)

        def ours(prompt: list[int] = prompt) -> torch.Tensor:
            step = next(decoder.stream(prompt, lambda logits: 0, max_new_tokens=1))
            assert step.logits is not None
            return step.logits

        def theirs(prompt: list[int] = prompt) -> torch.Tensor:
            return last_logits(stock, prompt)

        if decoder.shape.context == T:  # a full context has no room for a token: the last one is left out
            prompt.pop()
        seconds = take_turns({"library": theirs, "gptviz": ours})
        middle = medians(seconds)
        rows.append(
            {
                "T": len(prompt),
                "seconds": {name: spread(values) for name, values in seconds.items()},
                "speedup": middle["library"] / middle["gptviz"],
                "max_logit_delta": float((ours() - theirs()).abs().max()),
            }
        )
    return rows


def run(*, quick: bool = False) -> dict[str, Any]:
    """Writing; `quick` writes fewer tokens."""
    return {"machine": machine(), "decode": [decoding(shape, new=32 if quick else NEW) for shape in SHAPES]}


def run_prefill(*, quick: bool = False) -> dict[str, Any]:
    """Reading; `quick` reads the shortest prompt only."""
    lengths = PREFILL[:1] if quick else PREFILL
    return {"machine": machine(), "prefill": {shape: prefill(shape, lengths) for shape in SHAPES}}
