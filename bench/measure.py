"""Timing that a busy machine does not fool: contestants take turns in one process, and the median counts."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers

ROUNDS = 5


def take_turns(contestants: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Seconds of every round: each round runs all of them, one after the other, after one run to warm up."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def medians(seconds: dict[str, list[float]]) -> dict[str, float]:
    """The median of each list."""
    return {name: statistics.median(values) for name, values in seconds.items()}


def spread(values: list[float]) -> list[float]:
    """Smallest, median, largest."""
    return [min(values), statistics.median(values), max(values)]


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "load": list(os.getloadavg()),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def read_bandwidth(megabytes: int = 600) -> Callable[[], float]:
    """A run that reads that much memory once, and says how many bytes a second it got."""
    block = torch.ones(megabytes * 2**20 // 4)

    def read() -> float:
        begin = time.perf_counter()
        block.sum()
        return block.nbytes / (time.perf_counter() - begin)

    return read
