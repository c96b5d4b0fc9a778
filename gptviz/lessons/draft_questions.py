"""/speculative: guesses read at once, and how many passes they save; for the KV-cache page and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.writing.speculative import Drafter, Pass, Speculation, agree, by_model, repeats
from gptviz.lessons.questions import Question
from gptviz.service import Service
from gptviz.service.wire import as_json

NEW = 40  # tokens written unless asked otherwise
AT_ONCE = 2


def questions(service: Service) -> list[Question]:
    """The endpoint, which the page asks, too."""

    def speculative(
        text: str,
        new_tokens: int = NEW,
        draft: Literal["repeats", "model"] = "repeats",
        length: int = 4,
        model: str = "",
    ) -> Iterator[dict[str, Any]]:
        """Greedy writing with guesses that are read several at a time; streams each pass and what was accepted."""
        decoder, ids = service.encode(text, model)
        small = smaller(service, decoder)
        drafter: Drafter = repeats
        if draft == "model":
            if small is None:
                raise UserError("no_drafter", name=decoder.name)
            drafter = by_model(small)
        state = Speculation(decoder, ids, new_tokens, drafter, length)
        names = {"drafter": small.name if small and draft == "model" else "", "smaller": small.name if small else ""}
        sent = 0
        for _ in service.stream(iter(state)):
            fresh = [shown(decoder, each) for each in state.passes[sent:]]
            sent = len(state.passes)
            yield {**told(state), **names, "fresh": fresh}
        yield {**told(state), **names, "fresh": [], **whole(state, decoder)}

    return [Question("speculative", speculative, limit=AT_ONCE)]


def smaller(service: Service, decoder: Decoder) -> Decoder | None:
    """Another loaded model with fewer parameters and the same tokens."""
    size = decoder.shape.parameters
    others = [service.decoder(name) for name in service.names]
    fit = [d for d in others if d is not decoder and d.shape.parameters < size and agree(decoder, d)]
    return min(fit, key=lambda d: d.shape.parameters, default=None)


def shown(decoder: Decoder, each: Pass) -> dict[str, Any]:
    """One pass for the page: the guesses, how many fit, and the model's own token."""
    tokens = [token.shown for token in decoder.tokenizer.tokens([*each.draft, each.own])]
    return {"draft": tokens[:-1], "accepted": each.accepted, "own": tokens[-1]}


def told(state: Speculation) -> dict[str, Any]:
    """The counts so far."""
    return {
        "prompt_tokens": len(state.prompt),
        "new_tokens": len(state.ids),
        "asked": state.new_tokens,
        "passes": len(state.passes),
        "drafted": state.drafted,
        "accepted": state.accepted,
    }


def whole(state: Speculation, decoder: Decoder) -> dict[str, Any]:
    """What is known at the end: the text, and whether it is the greedy one."""
    differ = state.differ
    return {
        "tokens": as_json(decoder.tokenizer.tokens(state.ids)),
        "text": decoder.tokenizer.decode_after(list(state.prompt), state.ids),
        "steps": [shown(decoder, each) for each in state.passes],
        "same_text": differ is None,
        "explained": differ is None or differ.explained,
        "differs_at": -1 if differ is None else differ.index,
        "gap": 0.0 if differ is None else differ.gap,
        "max_logit_delta": state.delta,
        "stop": state.stop,
    }
