"""A slider's move as a Gradio app usually answers it: a round trip, and a gr.Plot of 40 of the 50,257 tokens."""

from __future__ import annotations

import statistics
from typing import Any

import gradio as gr
import plotly.graph_objects as go  # type: ignore[import-untyped]
import torch

from tools.browsing import chromium

VOCABULARY, BARS = 50_257, 40
# One move: the event, and the first frame in which the figure carries the value that was set.
MOVE = """async (n) => {
    const slider = document.querySelector("input[type=range]"), out = [];
    for (let i = 0; i < n; i++) {
        await new Promise((done) => setTimeout(done, 40));
        const value = (0.5 + (i % 40) / 20).toFixed(2), begin = performance.now();
        slider.value = value; slider.dispatchEvent(new Event("input", { bubbles: true }));
        while (!document.querySelector(".gtitle")?.textContent.includes(`T=${value};`)) {
            await new Promise((done) => requestAnimationFrame(done));
            if (performance.now() - begin > 20000) return out;
        }
        out.push(performance.now() - begin);
    }
    return out;
}"""


def run(*, quick: bool = False) -> dict[str, Any]:
    """Wall time a move, in ms."""
    moves = 10 if quick else 60
    with gr.Blocks(analytics_enabled=False) as demo:
        slider = gr.Slider(0.05, 5, value=1, step=0.01)
        plot = gr.Plot(figure(1.0))
        slider.input(figure, slider, plot, show_progress="hidden", trigger_mode="always_last")
    _, url, _ = demo.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True, ssr_mode=False)
    try:
        with chromium() as browser:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(url)
            page.wait_for_selector(".gtitle", timeout=60_000)
            page.evaluate(MOVE, 3)
            times = sorted(page.evaluate(MOVE, moves))
    finally:
        demo.close()
    assert len(times) == moves, "a move was never answered"
    return {
        "vocabulary": VOCABULARY,
        "moves": moves,
        "median_ms": round(statistics.median(times), 1),
        "p90_ms": round(times[int(0.9 * moves)], 1),
    }


LOGITS = torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(0)) * 3


def figure(temperature: float) -> Any:
    """The bars at a temperature, the value in the title."""
    p = (LOGITS / temperature).softmax(-1).topk(BARS)
    made = go.Figure(go.Bar(x=p.values.tolist(), y=[str(i) for i in p.indices.tolist()], orientation="h"))
    return made.update_layout(title=f"T={temperature:.2f};", yaxis={"type": "category", "autorange": "reversed"})
