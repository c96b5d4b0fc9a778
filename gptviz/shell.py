"""The app as Gradio serves it: one page, its endpoints, and what the page asks for itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
import plotly  # type: ignore[import-untyped]
from starlette.middleware import Middleware
from starlette.routing import Route

from gptviz.lessons import PAGES, frame
from gptviz.lessons.questions import Question
from gptviz.pictures.file import template
from gptviz.places import ASSETS
from gptviz.service import Service
from gptviz.web.answering import Answering
from gptviz.web.ask import Asked
from gptviz.web.body_limit import BodyLimit
from gptviz.web.document import Document
from gptviz.web.endpoints import NOT_THERE, Blocks, answer_in_json, register
from gptviz.web.events import Events
from gptviz.web.gate import Gate
from gptviz.web.health import Health
from gptviz.web.line import Line
from gptviz.web.serving import Serving
from gptviz.web.speaking import Speaking
from gptviz.web.static import Files
from gptviz.web.watch import Figures, Watch
from gptviz.widgets import WIDGETS, fonts, scripts, style

SANS, MONO = "Plex Sans", "Plex Mono"  # not words: fonts
SESSIONS = 200  # Gradio keeps each browser's last outputs; its own default of 10,000 would fill the memory


@dataclass
class App:
    """What is served: Gradio's Blocks, all questions, and the page's own files."""

    demo: gr.Blocks
    questions: list[Question]
    files: Files
    health: Health
    answering: Answering
    events: Events
    serving: Serving
    figures: Figures | None

    def launch(self, *, mcp: bool = False, **options: Any) -> Any:
        """Serve it, with `mcp` for agents, too; the options are those of Gradio's `launch`."""
        if mcp:
            answer_in_json()
        return self.demo.launch(mcp_server=mcp, **launch_options(self), **options)


def build(service: Service, serving: Serving = Serving()) -> App:  # noqa: B008 - it never changes
    """The whole app: endpoints for programs, beside what the page asks for itself."""
    questions = [*frame.questions(service), *(q for page in PAGES for q in page.questions(service))]
    with Blocks(title="gptviz", analytics_enabled=False) as demo:
        for question in questions:
            if question.public:
                register(question)
    demo.queue(api_open=False)
    quiet(demo)
    answering = Answering(questions, Line(serving.bounds))
    functions = {number: str(fn.api_name) for number, fn in demo.fns.items()}
    events = Events(answering, functions)
    figures = Figures(service, answering.line) if serving.metrics else None
    return App(demo, questions, static_files(), Health(service), answering, events, serving, figures)


def quiet(demo: gr.Blocks) -> None:
    """Gradio's queue gets no work here (see `web.events`): it need not look for some a thousand times a second."""
    demo._queue.sleep_when_free = demo._queue.progress_update_sleep_when_free = 1.0


def static_files() -> Files:
    """Scripts, styles, fonts, recorded answers and, for each language, what the page has to know at once."""
    files = Files()
    files.add_folder(WIDGETS, "widgets", ".js")
    files.add_folder(ASSETS / "fonts", "fonts", ".woff2")
    files.add_folder(ASSETS / "recorded", "recorded", ".json")
    # Loaded only when a figure's step opens, and packed when it is first asked for.
    files.add("plotly.min.js", (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_bytes())
    files.add("style.css", (fonts(ASSETS / "fonts") + style()).encode())
    for page in PAGES:
        files.add(f"saved/{page.KEY}.html", template(page.KEY).encode())
    for language in frame.LANGUAGES:
        manifest = json.dumps(frame.manifest(language), ensure_ascii=False, separators=(",", ":"))
        files.add(f"manifest-{language}.json", manifest.encode())
    return files


def launch_options(app: App) -> dict[str, Any]:
    """What `launch()` needs so that the page looks right, asks no other host for anything, and stays bounded."""
    return {
        "theme": gr.themes.Base(font=gr.themes.Font(SANS), font_mono=gr.themes.Font(MONO)),
        "footer_links": ["api", "settings"],
        "run_history": False,  # it would keep prompts in the browser of a shared computer
        "ssr_mode": False,
        "show_error": False,
        "enable_monitoring": False,
        "strict_cors": True,
        "state_session_capacity": SESSIONS,
        "app_kwargs": {
            "exception_handlers": NOT_THERE,
            "middleware": [
                Middleware(Speaking),
                *_watch(app),
                Middleware(Gate, hosts=app.serving.hosts),
                Middleware(BodyLimit, limit=app.serving.bounds.body_bytes),
                Middleware(Document, head=_head(app.files)),
            ],
            "routes": [app.files.route(), Asked(app.answering).route(), *app.events.routes(), *_watched(app)],
        },
    }


def _watch(app: App) -> list[Middleware]:
    """What operators asked to see."""
    if app.figures is None and not app.serving.access_log:
        return []
    return [
        Middleware(Watch, questions=list(app.answering.questions), figures=app.figures, logs=app.serving.access_log)
    ]


def _watched(app: App) -> list[Route]:
    return [app.health.route(), *([app.figures.route()] if app.figures else [])]


def _head(files: Files) -> str:
    """Addresses relative to the page, so that the app also works below a path."""
    ahead = "".join(f'<link rel="modulepreload" href="{files.address(path)}">' for path in scripts())
    return (
        f'<meta name="gptviz-languages" content="{" ".join(frame.LANGUAGES)}">'
        f'<link rel="stylesheet" href="{files.address("style.css")}">{ahead}'
        f'<script type="module" src="{files.address("widgets/kit/main.js")}"></script>'
    )
