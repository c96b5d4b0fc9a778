"""Opening every page on one prompt: how many forward passes that takes, counted by the decoder itself."""

from __future__ import annotations

import gradio as gr
import pytest

from gptviz.decoder.decoder import Decoder
from gptviz.lessons import PAGES
from gptviz.service import Service

PROMPT = "The cat sat on the mat because the cat was tired."
MOST = 4


@pytest.fixture
def opened(nano: Decoder):
    """(service, open a page by key) with every page built; a model's own induction heads are measured before."""
    service = Service()
    service.add(nano)
    with gr.Blocks():
        asked = gr.State({})
        pages = {module.KEY: module.build(service, asked) for module in PAGES}
    service.panel(nano, nano.tokenizer.encode("Something else"))

    def open_page(key: str, text: str = PROMPT) -> None:
        shown = pages[key].show({"text": text, "model": ""})
        if not isinstance(shown, dict):
            list(shown)

    return service, open_page


@pytest.mark.parametrize("order", [1, -1], ids=["in order", "the last page first"])
def test_all_pages_on_one_prompt_take_few_passes(opened, nano, order):
    _, open_page = opened
    before = nano.passes
    spent = {}
    for module in PAGES[::order]:
        start = nano.passes
        open_page(module.KEY)
        spent[module.KEY] = nano.passes - start
    assert nano.passes - before <= MOST, spent
    for module in PAGES:
        open_page(module.KEY)
    assert nano.passes - before == sum(spent.values())  # the second visit is free
