"""The same prompt continued in several ways at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.lab.writing import sampling
from gptviz.lab.writing.sampling import Settings
from gptviz.lab.writing.writer import BeamSearch, Loop, Node, Stream, Writing, loops


@dataclass
class Text:
    """One continuation as far as it is: new ids, what the model gave each (p, settings not applied), and its end."""

    ids: list[int] = field(default_factory=list)
    p: list[float] = field(default_factory=list)
    stop: str = ""
    loops: list[Loop] = field(default_factory=list)


@dataclass
class Contest:
    """All continuations of one prompt, in the order they were asked for, and the tree of the beam search."""

    texts: list[Text]
    tree: list[Node] = field(default_factory=list)
    best: list[int] = field(default_factory=list)  # the nodes of the winning beam, from the prompt on


def write(
    decoder: Decoder,
    prompt: Sequence[int],
    settings: Settings | None,
    *,
    seed: int,
    start: int,
    max_new_tokens: int,
    ignore_end: bool = False,
    stream: Stream | None = None,
) -> Iterator[Text]:
    """One continuation, token by token; settings None is greedy. `start` is how many draws came before."""
    choose: Callable[[Tensor], int] = sampling.greedy
    if settings:
        choose = sampling.sampler(settings, seed, start=start, past=prompt)
    given: list[float] = []  # p of each token, noted as it is chosen: logits kept for later would fill the memory

    def chosen(logits: Tensor) -> int:
        id = choose(logits)
        given.append(float(logits.double().softmax(-1)[id]))
        return id

    writing = Writing(decoder, prompt, chosen, max_new_tokens=max_new_tokens, ignore_end=ignore_end, stream=stream)
    text = Text()
    for step in writing:
        text.ids.append(step.id)
        text.p.append(given[len(text.p)])
        text.loops = loops(text.ids)
        yield text
    text.stop = writing.stop
    yield text


def greedy_text(decoder: Decoder, prompt: Sequence[int], max_new_tokens: int) -> Text:
    """A greedy continuation, written to its end."""
    return list(write(decoder, prompt, None, seed=0, start=0, max_new_tokens=max_new_tokens))[-1]


def contest(
    decoder: Decoder,
    prompt: Sequence[int],
    settings: Sequence[Settings | None],
    *,
    beams: int,
    seed: int,
    max_new_tokens: int,
    ignore_end: bool = False,
    stream: Stream | None = None,
    each: Callable[[Iterator[list[Node]]], Iterator[list[Node]]] = iter,
) -> Iterator[Contest]:
    """All continuations in turn, one token each, and one step of a beam search, until every one has stopped.

    `stream` and `each` say where the steps of the texts and of the search are made.
    """
    most: dict[str, Any] = {"max_new_tokens": max_new_tokens, "ignore_end": ignore_end}
    search = BeamSearch(decoder, prompt, beams=beams, **most)
    writers = [write(decoder, prompt, one, seed=seed, start=0, stream=stream, **most) for one in settings]
    state = Contest([Text() for _ in (*settings, search)])
    growing = each(iter(search))
    open_turns = [True] * len(state.texts)
    while any(open_turns):
        for i, writer in enumerate(writers):
            if open_turns[i]:
                state.texts[i] = next(writer)
                open_turns[i] = not state.texts[i].stop
        if open_turns[-1]:
            open_turns[-1] = next(growing, None) is not None
            state.tree = search.nodes
            state.best, state.texts[-1] = _leading(search, ended=not open_turns[-1])
        yield state


def _leading(search: BeamSearch, *, ended: bool) -> tuple[list[int], Text]:
    """The path of the best text when the search has ended, of the best open row while it runs."""
    kept = [node for node in search.nodes if node.fate == "kept"]
    deepest = [node for node in kept if node.depth == kept[-1].depth] if kept else []
    if ended and search.finished:
        at = search.finished[0].node
    elif deepest:
        at = max(deepest, key=lambda node: node.score).index
    else:
        return [], Text(stop=search.stop if ended else "")
    path: list[int] = []
    while at >= 0:
        path.insert(0, at)
        at = search.nodes[at].parent
    nodes = [search.nodes[index] for index in path]
    ids = [node.id for node in nodes]
    p = [math.exp(node.logp) for node in nodes]
    return path, Text(ids, p, search.stop if ended else "", loops(ids))
