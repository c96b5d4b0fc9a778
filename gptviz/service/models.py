"""The loaded models: each kept by its own identity, each shown under a name that no other has."""

from __future__ import annotations

import threading
from typing import Any

import torch

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError


class Models:
    """Decoders in the order they are offered, the first one the default."""

    def __init__(self, most: int = 16) -> None:
        self.most = most
        self._decoders: dict[int, Decoder] = {}  # by identity; replaced as a whole, so that readers need no lock
        self._lock = threading.Lock()

    def add(self, decoder: Decoder, *, first: bool = True) -> list[Decoder]:
        """Offer a decoder; where another already has its name, it is shown as "name (2)". Those that had to go."""
        with self._lock:
            others = {key: other for key, other in self._decoders.items() if other is not decoder}
            decoder.name = _free(decoder.name, {other.name for other in others.values()})
            mine = {decoder.identity: decoder}
            offered = {**mine, **others} if first else {**others, **mine}
            kept = list(offered)[: self.most]
            self._decoders = {identity: offered[identity] for identity in kept}
            return [gone for identity, gone in offered.items() if identity not in kept]

    def find(self, name: str = "") -> Decoder:
        """The decoder shown under that name, or the default. UserError when there is none."""
        loaded = self.all()
        found = next((decoder for decoder in loaded if name in ("", decoder.name)), None)
        if found is None:
            raise UserError("no_such_model", value=name, loaded=[decoder.name for decoder in loaded])
        return found

    def all(self) -> list[Decoder]:
        """Every loaded decoder, the default first."""
        return list(self._decoders.values())


def _free(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(other for n in range(2, len(taken) + 3) if (other := f"{name} ({n})") not in taken)


def describe(decoder: Decoder) -> dict[str, Any]:
    """One row of /models."""
    shape = decoder.shape
    return {
        "name": decoder.name,
        "ready": True,
        "parameters": shape.parameters,
        "layers": shape.layers,
        "heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "width": shape.width,
        "context": shape.context,
        "vocabulary": shape.vocabulary,
        "device": device_name(decoder.device),
        "dtype": str(decoder.dtype).removeprefix("torch."),
        "source": decoder.source,
        "tied": shape.tied,
    }


def device_name(device: torch.device) -> str:
    """The device as people call it, with the card's own name on CUDA."""
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type
