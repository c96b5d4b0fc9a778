"""bench/RESULTS.md from the figures of one run of everything: what was measured, on what, at which commit."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.measure import machine

Lines = Iterator[str]


def write(path: Path, figures: dict[str, Any], *, quick: bool) -> None:
    """Put the report in its place whole, or not at all."""
    draft = path.with_name(f".{path.name}.part")
    draft.write_text("\n".join(report(figures, quick=quick)) + "\n", encoding="utf-8")
    draft.replace(path)


def report(figures: dict[str, Any], *, quick: bool) -> Lines:
    """The lines of the report."""
    on = machine()
    yield "# Measured"
    yield ""
    yield "What `make bench` measured, part after part. Contestants take turns in one process or browser."
    yield f"What was measured before, and on other machines, stands in [EARLIER.md](EARLIER.md).{QUICK * quick}"
    yield ""
    yield f"- {on['cpu']}, {on['cores']} cores, {on['threads']} threads of torch, no GPU used"
    yield f"- Python {on['python']}, torch {on['torch']}, transformers {on['transformers']}"
    yield f"- {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {_commit()}"
    loads = [part["load_before"] for part in figures.values() if "load_before" in part]
    took = sum(part["took_s"] for part in figures.values())
    yield f"- load before each part: {min(loads):.1f} to {max(loads):.1f}; {took:.0f} s in all"
    for name, part in figures.items():
        yield from [
            "",
            f"## {TITLES.get(name, name)}",
            "",
            f"`python -m bench {name}`, load {part['load_before']:.1f}:",
            "",
        ]
        if "failed" in part:
            yield f"Not measured: {part['failed']}"
        else:
            yield from TABLES.get(name, _plain)(part)


QUICK = " A quick run: short, and no figures to quote."


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
    return done.stdout.strip() or "unknown"


def _table(head: list[str], rows: list[list[Any]]) -> Lines:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def _painted(part: dict[str, Any]) -> Lines:
    rows = []
    for row in part["rows"]:
        mine = row["gptviz"]["total_s"]
        cells = [f"{row[who]['total_s']:.2f} s, {row[who]['kb']:,.0f} kB" for who in ("gptviz", "bertviz", "plotly")]
        rows.append(
            [
                row["tokens"],
                *cells,
                f"{row['bertviz']['total_s'] / mine:.1f}×",
                f"{row['plotly']['total_s'] / mine:.1f}×",
            ]
        )
    head = ["tokens", "gptviz", "BertViz model_view", "Plotly subplots", "BertViz / gptviz", "Plotly / gptviz"]
    yield from _table(head, rows)
    yield ""
    yield f"{part['heads']} heads; forward pass to painting; kB reach the browser, Plotly's own script included."


def _decode(part: dict[str, Any]) -> Lines:
    rows = [
        [row["shape"], *(f"{speed:.1f}" for speed in row["tokens_per_second"].values()),
         f"{row['speedup']:.2f}×", "yes" if row["same_tokens"] else "no"]
        for row in part["decode"]
    ]  # fmt: skip
    names = list(part["decode"][0]["tokens_per_second"])
    yield from _table(["shape", *(f"{name}, tokens/s" for name in names), "float32 speed-up", "same tokens"], rows)


def _ctranslate(part: dict[str, Any]) -> Lines:
    speed = part["tokens_per_second"]
    yield from _table([f"{name}, tokens/s" for name in speed], [list(speed.values())])
    yield ""
    same = "the same tokens" if part["same_tokens_float32"] else "other tokens"
    yield f"GPT-2 124M shape, {part['new_tokens']} new tokens, greedy; in float32 both write {same}."


def _prefill(part: dict[str, Any]) -> Lines:
    rows = [
        [
            shape,
            row["T"],
            *(f"{row['seconds'][who][1]:.3f} s" for who in ("library", "gptviz")),
            f"{row['speedup']:.2f}×",
        ]
        for shape, some in part["prefill"].items()
        for row in some
    ]
    yield from _table(["shape", "tokens", "library", "gptviz", "speed-up"], rows)


def _page(part: dict[str, Any]) -> Lines:
    rows = [
        [key, f"{p['first_ms']:.0f} ms", f"{p['live_ms']:.0f} ms", f"{p['own_first_kb']:.0f} / {p['first_kb']:.0f} kB",
         f"{p['own_repeat_kb']:.0f} / {p['repeat_kb']:.0f} kB", p["shift"]]
        for key, p in part["pages"].items()
    ]  # fmt: skip
    yield from _table(
        ["page", "first picture", "live picture", "own / all bytes, first visit", "own / all, repeat", "layout shift"],
        rows,
    )


def _load(part: dict[str, Any]) -> Lines:
    rows = [
        [model, found["clients"], kind, f"{each['p50_s']:.2f} s", f"{each['p95_s']:.2f} s", each["errors"]]
        for model, found in part["models"].items()
        for kind, each in found.items()
        if isinstance(each, dict)
    ]
    yield from _table(["model", "clients at once", "asked", "median", "95th of 100", "errors"], rows)


def _moves(part: dict[str, Any]) -> Lines:
    rows = [[f"{part['vocabulary']:,}", part["moves"], f"{part['median_ms']} ms", f"{part['p90_ms']} ms"]]
    yield from _table(["vocabulary", "moves", "median", "90th of 100"], rows)


def _panel(part: dict[str, Any]) -> Lines:
    rows = [
        [row["tokens"], f"{row['forward_s']:.3f} s", f"{row['panel_s']:.3f} s", f"{row['ratio']:.2f}×",
         f"{row['payload_bytes'] / 1e3:,.0f} kB"]
        for row in part["rows"]
    ]  # fmt: skip
    yield from _table(["tokens", "one forward pass, all logits", "all heads", "ratio", "to the browser"], rows)


def _patching(part: dict[str, Any]) -> Lines:
    rows = [
        [each["shape"], name, f"{times['first']:.2f} s", f"{times['whole']:.1f} s"]
        for each in part["patching"]
        for name, times in each["seconds"].items()
    ]
    yield from _table(["shape", "part copied", "first row", "whole map"], rows)
    yield ""
    yield f"{part['tokens']} tokens, every layer and place."


def _plain(part: dict[str, Any], depth: int = 0) -> Lines:
    """Any other part, as a list of its figures."""
    for name, value in part.items():
        if name in ("machine", "took_s", "load_before"):
            continue
        if isinstance(value, dict):
            yield f"{'  ' * depth}- {name}:"
            yield from _plain(value, depth + 1)
        else:
            yield f"{'  ' * depth}- {name}: {value}"


TITLES = {
    "decode": "Writing: with the cache, greedy, against transformers' generate",
    "ctranslate": "Writing, against CTranslate2",
    "prefill": "Reading a prompt, to the next token's logits, float32",
    "painted": "From a prompt to all heads painted",
    "slider": "A slider's move to painted bars",
    "roundtrip": "The same move through a server and a gr.Plot",
    "page": "Opening a page",
    "start": "A cold start with the bundled model",
    "load": "A class at once",
    "panel": "All heads against one forward pass, without a browser",
    "memory": "Memory held",
    "patching": "The map of copied places",
    "tokens": "Cutting long texts into tokens",
}
TABLES: dict[str, Callable[[dict[str, Any]], Lines]] = {
    "painted": _painted,
    "decode": _decode,
    "ctranslate": _ctranslate,
    "load": _load,
    "prefill": _prefill,
    "page": _page,
    "slider": _moves,
    "roundtrip": _moves,
    "panel": _panel,
    "patching": _patching,
}
