"""Inside, looked into further: places copied from another text, neurons, and the route of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Literal

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.pieces import single
from gptviz.lab.looking import neurons as fired
from gptviz.lab.looking import patching as copied
from gptviz.lab.looking import routes as followed
from gptviz.lessons.next_token import last_logits
from gptviz.lessons.questions import Question
from gptviz.service import Service

WORD = 4  # letters: a token of the text as long as this is often a name, or what the text would repeat
MOST = 1_024  # tokens read for one layer's neurons
LONG_WORK = 2  # maps at once; each gives way to other requests after every layer


def questions(service: Service) -> list[Question]:
    """/patching, and what the page asks for it."""

    def patching(
        text: str,
        source: str = "",
        target: str = "",
        against: str = "",
        part: Literal["stream", "attention", "feed_forward"] = "stream",
        model: str = "",
    ) -> Iterator[dict[str, Any]]:
        """How much of another text's answer comes back when one place is copied from its run: layers x tokens.

        source "" is the text with two of its words exchanged; target "" is the token that the source makes likelier,
        against "" the one that the text does. Streams a layer at a time, from the last one down.
        """
        decoder, ids = service.encode(text, model)
        other = service.encode(source, model)[1] if source else exchanged(service, decoder, ids)
        if not other:
            raise UserError("patching_source")
        copied.check(ids, other, part)
        wanted = piece(decoder, target, "target") if target else None
        rival = piece(decoder, against, "against") if against else None
        token = decoder.tokenizer.token
        named = {"tokens": decoder.tokenizer.tokens(ids), "source_tokens": decoder.tokenizer.tokens(other)}
        for state in service.stream(copied.patching(decoder, ids, other, wanted, rival, part)):
            yield {**named, **asdict(state), "target": token(state.target), "against": token(state.against)}

    def exchange(text: str, model: str = "") -> dict[str, Any]:
        """The text with two of its words exchanged, or nothing where it has no two words of one token."""
        decoder, ids = service.encode(text, model)
        other = exchanged(service, decoder, ids)
        return {"source": decoder.tokenizer.decode(other) if other else ""}

    def neurons(text: str, layer: int = 0, position: int = -1, count: int = 10, model: str = "") -> dict[str, Any]:
        """The neurons of one feed-forward layer that write most, and the tokens that each pushes up and down."""
        decoder, ids = service.encode(text, model, most=MOST)
        found = service.once(decoder, fired.neurons, ids, layer, position, count)
        return {**vars(found), "neurons": [_neuron(decoder, each) for each in found.neurons]}

    def routes(text: str, position: int = -1, least: float = followed.LEAST, model: str = "") -> dict[str, Any]:
        """Which places one token's stream was made from: edges whose share is at least `least`, from the top down."""
        decoder, ids = service.encode(text, model, most=followed.MOST)
        found = service.once(decoder, followed.routes, ids, position, least)
        edges = [[e.layer, e.head, e.query, e.key, e.share] for e in found.edges]
        places = [[p.layer, p.place, p.stayed, p.feed_forward] for p in found.places]
        return {"position": found.position, "least": found.least, "edges": edges, "places": places}

    return [
        Question("patching", patching, limit=LONG_WORK),
        Question("neurons", neurons),
        Question("routes", routes),
        Question("exchange", exchange, public=False),
    ]


def _neuron(decoder: Decoder, found: fired.Neuron) -> dict[str, Any]:
    tokens = decoder.tokenizer.tokens
    return {**vars(found), "pushes_up": tokens(found.pushes_up), "pushes_down": tokens(found.pushes_down)}


def exchanged(service: Service, decoder: Decoder, ids: list[int]) -> list[int]:
    """The text with two of its words exchanged wherever they stand: the likeliest to come next of all in it.

    Empty where the text has no two words, or where what comes out is no text of as many tokens.
    """
    tokens = decoder.tokenizer
    likely = last_logits(service, decoder, ids).argsort(descending=True, stable=True).tolist()
    there = {id for id in ids[1:] if len(tokens.token(id).shown.strip("·")) >= WORD}  # the first one has no blank
    pair = [id for id in likely if id in there][:2]
    if len(pair) < 2:
        return []
    swap = {pair[0]: pair[1], pair[1]: pair[0]}
    other = [swap.get(id, id) for id in ids]
    return other if tokens.encode(tokens.decode(other)) == other else []


def piece(decoder: Decoder, text: str, name: str) -> int:
    """The one token that continues a text by this one. UserError where the vocabulary has none."""
    found = single(decoder.tokenizer, text, name, decoder.shape.vocabulary)
    if found is None:
        raise UserError("no_single_token", name=name, value=text, model=decoder.name)
    return found
