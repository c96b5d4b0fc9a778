"""All heads of a GPT-2-124M shape against one plain forward pass: time, memory, payload. `python -m bench.panel`"""

from __future__ import annotations

import json
import platform
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from bench.measure import machine
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.looking import heads
from gptviz.lessons.attention import grid
from gptviz.service.wire import as_packed


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def peak_bytes() -> int:
    """The largest memory this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if platform.system() == "Darwin" else peak * 1024


def compare(decoder: Decoder, T: int, runs: int) -> dict[str, float | int]:
    """Medians of alternating runs: a plain forward pass, then the same with every head shown."""
    ids = [(37 * i + 11) % decoder.shape.vocabulary for i in range(T)]
    induction = torch.zeros(decoder.shape.layers, decoder.shape.heads)
    plain, shown = [], []
    for _ in range(runs):
        plain.append(seconds(lambda: decoder.run(ids)))
        before = peak_bytes()
        shown.append(seconds(lambda: heads.panel(decoder, ids, induction)))
        grown = peak_bytes() - before
    panel = heads.panel(decoder, ids, induction)
    begin = time.perf_counter()
    payload = json.dumps(as_packed(grid(decoder, ids, panel)))
    return {
        "tokens": T,
        "forward_s": round(statistics.median(plain), 4),
        "panel_s": round(statistics.median(shown), 4),
        "ratio": round(statistics.median(s / p for s, p in zip(shown, plain, strict=True)), 3),
        "payload_s": round(time.perf_counter() - begin, 4),
        "payload_bytes": len(payload),
        "peak_growth_bytes_last_run": grown,
    }


def run(*, quick: bool = False) -> dict[str, Any]:
    """The figures at T = 64 and, unless `quick`, at 1,024."""
    torch.manual_seed(0)
    decoder = Decoder.from_model(GPT2LMHeadModel(GPT2Config()), Tokenizer.gpt2(), name="gpt2-shape")
    start = peak_bytes()
    rows = [compare(decoder, 64, 5)]
    if quick:
        return {"machine": machine(), "rows": rows}
    decoder.run(list(range(1024)))  # so that the growth below is the panel's, not the forward pass's
    plain_peak = peak_bytes()
    rows.append(compare(decoder, 1024, 3))
    extra = peak_bytes() - plain_peak
    return {"machine": machine(), "rows": rows, "start_bytes": start, "extra_bytes_1024": extra}


def main() -> None:
    """Print one JSON object."""
    torch.set_num_threads(2)
    print(json.dumps(run(), indent=1))


if __name__ == "__main__":
    main()
