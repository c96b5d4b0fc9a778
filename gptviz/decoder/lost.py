"""What a tokenizer made of a text where it did not keep it: each stretch named for what became of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from gptviz.decoder.tokens import Tokenizer

LONGEST = 200  # characters of one token compared letter by letter: the time grows with the square


@dataclass(frozen=True)
class Loss:
    """One stretch of a text [start, stop), in characters, and what the model reads there instead.

    `kind` is "unknown" (no piece for it: the unknown mark stands there), "normalised" (written another way), "lost"
    (nothing stands there) or "added" (a mark or a blank that nobody typed; start = stop).
    """

    kind: str
    start: int
    stop: int
    became: str


@dataclass(frozen=True)
class _Part:
    start: int
    stop: int
    became: str
    unknown: bool = False


def losses(tokenizer: Tokenizer, text: str) -> list[Loss]:
    """Every stretch of the text that its tokens do not hold byte for byte, and every mark put before it, in order."""
    added = [Loss("added", 0, 0, tokenizer.token(id).shown) for id in tokenizer.pieces.begin]
    if tokenizer.decode_bytes(tokenizer.encode(text, begin=False)) == text.encode():
        return added
    found: list[Loss] = []
    for part in _parts(tokenizer, text):
        found += [Loss("unknown", part.start, part.stop, part.became)] if part.unknown else _differences(text, part)
    return added + _joined(found)


def lost_bytes(text: str, found: Sequence[Loss]) -> int:
    """How many bytes of the text the model does not see at all."""
    return sum(len(text[loss.start : loss.stop].encode()) for loss in found if loss.kind in ("lost", "unknown"))


def _parts(tokenizer: Tokenizer, text: str) -> Iterator[_Part]:
    """The text in stretches that tokens stand for, without gaps; tokens of one character are one stretch."""
    clusters: list[tuple[int, int, list[int]]] = []
    for id, start, stop in tokenizer.pieces.spans(text):
        if clusters and start < clusters[-1][1]:
            first, last, ids = clusters[-1]
            clusters[-1] = (min(first, start), max(last, stop), [*ids, id])
        else:
            clusters.append((start, stop, [id]))
    done = 0
    for start, stop, ids in clusters:
        while stop < len(text) and _sits_on_the_last(text[stop]):
            stop += 1
        if tokenizer.pieces.unknown in ids:
            if text[done:start].strip():
                yield _Part(done, start, "")
            shown = "".join(token.shown for token in tokenizer.tokens(ids))
            yield _Part(start, stop, shown, True)
        else:
            became = tokenizer.decode_bytes(ids).decode(errors="replace")
            if became.endswith(" ") and text[start : stop + 1] == text[start:stop].rstrip(" ") + " ":
                stop += 1  # where pieces mark the end of a word, the blank after it is theirs
            yield _Part(done, stop, became)
        done = max(done, stop)
    if done < len(text):
        yield _Part(done, len(text), "")


def _sits_on_the_last(char: str) -> bool:
    """True for an accent, and for a letter of a Hangul syllable after its first."""
    return unicodedata.combining(char) != 0 or "\u1160" <= char <= "\u11ff"


def _differences(text: str, part: _Part) -> Iterator[Loss]:
    was, became = text[part.start : part.stop], part.became
    if was == became:
        return
    steps = [(0, len(was), 0, len(became))]
    if max(len(was), len(became)) <= LONGEST:
        found = SequenceMatcher(None, was, became, autojunk=False).get_opcodes()
        steps = [(a, b, c, d) for what, a, b, c, d in found if what != "equal"]
    if any(a == b and became[c:d].strip() for a, b, c, d in steps):  # letters from nowhere: it is one rewriting
        steps = [(steps[0][0], steps[-1][1], steps[0][2], steps[-1][3])]
    for a, b, c, d in steps:
        if a < b and c + 1 < d and became[c] == " " != was[a]:
            yield Loss("added", part.start + a, part.start + a, " ")
            c += 1
        kind = "added" if a == b else "normalised" if c < d else "lost"
        yield Loss(kind, part.start + a, part.start + b, became[c:d])


def _joined(found: list[Loss]) -> list[Loss]:
    """Neighbours as one stretch: the same fate, or an accent left over by a character that was unknown."""
    kept: list[Loss] = []
    for loss in found:
        last = kept[-1] if kept else None
        touches = last is not None and last.stop == loss.start and loss.stop > loss.start
        if last is not None and touches and (last.kind == loss.kind or (last.kind, loss.kind) == ("unknown", "lost")):
            kept[-1] = replace(last, stop=loss.stop, became=last.became + loss.became)
        else:
            kept.append(loss)
    return kept
