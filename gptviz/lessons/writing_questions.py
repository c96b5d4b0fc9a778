"""/next_token, /generate and /alternatives: what the next-token page shows, for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.teaching import teacher_forcing
from gptviz.lab.writing import sampling
from gptviz.lab.writing.sampling import Settings
from gptviz.lab.writing.writer import BeamSearch, Writing, loops
from gptviz.lessons.questions import Question, integer
from gptviz.service import Keep, Service
from gptviz.service.wire import as_json

ALWAYS = ("repetition_penalty",)  # the rules that greedy writing and beam search have, too
NONE: list[int] = []  # the default of `more`; never changed
MOST_ALTERNATIVES = 20
MOST_AT_ONCE = 64  # texts; each needs a thread that waits for the model
MOST_WRITTEN = 200  # tokens in one go on the page; the endpoint writes as many as the context holds


def public(service: Service) -> list[Question]:
    """The three endpoints."""

    def next_token(
        text: str,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        count: int = 20,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        model: str = "",
    ) -> dict[str, Any]:
        """The likeliest next tokens at three stages; softmax over the whole vocabulary; entropies in nats."""
        decoder, ids = service.encode(text, model)
        settings = Settings(temperature, top_k, top_p, min_p=min_p, repetition_penalty=repetition_penalty)
        count = integer("count", count)
        logits = service.run(decoder, ids, exact=False).logits[-1]  # [V]
        return distribution(decoder, sampling.stages(logits, settings, ids), count)

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
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        ignore_end: bool = False,
        model: str = "",
    ) -> Iterator[dict[str, Any]]:
        """The text as it is written, token by token; the last value says why it stopped."""
        decoder, ids = service.encode(text, model)
        settings = Settings(temperature, top_k, top_p, min_p=min_p, repetition_penalty=repetition_penalty)
        n, seed = integer("max_new_tokens", max_new_tokens), sampling.check_seed(seed)
        if strategy == "beam":
            states = _grow(service, decoder, ids, BeamSearch(
                decoder, ids, beams=integer("beams", beams), max_new_tokens=n, repetition_penalty=repetition_penalty,
                ignore_end=ignore_end,
            ))  # fmt: skip
        else:
            draws = strategy == "sample"
            choose = sampling.sampler(settings, seed, past=ids) if draws else sampling.greedily(settings, ids)
            how: Any = {"use_cache": use_cache, "ignore_end": ignore_end, "stream": service.writer(decoder)}
            states = _write(Writing(decoder, ids, choose, max_new_tokens=n, **how))
        rules = [rule for rule in settings.rules if strategy == "sample" or rule in ALWAYS]
        for state in states:
            yield {**state, "rules": rules}

    def alternatives(text: str, more: list[int] = NONE, count: int = 5, model: str = "") -> dict[str, Any]:
        """What the model expected at every place of the text, and of `more` token ids after it, before it read on."""
        decoder, ids = service.encode(text, model)
        ids = decoder.check_ids([*ids, *more])
        if not 1 <= count <= MOST_ALTERNATIVES:
            raise UserError("whole_between", name="count", value=count, low=1, high=MOST_ALTERNATIVES)
        if len(ids) < 2:
            return {"tokens": as_json(decoder.tokenizer.tokens(ids)), "places": []}
        run = service.run(decoder, ids, keep=Keep(all_logits=True))
        places = teacher_forcing.score(run, count).predictions
        return {"tokens": as_json(decoder.tokenizer.tokens(ids)), "places": [_place(decoder, each) for each in places]}

    return [
        Question("next_token", next_token),
        Question("generate", generate, limit=MOST_AT_ONCE),
        Question("alternatives", alternatives),
    ]


def _place(decoder: Decoder, found: teacher_forcing.Prediction) -> dict[str, Any]:
    """One place: the token that came there with its probability and rank, and the likeliest ones."""
    shown = decoder.tokenizer.tokens([guess.id for guess in found.guesses])
    top = [{"id": g.id, "shown": token.shown, "p": g.p} for g, token in zip(found.guesses, shown, strict=True)]
    return {"position": found.position + 1, "id": found.target, "p": found.p, "rank": found.rank, "top": top}


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
        "rules": result.settings.rules,
        "kept_count": int(result.kept.sum()),
        "tail": tail,
        "entropy": sampling.entropy(result.final),
        "entropy_raw": sampling.entropy(result.raw),
        "entropy_temperature": sampling.entropy(result.tempered),
        "vocabulary": len(result.order),
    }


def _write(writing: Writing) -> Iterator[dict[str, Any]]:
    for _ in writing:
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
