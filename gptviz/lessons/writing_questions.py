"""/next_token and /generate: what the next-token page shows, for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from gptviz.decoder.decoder import Decoder
from gptviz.lab.writing import sampling
from gptviz.lab.writing.sampling import Settings
from gptviz.lab.writing.writer import BeamSearch, Writing, loops
from gptviz.lessons.questions import Question, integer
from gptviz.service import Service
from gptviz.service.wire import as_json

MOST_AT_ONCE = 64  # texts; each needs a thread that waits for the model
MOST_WRITTEN = 200  # tokens in one go on the page; the endpoint writes as many as the context holds


def public(service: Service) -> list[Question]:
    """The two endpoints."""

    def next_token(
        text: str,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        count: int = 20,
        model: str = "",
    ) -> dict[str, Any]:
        """The likeliest next tokens at three stages; softmax over the whole vocabulary; entropies in nats."""
        decoder, ids = service.encode(text, model)
        settings = Settings(temperature, top_k, top_p)
        count = integer("count", count)
        logits = service.run(decoder, ids).logits[-1]  # [V]
        return distribution(decoder, sampling.stages(logits, settings), count)

    def generate(
        text: str,
        strategy: Literal["greedy", "sample", "beam"] = "greedy",
        max_new_tokens: int = 20,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        beams: int = 4,
        seed: int = 0,
        use_cache: bool = True,
        model: str = "",
    ) -> Iterator[dict[str, Any]]:
        """The text as it is written, token by token; the last value says why it stopped."""
        decoder, ids = service.encode(text, model)
        settings = Settings(temperature, top_k, top_p)
        n, seed = integer("max_new_tokens", max_new_tokens), sampling.check_seed(seed)
        if strategy == "beam":
            search = BeamSearch(decoder, ids, beams=integer("beams", beams), max_new_tokens=n)
            yield from _grow(service, decoder, ids, search)
            return
        choose = sampling.greedy if strategy == "greedy" else sampling.sampler(settings, seed)
        yield from _write(service, Writing(decoder, ids, choose, max_new_tokens=n, use_cache=bool(use_cache)))

    return [Question("next_token", next_token), Question("generate", generate, limit=MOST_AT_ONCE)]


def distribution(decoder: Decoder, result: sampling.Stages, count: int) -> dict[str, Any]:
    """What /next_token answers."""
    found, tail = sampling.bars(result, count)
    tokens = decoder.tokenizer
    bars = [
        {
            **as_json(tokens.token(bar.id)),
            "p_raw": bar.p_raw,
            "p_temperature": bar.p_temperature,
            "p_final": bar.p_final,
            "kept": bar.kept,
        }
        for bar in found
    ]
    return {
        "bars": bars,
        "kept_count": int(result.kept.sum()),
        "tail": tail,
        "entropy": sampling.entropy(result.final),
        "entropy_raw": sampling.entropy(result.raw),
        "entropy_temperature": sampling.entropy(result.tempered),
        "vocabulary": len(result.order),
    }


def _write(service: Service, writing: Writing) -> Iterator[dict[str, Any]]:
    for _ in service.stream(iter(writing)):
        if not writing.stop:
            yield _text(writing.decoder, writing.prompt, writing.ids, "")
    yield _text(writing.decoder, writing.prompt, writing.ids, writing.stop)


def _grow(service: Service, decoder: Decoder, prompt: list[int], search: BeamSearch) -> Iterator[dict[str, Any]]:
    for _ in service.stream(iter(search)):
        kept = [node for node in search.nodes if node.fate == "kept"]
        yield {"text": "", "tokens": [], "stop": "", "depth": search.nodes[-1].depth, "kept": len(kept)}
    beams = [
        {**_text(decoder, prompt, beam.ids, beam.stop), "score": beam.score, "log_probability": beam.total}
        for beam in search.finished
    ]
    best = search.finished[0].ids if search.finished else []
    yield {**_text(decoder, prompt, best, search.stop), "beams": beams}


def _text(decoder: Decoder, prompt: list[int], ids: list[int], stop: str) -> dict[str, Any]:
    """New tokens and the text they add to the prompt's; an end-of-text token is among the tokens, not in the text."""
    said = ids[:-1] if stop == "end_of_text" else ids
    found = [[loop.start, loop.stop, loop.period, loop.times] for loop in loops(ids)]
    tokens = as_json(decoder.tokenizer.tokens(ids))
    return {"text": decoder.tokenizer.decode_after(prompt, said), "tokens": tokens, "stop": stop, "loops": found}
