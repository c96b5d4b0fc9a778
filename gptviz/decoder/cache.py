"""A KV cache with room ahead: each step writes its rows in place, where the library's copies the whole cache."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

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
    """The library's dynamic cache with room ahead. Every layer keeps all positions."""

    def __init__(self) -> None:
        super().__init__()
        self.layer_class_to_replicate = GrowingLayer


def cache_bytes(cache: Cache | None) -> int:
    """The bytes of the keys and values that the cache holds; the room ahead of them is not counted."""
    layers: list[Any] = [] if cache is None else list(cache.layers)
    held = (t for layer in layers if layer.is_initialized for t in (layer.keys, layer.values))
    return sum(t.numel() * t.element_size() for t in held)
