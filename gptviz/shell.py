"""The frame of every page: header, prompt, tokens, tabs, and which page answers a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from gptviz.body_limit import BodyLimit
from gptviz.decoder.errors import UserError
from gptviz.lessons import PAGES
from gptviz.lessons.page import Asked, Page, api, lines, prose, sentences
from gptviz.service import Service
from gptviz.service.models import describe
from gptviz.widgets import script, style, widget

ASSETS = Path(__file__).resolve().parents[1] / "assets"
MAX_BODY = 4_000_000  # bytes of one request; below it a prompt that is too long is answered with its own sentence
SESSIONS = 200  # Gradio keeps each browser's last outputs; its own default of 10,000 would fill the memory
LIVE: dict[str, Any] = {"concurrency_limit": None, "api_visibility": "private"}


def build(service: Service) -> gr.Blocks:
    """The whole app as one Blocks; each page of `lessons` is a tab."""
    with gr.Blocks(title="gptviz", analytics_enabled=False) as demo:
        frame = Frame(service)
        frame.layout()
        frame.wire(demo)
        api(service.models, "models")
        api(_tokenize(service), "tokenize")
        for page in PAGES:
            page.endpoints(service)
    # A closed door for raw HTTP calls that skip the queue, and a bound on how many may wait in it.
    return demo.queue(max_size=512, default_concurrency_limit=8, api_open=False)


def launch_options() -> dict[str, Any]:
    """What `launch()` needs so that the page looks right, asks no other host for anything, and stays bounded."""
    return {
        "head": f"<style>{fonts()}{style()}</style><script>{script()}</script>",
        "theme": gr.themes.Base(font=gr.themes.Font("Plex Sans"), font_mono=gr.themes.Font("Plex Mono")),
        "footer_links": ["api", "settings"],
        "run_history": False,  # it would keep prompts in the browser of a shared computer
        "ssr_mode": False,
        "show_error": False,
        "enable_monitoring": False,
        "strict_cors": True,
        "state_session_capacity": SESSIONS,
        "app_kwargs": {
            "middleware": [Middleware(BodyLimit, limit=MAX_BODY)],
            "routes": [Mount("/fonts", StaticFiles(directory=ASSETS / "fonts"))],
        },
    }


def fonts() -> str:
    """@font-face rules for the bundled fonts; the address is relative, so the app also works below a path."""
    rules = []
    for path in sorted((ASSETS / "fonts").glob("*.woff2")):
        family, subset, weight, slope = path.stem.removeprefix("ibm-plex-").replace("latin-ext", "latinext").split("-")
        reach = "U+0100-02FF, U+1E00-1EFF, U+2C60-2C7F, U+A720-A7FF" if subset == "latinext" else ""
        rules.append(
            f'@font-face {{ font-family: "Plex {family.capitalize()}"; font-weight: {weight}; font-style: {slope}; '
            f'font-display: swap; src: url("fonts/{path.name}") format("woff2");'
            + (f" unicode-range: {reach};" if reach else "")
            + " }"
        )
    return "".join(rules)


class Frame:
    """The shell while it is being built: its components, its pages, and the events between them."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.examples = [_example(line) for line in lines(prose("shell")["examples"])]
        self.pages: dict[str, Page] = {}
        self.tab_of: dict[str, gr.Tab] = {}

    def layout(self) -> None:
        first = self.examples[0][1]
        self.asked = gr.State({"text": first, "model": ""})
        self.current = gr.State(PAGES[0].KEY)
        self.header = widget("header", label="Model", value=self._header())
        with gr.Row(elem_classes="gv-ask-row", equal_height=True):
            self.prompt = gr.Textbox(
                first, show_label=False, label="Prompt", lines=1, max_lines=6, scale=8, elem_classes="gv-prompt",
                submit_btn=False, placeholder="Type a text for the model to read", container=False,
            )  # fmt: skip
            self.run = gr.Button("Run", variant="primary", scale=0, elem_classes="gv-runbtn")
            self.model = gr.Dropdown(
                self.service.names, value=None, show_label=False, label="Model", scale=0,
                min_width=190, container=False, elem_classes="gv-model",
            )  # fmt: skip
        self.picks = widget("examples", label="Example prompts", value=[[e[0], e[2]] for e in self.examples])
        self.strip = widget("tokens", label="The prompt as tokens", elem_id="gv-strip")
        with gr.Tabs(selected=PAGES[0].KEY) as self.tabs:
            for module in PAGES:
                with gr.Tab(module.TAB, id=module.KEY, elem_id=f"page-{module.KEY}") as tab:
                    self.tab_of[module.KEY] = tab
                    with gr.Column(elem_classes="gv-page"):
                        self.pages[module.KEY] = module.build(self.service, self.asked)
        self.timer = gr.Timer(1.0)
        self.known = gr.State("")

    def wire(self, demo: gr.Blocks) -> None:
        every = [c for page in self.pages.values() for c in page.outputs]
        outputs = [self.header, self.asked, self.strip, *every]
        # What is asked while an answer is under way must not be lost: the last request runs when the answer is there.
        last: dict[str, Any] = {**LIVE, "trigger_mode": "always_last"}
        request = [sentences(self.ask), [self.prompt, self.model, self.current], outputs]
        gr.on([self.run.click, self.prompt.submit, self.model.input], *request, show_progress_on=self.strip, **last)
        # Two steps: with "always_last" Gradio would keep the last click but the first one's data.
        picked = self.picks.pick(self.pick, None, self.prompt, trigger_mode="multiple", show_progress="hidden", **LIVE)
        picked.then(*request, show_progress_on=self.strip, **last)
        for key, tab in self.tab_of.items():
            page = self.pages[key]
            tab.select(
                sentences(self._opener(key)),
                [self.asked],
                [self.current, *page.outputs],
                show_progress="hidden",
                **LIVE,
            )
        first = [self.known, self.model, self.prompt, self.tabs, self.current]
        demo.load(self.open_link, None, [*first, *outputs], show_progress="hidden", **LIVE)
        self.timer.tick(
            self.poll,
            [self.known, self.model, self.asked, self.current],
            [self.timer, self.known, self.model, *outputs],
            show_progress="hidden",
            **LIVE,
        )

    # Events

    def ask(self, text: str, model: str, current: str) -> Iterator[dict[Any, Any]]:
        """Take a prompt: the tokens first, then whatever the open page shows. A bad prompt changes nothing."""
        asked: Asked = {"text": text, "model": model or ""}
        tokens = self.service.tokens(text, asked["model"])
        yield {self.header: self._header(asked["model"]), self.asked: asked, self.strip: tokens}
        yield from self.answer(current, asked)

    def answer(self, key: str, asked: Asked) -> Iterator[dict[Any, Any]]:
        """What the page shows for this prompt."""
        shown = self.pages[key].show(asked)
        # Gradio takes an empty dict for a missing value, so a page with nothing new says nothing at all.
        yield from filter(None, [shown] if isinstance(shown, dict) else shown)

    def pick(self, event: gr.EventData) -> str:
        """The text of the example that was clicked."""
        index = event._data.get("index", 0) if isinstance(event._data, dict) else 0
        return self.examples[index if index in range(len(self.examples)) else 0][1]

    def _opener(self, key: str) -> Callable[[Asked], Iterator[dict[Any, Any]]]:
        def open_page(asked: Asked) -> Iterator[dict[Any, Any]]:
            yield {self.current: key}
            yield from self.answer(key, asked)

        return open_page

    def open_link(self, request: gr.Request) -> Iterator[dict[Any, Any]]:
        """The first view: the example, or what the address asks for, checked like anything typed."""
        asked_for = dict(request.query_params) if request else {}
        text = asked_for.get("prompt", self.examples[0][1])
        key = asked_for.get("lesson", PAGES[0].KEY)
        key = key if key in self.pages else PAGES[0].KEY
        yield {
            **self._models(self.service.default),
            self.prompt: text,
            self.tabs: gr.Tabs(selected=key),
            self.current: key,
        }
        try:
            yield from self.ask(text, "", key)
        except UserError as error:
            gr.Warning(str(error))
            yield from self.ask(self.examples[0][1], "", key)

    def poll(self, known: str, model: str | None, asked: Asked, current: str) -> Iterator[dict[Any, Any]]:
        """Once a second while a model loads: the header; and when it has taken over, the page again with it."""
        if not known:  # the page's first answer is still on its way, and would be overwritten
            yield {self.known: known}
            return
        status, default = self.service.status, self.service.default
        taken_over = known != default and (model or known) == known
        view = self._models(default if taken_over else model or default)
        if not status.loading:
            view[self.timer] = gr.Timer(active=False)
        yield view
        if taken_over:
            try:
                yield from self.ask(asked["text"], default, current)
            except UserError as error:
                gr.Warning(str(error))

    def _models(self, chosen: str) -> dict[Any, Any]:
        """The header and the choice of models as they stand now."""
        return {
            self.header: self._header(chosen),
            self.known: self.service.default,
            self.model: gr.Dropdown(self.service.names, value=chosen),
        }

    def _header(self, model: str = "") -> dict[str, Any]:
        status = self.service.status
        name = model if model in self.service.names else self.service.default
        return {
            "model": describe(self.service.decoder(name)),
            "loading": status.loading,
            "sentence": status.sentence,
            "fraction": status.fraction,
            "notes": status.notes,
        }


def _example(line: str) -> tuple[str, str, str]:
    """(name, prompt, why it is worth a look) from one line of prose."""
    name, text, why = (part.strip() for part in line.split(" | "))
    return name, text.replace("\\n", "\n"), why


def _tokenize(service: Service) -> Callable[..., dict[str, Any]]:
    def tokenize(text: str, model: str = "") -> dict[str, Any]:
        """The text's tokens as the model reads them."""
        return service.tokens(text, model)

    return tokenize
