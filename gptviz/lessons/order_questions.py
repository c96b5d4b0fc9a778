"""/swap: does a decoder without positions know the order of the words, and how fast a rotary model's arrows turn."""

from __future__ import annotations

import math
from typing import Any

from gptviz.lab.looking import anatomy
from gptviz.lab.looking.order import order
from gptviz.lessons.questions import Question
from gptviz.lessons.shown import shown
from gptviz.service import Service

MOST = 12  # tokens of the text that are read
PLAIN = ["dog", "bites", "man", "today"]  # where the text has no two different first tokens
PAIRS, BASE = 8, 10_000.0  # of a rotation as most models have it, for a model that has none


def questions(service: Service) -> list[Question]:
    """The endpoint."""

    def swap(text: str, model: str = "") -> dict[str, Any]:
        """The first two tokens swapped in random stacks of 1, 2 and 4 layers: how far the last output moves."""
        decoder, ids = service.encode(text, model)
        tokens = shown(decoder, ids[:MOST])
        words = tokens if len(tokens) > 2 and tokens[0] != tokens[1] else PLAIN
        found = order(words)
        waves = service.once(decoder, anatomy.positions_of).wavelengths.tolist()
        return {
            "words": found.words,
            "swapped": found.swapped,
            "depths": [vars(depth) for depth in found.depths],
            "rounding": found.rounding,
            "wavelengths": waves or [2 * math.pi * BASE ** (i / PAIRS) for i in range(PAIRS)],
            "rotary": bool(waves),
        }

    return [Question("swap", swap)]
