"""A KV cache with room ahead: each step writes its rows in place, where the library's copies the whole cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers import Cache, DynamicCache, PreTrainedConfig
from transformers.cache_utils import DynamicLayer

from gptviz.decoder.masks import Reach

FIRST_ROOM = 64  # positions beyond the first text


class GrowingLayer(DynamicLayer):
    """One layer's keys and values [B, h_kv, T, d_k], as views into buffers that double when they are full."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.room: tuple[Tensor, Tensor] | None = None  # two of [B, h_kv, capacity, d_k]

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write the new rows [B, h_kv, n, d_k] behind those held; returns all keys and values."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        held = self.get_seq_length()
        stop = held + key_states.shape[-2]
        room = self._make_room(held, stop, key_states, value_states)
        room[0][:, :, held:stop] = key_states
        room[1][:, :, held:stop] = value_states
        self.keys, self.values = room[0][:, :, :stop], room[1][:, :, :stop]
        return self.keys, self.values

    def _make_room(self, held: int, stop: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        room = self.room
        # Rows that were cropped or reordered may no longer be the buffer's own.
        mine = room is not None and (held == 0 or _same_start(room[0], self.keys))
        if room is not None and mine and stop <= room[0].shape[-2] and room[0].shape[0] == key.shape[0]:
            return room
        capacity = max(2 * held, stop + FIRST_ROOM)
        made = tuple(t.new_empty(*t.shape[:-2], capacity, t.shape[-1]) for t in (key, value))
        if held and self.keys is not None and self.values is not None:
            made[0][:, :, :held] = self.keys
            made[1][:, :, :held] = self.values
        self.room = (made[0], made[1])
        return self.room

    def reset(self) -> None:
        """Forget everything, the buffers included."""
        self.room = None
        super().reset()


def _same_start(buffer: Tensor, rows: Tensor | None) -> bool:
    return rows is not None and rows.data_ptr() == buffer.data_ptr() and rows.stride() == buffer.stride()


class GrowingCache(DynamicCache):
    """The library's dynamic cache with room ahead; a layer that reads a window keeps no more than the library's does.

    `reaches` says what each layer's mask lets a query read: a window that the configuration states and the mask does
    not use cuts nothing. Without a configuration every layer keeps all positions.
    """

    def __init__(self, config: PreTrainedConfig | None = None, reaches: Sequence[Reach] = ()) -> None:
        super().__init__(config=config)
        whole = {number for number, reach in enumerate(reaches) if reach.kind == "all"}
        self.layers = [
            GrowingLayer() if type(layer) is DynamicLayer or (number in whole and _cuts(layer)) else layer
            for number, layer in enumerate(self.layers)
        ]
        if not self.layers:
            self.layer_class_to_replicate = GrowingLayer


@dataclass(frozen=True)
class KeptRows:
    """What one layer keeps of each position, as its tensors have it: bytes of a K and a V row of all its heads.

    `most` is how many positions it keeps at the most (None: all of them), between two steps.
    """

    layer: int
    key_bytes: int
    value_bytes: int
    most: int | None

    @property
    def bytes(self) -> int:
        """Of one position."""
        return self.key_bytes + self.value_bytes

    def held(self, positions: int) -> int:
        """How many of so many positions it still keeps."""
        return positions if self.most is None else min(positions, self.most)


def kept_rows(cache: Cache) -> list[KeptRows]:
    """What each layer of a cache in use keeps; layers that read another's rows keep none, and are left out."""
    layers: list[Any] = list(cache.layers)
    return [
        KeptRows(
            number,
            _row_bytes(layer.keys),
            _row_bytes(layer.values),
            layer.sliding_window - 1 if _cuts(layer) else None,
        )
        for number, layer in enumerate(layers)
        if _keeps(layer)
    ]


def _cuts(layer: Any) -> bool:
    """Whether a layer of the library's cache drops what lies behind a window."""
    return bool(getattr(layer, "is_sliding", False))


def _keeps(layer: Any) -> bool:
    """Whether a layer holds rows of its own: one that reads another's holds none."""
    return bool(getattr(layer, "is_initialized", False)) and getattr(layer, "keys", None) is not None


def _row_bytes(held: Tensor) -> int:
    """The bytes of one position in [B, h_kv, T, d], all heads."""
    return held.shape[1] * held.shape[-1] * held.element_size()


def cache_bytes(cache: Cache | None) -> int:
    """The bytes of the keys and values that the cache holds; the room ahead of them is not counted."""
    layers: list[Any] = [] if cache is None else list(cache.layers)
    held = (t for layer in layers if _keeps(layer) for t in (layer.keys, layer.values))
    return sum(t.numel() * t.element_size() for t in held)
