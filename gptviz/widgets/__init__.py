"""What the browser draws itself: each widget is a short .py beside its .js and .css."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

HERE = Path(__file__).parent
STYLE = HERE.parent / "style.css"


def widget(
    name: str,
    *,
    label: str,
    server: Sequence[Callable[..., Any]] = (),
    classes: str = "",
    fixed: dict[str, Any] | None = None,
    **props: Any,
) -> gr.HTML:
    """A gr.HTML whose template is constant and whose drawing is `NAME.js`.

    The file registers `gptviz.mount.NAME = function (root, io) { … return draw }`; `draw(value)` is called with
    the component's value, at once and whenever Python sets a new one. `label` names it to a screen reader;
    `server` functions are reached as `io.server.NAME(...)`; `fixed` is what never changes, such as prose: `io.fixed`.
    """
    constant = json.dumps({"label": label, **(fixed or {})})  # props of a tab that opens later do not arrive
    return gr.HTML(
        html_template='<div class="gv-widget"></div>',
        # The names in quotes in the comment are the events Python may listen to.
        js_on_load=f"gptviz.start('{name}', element, props, trigger, watch, "
        f"typeof server === 'undefined' ? null : server, {constant}); /* 'pick' 'guess' 'act' */",
        server_functions=list(server) or None,
        elem_classes=["gv-w", f"gv-w-{name}", *classes.split()],
        label=label,
        apply_default_css=False,
        **props,
    )


def script() -> str:
    """All the drawing code as one inline script for the page's head, base first."""
    files = [HERE / "base.js", *sorted(p for p in HERE.glob("*.js") if p.name != "base.js")]
    return "\n".join(f"// {p.name}\n{p.read_text(encoding='utf-8')}" for p in files)


def style() -> str:
    """The stylesheet of tokens and every widget's own rules."""
    files = [STYLE, *sorted(HERE.glob("*.css"))]
    return "\n".join(p.read_text(encoding="utf-8") for p in files)
