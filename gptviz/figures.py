"""Numbers to Plotly figures, for what people zoom and hover. Transparent, so that both themes show through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go  # type: ignore[import-untyped]

KEY, WARN, SOFT, RULE = "#1f88a6", "#d8602a", "#857f74", "rgba(133,127,116,.25)"  # legible on light and on dark
FONT = "Plex Sans, system-ui, sans-serif"
HEIGHT = 290


def running_sums(lanes: Mapping[str, Sequence[float]], names: Mapping[str, str], title: str, value: str) -> go.Figure:
    """What each lane has cost after every token: "uncached" and "cached", one running sum each.

    `names` holds the lanes' names; `value` is how Plotly shows a number, such as "%{y:.3f} s".
    """
    figure = go.Figure()
    for lane, colour, dash in (("uncached", WARN, "dot"), ("cached", KEY, "solid")):
        figure.add_trace(
            go.Scatter(
                x=list(range(1, len(lanes[lane]) + 1)),
                y=list(lanes[lane]),
                name=names[lane],
                mode="lines+markers",
                line={"color": colour, "width": 2, "dash": dash},
                marker={"size": 5},
                hovertemplate=value,
            )
        )
    axis = {"gridcolor": RULE, "zeroline": False, "rangemode": "tozero", "fixedrange": False}
    figure.update_layout(
        height=HEIGHT,
        # Gradio gives a title 100 pixels; an annotation takes none.
        annotations=[
            {"text": title, "xref": "paper", "yref": "paper", "x": 0, "y": 1.13, "showarrow": False, "xanchor": "left"}
        ],
        margin={"l": 52, "r": 10, "t": 32, "b": 70},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": SOFT},
        hovermode="x unified",
        hoverlabel={"font": {"family": FONT}},
        legend={"orientation": "h", "y": -0.26, "x": 0},
        xaxis={**axis, "title": {"text": "tokens written", "font": {"size": 13}, "standoff": 6}},
        yaxis=axis,
    )
    return figure
