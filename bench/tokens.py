"""A megabyte of text through GPT-2's vocabulary: seconds a text. `python -m bench tokens`"""

from __future__ import annotations

import time
from typing import Any

from bench.measure import machine
from gptviz.decoder.tokens import Tokenizer

TEXTS = {
    "one letter": "a" * 10**6,
    "blanks, then a word": " " * 10**6 + "x",
    "words": "hello it's " * 90_000,
    "joined emoji": "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}" * 90_000,
}


def run(*, quick: bool = False) -> dict[str, Any]:
    """Seconds to encode each text; with `quick`, a hundredth of it."""
    tokenizer = Tokenizer.gpt2()
    seconds = {}
    for name, text in TEXTS.items():
        some = text[-len(text) // 100 :] if quick else text
        begin = time.perf_counter()
        tokenizer.encode(some)
        seconds[name] = round(time.perf_counter() - begin, 4)
    return {"machine": machine(), "seconds": seconds}
