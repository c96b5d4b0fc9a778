"""Experts: found by their tensors, counted as they are read, and run one row at a time where bits are compared.

A layer of experts gathers the rows that chose the same expert and multiplies them together. So the height of that
product depends on the other tokens of the text, and a row may round differently when a *later* token changes. That is
no leak, but it is no exact zero either. One row at a time every row is a product of its own, and the zero is exact.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

_one_row: ContextVar[bool] = ContextVar("one_row", default=False)
_tally: ContextVar[Tally | None] = ContextVar("tally", default=None)


@dataclass
class Tally:
    """Which experts a forward pass read: pairs of a stack's number and an expert's."""

    read: set[tuple[int, int]] = field(default_factory=set)


@dataclass(frozen=True)
class Stack:
    """The experts of one layer: E of them, `active` for each position, `weights` numbers and `bytes` in each."""

    number: int
    count: int
    active: int
    weights: int
    bytes: int
    module: nn.Module


class Experts:
    """All expert layers of a model; false for a model without.

    `gathers`: whether rows are sorted by expert; `isolates`: whether `one_row_at_a_time` then reaches all of them.
    """

    def __init__(self, model: PreTrainedModel, layers: Iterable[nn.Module]) -> None:
        held = [module for layer in layers for module in layer.modules() if _matrices(module)]
        active = _probe(model, held) if held else {}
        self.stacks = [_stack(number, module, active[module]) for number, module in enumerate(held) if module in active]
        for stack in self.stacks:
            stack.module.register_forward_pre_hook(_counting(stack), with_kwargs=True)
        gatherers = _gatherers(model, [stack.module for stack in self.stacks])
        for gatherer in set(gatherers.values()):
            # Bound to the module, so that a copied model runs its own weights.
            gatherer.forward = MethodType(_row_by_row(type(gatherer).forward), gatherer)
        self.gathers = bool(gatherers)
        self.isolates = self.gathers and _alone(model, self.stacks, gatherers)

    def __bool__(self) -> bool:
        return bool(self.stacks)

    @property
    def modules(self) -> set[nn.Module]:
        """The modules that hold experts."""
        return {stack.module for stack in self.stacks}

    def bytes_read(self, tally: Tally) -> int:
        """The bytes of the experts that a pass read."""
        each = {stack.number: stack.bytes for stack in self.stacks}
        return sum(each[number] for number, _ in tally.read)


@contextmanager
def one_row_at_a_time(on: bool = True) -> Iterator[None]:
    """Inside, every layer of experts handles each row by itself; for the forward calls of this thread only."""
    token = _one_row.set(on)
    try:
        yield
    finally:
        _one_row.reset(token)


@contextmanager
def counted(tally: Tally) -> Iterator[Tally]:
    """Inside, the experts that are read are noted; for the forward calls of this thread only."""
    token = _tally.set(tally)
    try:
        yield tally
    finally:
        _tally.reset(token)


def _matrices(module: nn.Module) -> list[nn.Parameter]:
    """The stacks of matrices that a module holds itself, [E, …, …] each."""
    return [p for p in module.parameters(recurse=False) if p.dim() == 3]


def _stack(number: int, module: nn.Module, active: int) -> Stack:
    mine = list(module.parameters(recurse=False))  # biases too
    count = _matrices(module)[0].shape[0]
    return Stack(
        number=number,
        count=count,
        active=min(active, count),
        weights=sum(p.numel() for p in _matrices(module)) // count,
        bytes=sum(p.numel() * p.element_size() for p in mine) // count,
        module=module,
    )


@torch.inference_mode()
def _probe(model: PreTrainedModel, modules: list[nn.Module]) -> dict[nn.Module, int]:
    """How many experts one position goes through, by module; seen on a single token."""
    found: dict[nn.Module, int] = {}

    def watch(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
        chosen = _choice(given)
        found[module] = given[0].reshape(-1, given[0].shape[-1]).shape[0] if chosen is None else chosen.shape[-1]

    handles = [module.register_forward_pre_hook(watch, with_kwargs=True) for module in modules]
    try:
        model(torch.zeros(1, 1, dtype=torch.long, device=model.device), use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    return found


def _choice(given: Iterable[Any]) -> Tensor | None:
    """The routing among a module's tensors: whole numbers [N, k], the experts of each row."""
    whole = (x for x in given if isinstance(x, Tensor) and x.dim() == 2 and not x.is_floating_point())
    return next((x for x in whole if x.dtype is not torch.bool), None)


def _counting(stack: Stack) -> Callable[..., None]:
    def count(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tally = _tally.get()
        if tally is None:
            return
        given = (*args, *kwargs.values())
        chosen = _choice(given)
        sizes = next((x for x in given if isinstance(x, list) and len(x) == stack.count), None)
        if chosen is not None:
            read = chosen.unique().tolist()
        elif sizes is not None:  # how many rows each expert was given
            read = [expert for expert, size in enumerate(sizes) if int(size)]
        else:
            read = list(range(stack.count))
        tally.read.update((stack.number, expert) for expert in read if expert < stack.count)

    return count


def _gatherers(model: nn.Module, modules: list[nn.Module]) -> dict[nn.Module, nn.Module]:
    """The module that sorts rows by expert, for each that holds experts: itself where it is told the choice, or the
    module around it where it is given rows already sorted. Experts that all see every row sort nothing."""
    parents = {child: parent for parent in model.modules() for child in parent.children()}
    found: dict[nn.Module, nn.Module] = {}
    for module in modules:
        names = list(inspect.signature(module.forward).parameters)
        if any("expert_size" in name for name in names):
            found[module] = parents[module]
        elif len(names) > 1:
            found[module] = module
    return found


@torch.inference_mode()
def _alone(model: PreTrainedModel, stacks: list[Stack], gatherers: dict[nn.Module, nn.Module]) -> bool:
    """Whether these experts see one row at a time where that is asked for.

    Some families call parts of the module around them, past its forward: their experts then see all rows of a text.
    """
    inner = [stack for stack in stacks if gatherers.get(stack.module, stack.module) is not stack.module]
    alone: list[bool] = []

    def watch(stack: Stack) -> Callable[..., None]:
        def look(module: nn.Module, args: tuple[Any, ...]) -> None:
            alone.append(args[0].shape[:-1].numel() <= stack.active)

        return look

    handles = [stack.module.register_forward_pre_hook(watch(stack)) for stack in inner]
    try:
        with one_row_at_a_time():
            model(torch.zeros(1, 3, dtype=torch.long, device=model.device), use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    return all(alone)


def _row_by_row(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The same forward, each row by itself where that is asked for. Rows: [N, …] or [B, T, …], the first argument's.

    Rows that are equal bit by bit are run once: in a batch of edits most are.
    """

    @wraps(forward)
    def run(self: nn.Module, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        lead = x.shape[:-1]
        rows = lead.numel()
        if not _one_row.get() or rows == 1:
            return forward(self, x, *args, **kwargs)

        def cut(given: Any, row: int) -> Any:
            if not isinstance(given, Tensor) or given.shape[: len(lead)] != lead:
                return given
            one = given.reshape(rows, *given.shape[len(lead) :])[row : row + 1]
            return one.reshape(*[1] * len(lead), *one.shape[1:])

        cuts = [t for t in (x, *args, *kwargs.values()) if isinstance(t, Tensor) and t.shape[: len(lead)] == lead]
        names = _names(cuts, rows)
        made: dict[bytes, Any] = {}
        for row, name in enumerate(names):
            if name not in made:
                named = {key: cut(a, row) for key, a in kwargs.items()}
                made[name] = forward(self, cut(x, row), *[cut(a, row) for a in args], **named)
        return _joined([made[name] for name in names], lead)

    return run


def _names(tensors: list[Tensor], rows: int) -> list[bytes]:
    """The bytes of each row over all tensors: equal for rows that are the same bit by bit."""
    parts = [t.reshape(rows, -1).contiguous().view(torch.uint8).cpu() for t in tensors]
    return [bytes(row) for row in torch.cat(parts, dim=1).numpy()]


def _joined(made: list[Any], lead: torch.Size) -> Any:
    """One result from those of the rows; of several results each."""
    if isinstance(made[0], tuple):
        return tuple(_joined(list(part), lead) for part in zip(*made, strict=True))
    if not isinstance(made[0], Tensor):
        return made[0]
    return torch.cat([one.reshape(-1, one.shape[-1]) for one in made]).reshape(*lead, made[0].shape[-1])
