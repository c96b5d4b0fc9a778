"""The checks that need a GPU, in at most six minutes: `python -m bench.gpu [--out FILE]`.

Equality with the library on the card, tokens per second against its static cache, the allocator's figures beside the
formula, and the head panel at T = 1,024. Without CUDA it says so and exits with 0.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from bench.decode import NEW, PREFILL, PROMPT, generate, ids_of, last_logits, write
from bench.decode import build as build_on_cpu
from bench.measure import machine, medians, spread, take_turns
from gptviz.decoder.cache import GrowingCache, cache_bytes
from gptviz.decoder.decoder import Decoder
from gptviz.lab.looking import heads
from gptviz.lab.writing.cache_memory import allocator
from gptviz.lab.writing.cache_work import Race

LIMIT_S = 330  # after this no further part is begun
SHAPES = ("gpt2-124m", "smollm2-135m")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def build(shape: str, dtype: torch.dtype, device: torch.device) -> tuple[Decoder, PreTrainedModel]:
    """The decoder and the library's own model with the same weights, on the device."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    built: tuple[Decoder, Any] = build_on_cpu(shape, dtype)
    decoder, stock = built
    decoder.model.to(device)
    return decoder, stock.to(device)


@contextmanager
def synchronised(device: torch.device) -> Iterator[None]:
    """Wait for the card before and after, so that a clock means something."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    yield
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def equality(decoder: Decoder, stock: PreTrainedModel, T: int = 128) -> dict[str, Any]:
    """Largest logit differences: plain and captured against the library, cached against uncached; the same text."""
    ids = ids_of(T, decoder.shape.vocabulary)
    with torch.inference_mode():
        theirs = stock(torch.tensor([ids], device=decoder.device), use_cache=False).logits[0].float().cpu()
    captured = decoder.run(ids, capture=range(decoder.shape.layers))
    race = Race(decoder, ids[:PROMPT], 64)
    for _ in race:
        pass
    upper = max(float(layer.weights.triu(1).abs().max()) for layer in captured.attention.values())
    return {
        "T": T,
        "plain": float((decoder.run(ids).logits - theirs).abs().max()),
        "captured": float((captured.logits - theirs).abs().max()),
        "largest_weight_above_the_diagonal": upper,
        "cached_against_uncached": race.max_delta,
        "argmax_agrees": all(step.agrees for step in race.steps),
        "same_text_as_generate": write(decoder, ids[:PROMPT], 64) == generate(stock, ids[:PROMPT], 64),
    }


@torch.inference_mode()
def generate_static(model: Any, prompt: list[int], new: int, *, compiled: bool) -> list[int]:
    """The library's greedy text with its static cache."""
    ids = torch.tensor([prompt], device=model.device)
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False, pad_token_id=0,
        cache_implementation="static", disable_compile=not compiled,
    )  # fmt: skip
    return out[0, len(prompt) :].tolist()


def speed(decoder: Decoder, stock: PreTrainedModel, new: int = NEW, *, compiled: bool = False) -> dict[str, Any]:
    """Tokens per second, all in turns: ours, the library's dynamic cache, its static one, and that compiled."""
    prompt = ids_of(PROMPT, decoder.shape.vocabulary)

    def timed(work: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            with synchronised(decoder.device):
                work()

        return run

    contestants = {
        "gptviz": timed(lambda: write(decoder, prompt, new)),
        "library, dynamic cache": timed(lambda: generate(stock, prompt, new)),
        "library, static cache": timed(lambda: generate_static(stock, prompt, new, compiled=False)),
    }
    if compiled:
        contestants["library, static cache, compiled"] = timed(
            lambda: generate_static(stock, prompt, new, compiled=True)
        )
    seconds = take_turns(contestants)
    rates = {name: new / s for name, s in medians(seconds).items()}
    return {
        "new_tokens": new,
        "tokens_per_second": rates,
        "seconds": {name: spread(values) for name, values in seconds.items()},
        "speedup": {name: rates["gptviz"] / rate for name, rate in rates.items() if name != "gptviz"},
    }


def prefill(decoder: Decoder, stock: PreTrainedModel, lengths: tuple[int, ...] = PREFILL) -> list[dict[str, Any]]:
    """Seconds to the next token's logits after T tokens."""
    rows = []
    for T in lengths:
        prompt = ids_of(min(T, decoder.shape.context - 1), decoder.shape.vocabulary)

        def ours(prompt: list[int] = prompt) -> None:
            next(decoder.stream(prompt, lambda logits: 0, max_new_tokens=1))

        def theirs(prompt: list[int] = prompt) -> None:
            last_logits(stock, prompt).float().cpu()

        middle = medians(take_turns({"library": theirs, "gptviz": ours}))
        rows.append({"T": len(prompt), "seconds": middle, "speedup": middle["library"] / middle["gptviz"]})
    return rows


def memory(decoder: Decoder, T: int = 1000) -> dict[str, Any]:
    """The cache's bytes by formula, by its tensors, and by what the allocator gave for them."""
    shape, device = decoder.shape, decoder.device
    prompt = ids_of(min(T, shape.context - 1), shape.vocabulary)
    decoder.step(prompt[:2], GrowingCache())  # workspaces are allocated by now
    before = allocator(device)
    cache = GrowingCache()
    decoder.step(prompt, cache)
    after = allocator(device)
    element = torch.finfo(decoder.dtype).bits // 8
    return {
        "T": len(prompt),
        "formula": 2 * shape.layers * shape.kv_heads * shape.head_width * element * len(prompt),
        "tensors": cache_bytes(cache),
        "allocated": after["allocated"] - before["allocated"] if before and after else None,
        "allocator": after,
    }


def panel(decoder: Decoder, T: int = 1024) -> dict[str, Any]:
    """All heads at T against one plain forward pass, and the memory it took."""
    ids = ids_of(min(T, decoder.shape.context), decoder.shape.vocabulary)
    induction = torch.zeros(decoder.shape.layers, decoder.shape.heads)
    if decoder.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(decoder.device)
    seconds = take_turns(
        {"forward": lambda: decoder.run(ids), "panel": lambda: heads.panel(decoder, ids, induction)}, rounds=3
    )
    return {"T": len(ids), "seconds": medians(seconds), "allocator": allocator(decoder.device)}


def run(device: torch.device, *, limit_s: float = LIMIT_S, new: int = NEW) -> dict[str, Any]:
    """All checks, the most telling first; what no time was left for is named."""
    begin = time.monotonic()
    found: dict[str, Any] = {"machine": machine(), "device": str(device), "results": [], "left_out": []}
    for shape in SHAPES:
        for name, dtype in DTYPES.items():
            decoder, stock = build(shape, dtype, device)
            first = shape == SHAPES[0]
            compiled = first and device.type == "cuda" and dtype is torch.bfloat16
            parts: dict[str, Callable[[], Any]] = {
                "equality": lambda d=decoder, s=stock: equality(d, s),  # type: ignore[misc]
                "memory": lambda d=decoder: memory(d),  # type: ignore[misc]
                "prefill": lambda d=decoder, s=stock: prefill(d, s),  # type: ignore[misc]
                "speed": lambda d=decoder, s=stock, c=compiled: speed(d, s, new, compiled=c),  # type: ignore[misc]
            }
            if first and dtype is torch.float32:
                parts["panel"] = lambda d=decoder: panel(d)  # type: ignore[misc]
            row: dict[str, Any] = {"shape": shape, "dtype": name}
            for part, work in parts.items():
                if time.monotonic() - begin > limit_s:
                    found["left_out"].append(f"{shape} {name} {part}")
                else:
                    row[part] = work()
            found["results"].append(row)
    found["seconds"] = time.monotonic() - begin
    return found


def main() -> int:
    """Run on the first CUDA device and print JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--out", type=Path, help="also write the JSON to this file")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("There is no CUDA device here, so nothing was measured.")
        return 0
    text = json.dumps(run(torch.device("cuda")), indent=2)
    if args.out:
        args.out.write_text(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
