"""Numbers to Plotly figures, for what people zoom and hover.

Colours are those of the light page, texts are keys of its words, with the number {n} in them where there is one
("@kv_cache.line_cache", "@kv_cache.mark_context|8192"). The browser puts in what they stand for, so that one figure
serves both themes and any language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

# The light values of the page's tokens of the same names; widgets/kit/plot.js knows them by these.
INK, SOFT, RULE, GRID, CARD = "#1d1c1a", "#625e56", "#e2ddd2", "#f0ece3", "#ffffff"
KEY, WARN = "#0f5c73", "#b9420b"
SANS = "Plex Sans, system-ui, sans-serif"  # not words: fonts
UNITS = ((1e15, "PB", "quadrillion"), (1e12, "TB", "trillion"), (1e9, "GB", "billion"), (1e6, "MB", "million"),
         (1e3, "kB", ""))  # fmt: skip
# words: kv_cache.line_* kv_cache.mark_* kv_cache.axis_* kv_cache.ops_* numbers.unit_*
FALL, GROW = KEY, WARN  # the part that stays small, the part that takes over
COLOURS = {"cached": FALL, "uncached": GROW, "matrices": FALL, "attention": GROW, "weights": FALL, "cache": GROW}


def running_sums(lanes: Mapping[str, Sequence[float]], *, log: bool = False) -> go.Figure:
    """What each lane has cost after every token: "uncached" and "cached", one running sum each."""
    lengths = list(range(1, len(lanes["uncached"]) + 1))
    figure = go.Figure([_line(name, lengths, values) for name, values in lanes.items()])
    _name_lines(figure, lengths, lanes, log)
    return _laid_out(figure, "@kv_cache.axis_written", "@kv_cache.axis_positions", log=log)


def against_length(
    lengths: Sequence[int],
    lines: Mapping[str, Sequence[int]],
    marks: Mapping[str, int],
    unit: str,
    *,
    log: bool = True,
) -> go.Figure:
    """Counted cost of a text's length. `marks`: lengths worth a line ("crossing", "context"); `unit` names the axis."""
    figure = go.Figure([_line(name, lengths, values) for name, values in lines.items()])
    _name_lines(figure, lengths, lines, log)
    _laid_out(figure, "@kv_cache.axis_tokens", f"@kv_cache.axis_{unit}", log=log)
    for row, (name, place) in enumerate(marks.items()):
        if lengths[0] <= place <= lengths[-1]:
            figure.add_vline(x=place, line={"color": SOFT, "width": 1, "dash": "dash"})
            right = not log and place < lengths[-1] / 3  # where there is room
            _write(figure, place, 1.0 - 0.06 * row, f"@kv_cache.mark_{name}|{place}", log, right=right)
    return figure


def _line(name: str, x: Sequence[int], y: Sequence[float]) -> go.Scatter:
    in_bytes = name in ("weights", "cache")
    return go.Scatter(
        x=list(x),
        y=list(y),
        name=f"@kv_cache.line_{name}",
        mode="lines+markers",
        line={"color": COLOURS[name], "width": 2.5},
        marker={"size": 5, "color": COLOURS[name]},
        text=[_said(value, in_bytes) for value in y],
        hovertemplate="%{text}",
    )


def _name_lines(figure: go.Figure, x: Sequence[int], lines: Mapping[str, Sequence[float]], log: bool) -> None:
    """Each line's name at its end, in its colour: no legend to look things up in."""
    for name, values in lines.items():
        y = log10(values[-1]) if log else float(values[-1])
        figure.add_annotation(
            x=_place(x[-1], log), y=y, text=f"@kv_cache.line_{name}", xanchor="left", xshift=8, showarrow=False,
            align="left", font={"color": COLOURS[name], "size": 14},
        )  # fmt: skip


def _write(figure: go.Figure, x: float, y: float, text: str, log: bool, *, right: bool) -> None:
    """A text beside a line at x, to its left or to its right; y is from 0 to 1."""
    side: dict[str, Any] = {"xanchor": "left", "xshift": 6} if right else {"xanchor": "right", "xshift": -6}
    figure.add_annotation(
        x=_place(x, log), y=y, yref="paper", text=text, showarrow=False, bgcolor=CARD,
        font={"color": INK, "size": 13}, **side,
    )  # fmt: skip


def _place(x: float, log: bool) -> float:
    """Where an annotation stands: Plotly wants the power of ten on an axis of tenfold steps."""
    return log10(x) if log else float(x)


def _laid_out(figure: go.Figure, x: str, y: str, *, log: bool) -> go.Figure:
    axis: dict[str, Any] = {"gridcolor": GRID, "linecolor": RULE, "zeroline": False, "tickfont": {"color": SOFT}}
    axis["hoverformat"] = ",d"
    title = {"font": {"size": 13, "color": SOFT}, "standoff": 8}
    lengths = [value for line in figure.data for value in line.x]
    costs = [value for line in figure.data for value in line.y]
    figure.update_layout(
        template=None,
        margin={"l": 96, "r": 96, "t": 14, "b": 48},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": SANS, "size": 13, "color": INK},
        hovermode="x unified",
        hoverlabel={"bgcolor": CARD, "bordercolor": RULE, "font": {"family": SANS, "color": INK}},
        showlegend=False,
        xaxis={**axis, **_scale(lengths, False, log), "title": {"text": x, **title}},
        yaxis={**axis, **_scale(costs, "bytes" in y, log), "title": {"text": y, **title}},
    )
    return figure


def _scale(values: Sequence[float], in_bytes: bool, log: bool) -> dict[str, Any]:
    """Type, range and ticks of an axis, its numbers in words people say."""
    low, high = min(values), max(values)
    if log:
        first, last = floor(log10(low)), ceil(log10(high))
        every = 1 if last - first <= 6 else 3
        places = [10**p for p in range(first, last + 1)]
        texts = [_said(place, in_bytes) if p % every == 0 else "" for p, place in enumerate(places, first)]
        return {"type": "log", "range": [log10(low), log10(high) + 0.03], "tickvals": places, "ticktext": texts}
    step = 10 ** floor(log10(high)) / (2 if high < 5 * 10 ** floor(log10(high)) else 1)
    places = [round(step * k) for k in range(ceil(high / step) + 1)]
    return {"type": "linear", "range": [0, high * 1.03], "tickvals": places,
            "ticktext": [_said(place, in_bytes) for place in places]}  # fmt: skip


def _said(n: float, in_bytes: bool) -> str:
    """A number, three figures of it, as a key of the words with its {n}: "@kv_cache.ops_billion|10"."""
    for size, unit, name in UNITS:
        if n >= size and (in_bytes or size >= 1e6):
            return f"@numbers.unit_{unit}|{n / size:.4g}" if in_bytes else f"@kv_cache.ops_{name}|{n / size:.4g}"
    return f"@numbers.unit_B|{n:g}" if in_bytes else f"{n:,.0f}"
