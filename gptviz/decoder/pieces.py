"""Pieces by which a text is continued, found in the vocabulary itself.

A vocabulary may put a blank before every text (Llama 2, Mistral), drop blanks (WordPiece) or mark the ends of words.
So " the" alone and " the" after a word need not be the same tokens; what continues a text is the second.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from gptviz.decoder.tokens import Tokenizer

ANCHORS = ("a", ".", "0", "x", "\n", "the")  # short texts to continue; a piece may merge with one, hardly with all
COMMON = (" the", " a", " of", " and", " in", " to", " is", ".", ",")  # not words: pieces, likeliest first


def continuing(tokenizer: Tokenizer, text: str, name: str = "text") -> list[int]:
    """The ids by which a text continues another one, byte for byte where the vocabulary can say it."""
    alone = tokenizer.encode(text, begin=False, name=name)
    wanted = text.encode()
    if tokenizer.decode_bytes(alone) == wanted:
        return alone
    fallback: list[int] = []
    for anchor in ANCHORS:
        start = tokenizer.encode(anchor, begin=False)
        whole = tokenizer.encode(anchor + text, begin=False)
        if whole[: len(start)] != start:  # the anchor's last piece took something of the text
            continue
        found = whole[len(start) :]
        if tokenizer.decode_bytes(found) == wanted:
            return found
        fallback = fallback or found
    return fallback or alone


def single(tokenizer: Tokenizer, text: str, name: str = "text", vocabulary: int | None = None) -> int | None:
    """The one piece that continues a text by this one, of the first `vocabulary` ids, or None where there is none."""
    ids = continuing(tokenizer, text, name)
    found = ids[0] if len(ids) == 1 else tokenizer.entries.get(text.encode())
    if found is None or found == tokenizer.pieces.unknown or (vocabulary is not None and found >= vocabulary):
        return None
    return found


def everyday(tokenizer: Tokenizer, vocabulary: int | None = None) -> Iterator[tuple[str, int]]:
    """Pieces to put in a text's place, each with the text it adds: common words, then words, then any piece.

    A vocabulary with one piece gives one; ids from `vocabulary` on, which a model has no vector for, are left out.
    """
    seen: set[int] = set()
    known = ((text, single(tokenizer, text, vocabulary=vocabulary)) for text in COMMON)
    for text, id in itertools.chain(known, _words(tokenizer), _any(tokenizer)):
        if id is not None and id not in seen and (vocabulary is None or id < vocabulary):
            seen.add(id)
            yield text, id


def distinct(tokenizer: Tokenizer, words: list[str], vocabulary: int | None = None) -> list[int]:
    """One piece for each word, no two the same; other words of the vocabulary stand in for what it has no piece for.

    Fewer where the vocabulary has fewer pieces.
    """
    known = (single(tokenizer, f" {word}", vocabulary=vocabulary) for word in words)
    found = list(dict.fromkeys(id for id in known if id is not None))
    others = (id for _, id in everyday(tokenizer, vocabulary) if id not in set(found))
    return found + list(itertools.islice(others, len(words) - len(found)))


def opening(tokenizer: Tokenizer, vocabulary: int) -> int:
    """The id that a text without a beginning starts from: the end of the one before it, if the model has that row."""
    if tokenizer.end_of_text < vocabulary:
        return tokenizer.end_of_text
    return next((id for _, id in everyday(tokenizer, vocabulary)), 0)


def _words(tokenizer: Tokenizer) -> Iterator[tuple[str, int]]:
    """Whole words of three letters or more, those with a blank first."""
    pairs = [(data.decode(errors="replace"), id) for data, id in tokenizer.entries.items()]
    words = [(text, id) for text, id in pairs if len(text) > 2 and text.strip(" ").isalpha()]
    yield from sorted(words, key=lambda pair: " " not in pair[0])  # stable: the order of the ids within each


def _any(tokenizer: Tokenizer) -> Iterator[tuple[str, int]]:
    """Every piece, halves of a character last: their text says nothing that could be typed."""
    pairs = [(data.decode(errors="replace"), id) for data, id in tokenizer.entries.items()]
    yield from sorted(pairs, key=lambda pair: "\ufffd" in pair[0])
