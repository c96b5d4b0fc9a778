"""From a prompt to all heads of a GPT-2 shape painted in Chromium: ours, BertViz's model_view, Plotly's subplots.

Each is timed as a reader waits for it: forward pass, preparing, bytes, and the browser until it has painted. The three
scripts that BertViz fetches from a CDN come from npm copies on this machine, so no network is timed.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import Browser, Route
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.tokens import Tokenizer
from gptviz.service import Service
from tools.browsing import chromium, served

LENGTHS = (16, 64, 128)
SCRIPTS = {
    "require": "requirejs@2.3.6/require.js",
    "d3": "d3@5.7.0/dist/d3.min.js",
    "jquery": "jquery@2.2.4/dist/jquery.min.js",
}
COPIES = Path(__file__).parent / ".npm"
PAINTED = """() => new Promise((done) => requestAnimationFrame(() => {
    const c = new MessageChannel(); c.port1.onmessage = () => done(performance.now()); c.port2.postMessage(0);
}))"""


def run(*, quick: bool = False) -> dict[str, Any]:
    """Seconds of each part, medians, and bytes; for each length of text."""
    torch.manual_seed(0)
    model: Any = GPT2LMHeadModel(GPT2Config(initializer_range=0.05)).eval()
    eager: Any = GPT2LMHeadModel._from_config(GPT2Config(), attn_implementation="eager").eval()
    eager.load_state_dict(model.state_dict())
    decoder = Decoder.from_model(model, Tokenizer.gpt2(), name="gpt2-shape")
    service = Service()
    service.add(decoder)
    rounds, rows = 2 if quick else 3, []
    with served(service) as url, chromium() as browser:
        for T in LENGTHS[:1] if quick else LENGTHS:
            texts = [text_of(decoder, T, k) for k in range(rounds + 1)]
            rows.append(
                {
                    "tokens": T,
                    "gptviz": _median([ours(browser, url, text) for text in texts][1:]),
                    "bertviz": _median([theirs(browser, eager, decoder, text, bertviz) for text in texts][1:]),
                    "plotly": _median([theirs(browser, eager, decoder, text, plotly) for text in texts][1:]),
                }
            )
    return {"heads": decoder.shape.layers * decoder.shape.heads, "rounds": rounds, "rows": rows}


def text_of(decoder: Decoder, T: int, k: int) -> str:
    """A text of T tokens that was not asked before."""
    word = decoder.tokenizer.encode(" the cat sat on a mat and one day saw how rain fell over an old town")
    ids = [word[(i * (k + 1) + k) % len(word)] for i in range(T)]
    text = decoder.tokenizer.decode(ids)
    assert len(decoder.tokenizer.encode(text)) == T
    return text


def ours(browser: Browser, url: str, text: str) -> dict[str, float]:
    """The open page is given the prompt; until the live picture is painted. Forward pass and transfer are in it."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{url}?lesson=attention")
    page.wait_for_selector(".gv-app[data-shown$=live]")
    sizes: list[float] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    seconds = page.evaluate(
        """async (words) => {
            const begin = performance.now();
            Object.assign(gptviz.app.state, { prompt: words });
            gptviz.app.stepPrompt = null;
            await gptviz.app.draw();
            await new Promise((next) => requestAnimationFrame(() => {
                const c = new MessageChannel(); c.port1.onmessage = next; c.port2.postMessage(0);
            }));
            return (performance.now() - begin) / 1000;
        }""",
        text,
    )
    assert page.evaluate("gptviz.app.prompt()") == text
    page.close()
    return {"total_s": seconds, "kb": sum(sizes) / 1000}


Draw = Callable[[Any, list[str]], str]


def theirs(browser: Browser, model: Any, decoder: Decoder, text: str, draw: Draw) -> dict[str, float]:
    """Forward pass with attentions, the library's document, and the browser until it has painted."""
    begin = time.perf_counter()
    ids = decoder.tokenizer.encode(text)
    with torch.inference_mode():
        attentions = model(torch.tensor([ids]), output_attentions=True).attentions
    forward = time.perf_counter() - begin
    document = draw(attentions, [token.shown for token in decoder.tokenizer.tokens(ids)])
    prepared = time.perf_counter() - begin
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.route("**/*", _from_copies)
    started = time.perf_counter()
    page.set_content(f"<!doctype html><body>{document}</body>")
    page.wait_for_function(DRAWN[draw], polling=5, timeout=120_000)
    page.evaluate(PAINTED)
    browsing = time.perf_counter() - started
    page.close()
    return {
        "total_s": prepared + browsing,
        "forward_s": forward,
        "prepare_s": prepared - forward,
        "browser_s": browsing,
        "kb": len(document.encode()) / 1000,
    }


def bertviz(attentions: Any, tokens: list[str]) -> str:
    """BertViz's own document of all heads."""
    from bertviz import model_view

    return str(model_view(attentions, tokens, html_action="return").data)


def plotly(attentions: Any, tokens: list[str]) -> str:
    """A heatmap a head, as subplots."""
    import plotly.graph_objects as go  # type: ignore[import-untyped]
    from plotly.subplots import make_subplots  # type: ignore[import-untyped]

    L, h = len(attentions), attentions[0].shape[1]
    figure = make_subplots(L, h, horizontal_spacing=0.005, vertical_spacing=0.005)
    for layer, each in enumerate(attentions):
        for head in range(h):
            figure.add_trace(go.Heatmap(z=each[0, head].numpy(), showscale=False), layer + 1, head + 1)
    figure.update_layout(width=1200, height=1200, showlegend=False)
    figure.update_xaxes(visible=False).update_yaxes(visible=False, autorange="reversed")
    return str(figure.to_html(full_html=False, include_plotlyjs=True))


DRAWN: dict[Draw, str] = {
    bertviz: "document.querySelectorAll('#vis svg g, #vis svg rect').length >= 144",
    plotly: "document.querySelectorAll('.heatmaplayer .hm').length >= 144",
}


def _from_copies(route: Route) -> None:
    """BertViz's scripts from this machine; nothing else is asked for."""
    name = next((name for name in SCRIPTS if name in route.request.url), None)
    if name is None:
        return route.abort()
    return route.fulfill(body=copy(name).read_bytes(), content_type="text/javascript")


def copy(name: str) -> Path:
    """One script, installed through npm where it is not here yet."""
    package, _, file = SCRIPTS[name].partition("/")
    path = COPIES / "node_modules" / package.split("@")[0] / file
    if not path.exists():
        wanted = [script.partition("/")[0] for script in SCRIPTS.values()]
        subprocess.run(["npm", "install", "--no-save", "--silent", "--prefix", str(COPIES), *wanted], check=True)
    return path


def _median(visits: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(statistics.median(visit[name] for visit in visits), 3) for name in visits[0]}
