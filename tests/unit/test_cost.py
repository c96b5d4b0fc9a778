"""Cost against length, against what PyTorch counts when it runs the library's model; and the figures made of it."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForCausalLM

from gptviz import figures
from gptviz.decoder.errors import UserError
from gptviz.lab.writing.cost import LENGTHS, LONGEST, cost

ROOT = Path(__file__).parents[2]


def run_and_counted(decoder, T):
    """FLOPs of the stock model with the logits of the last position, the attention's products dense."""
    config = copy.deepcopy(decoder.model.config)
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, T, dtype=torch.long), logits_to_keep=1, use_cache=False)
    return counter.get_total_flops()


@pytest.mark.parametrize("name", ["tiny_gpt2", "tiny_llama"])
@pytest.mark.parametrize("T", [1, 2, 17])
def test_operations_are_those_that_the_librarys_model_does(request, name, T):
    decoder = request.getfixturevalue(name)
    found = cost(decoder, [T]).rows[0].flops
    dense = found["attention"] * 2 * T // (T + 1)  # T² pairs, of which the mask permits T(T+1)/2
    assert run_and_counted(decoder, T) == found["matrices"] + dense + found["head"]


def test_one_token_more_costs_what_the_longer_text_has_more(tiny_llama):
    short, long = cost(tiny_llama, [40, 41]).rows
    for part in ("matrices", "attention"):
        assert short.next_flops[part] == long.flops[part] - short.flops[part]
    assert long.bytes["cache"] - short.bytes["cache"] == 2 * 4 * 2 * 8 * 4  # K and V, layers, heads, width, bytes


@pytest.mark.parametrize("name", ["nano", "tiny_gpt2", "tiny_llama"])
def test_from_the_crossings_on_the_growing_part_wins(request, name):
    decoder = request.getfixturevalue(name)
    found = cost(decoder)
    for crossing, read in (
        (found.reading, lambda row: (row.flops["attention"], row.flops["matrices"])),
        (found.writing, lambda row: (row.next_flops["attention"], row.next_flops["matrices"])),
        (found.bytes, lambda row: (row.bytes["cache"], row.bytes["weights"])),
    ):
        before, at = cost(decoder, [crossing - 1, crossing]).rows
        assert read(at)[0] >= read(at)[1]
        assert read(before)[0] < read(before)[1]
    assert [row.tokens for row in found.rows] == list(LENGTHS)
    assert found.as_json()["crossing"] == found.reading


@pytest.mark.parametrize("lengths", [[], [0], [LONGEST + 1], [1.5], [1] * 201])
def test_bad_lengths_get_one_sentence(nano, lengths):
    with pytest.raises(UserError, match="lengths"):
        cost(nano, lengths)


# Figures


def test_figures_draw_with_the_light_pages_colours():
    css = (ROOT / "gptviz/widgets/kit/tokens.css").read_text(encoding="utf-8").split(".dark")[0]
    tokens = dict(re.findall(r"--(\w+): (#\w{6})", css))
    script = (ROOT / "gptviz/widgets/kit/plot.js").read_text(encoding="utf-8")
    for name in ("ink", "soft", "rule", "grid", "card", "key", "warn"):
        colour = getattr(figures, name.upper())
        assert colour == tokens[name]
        assert f'"{colour}": "--{name}"' in script


@pytest.mark.parametrize("log", [True, False])
def test_a_figure_holds_the_numbers_and_its_marks(nano, log):
    found = cost(nano)
    lines = {name: [row.flops[name] for row in found.rows] for name in ("matrices", "attention")}
    figure = figures.against_length(LENGTHS, lines, {"crossing": found.reading}, "flops", log=log).to_plotly_json()
    assert [line["y"] for line in figure["data"]] == list(lines.values())
    texts = [note["text"] for note in figure["layout"]["annotations"]]
    assert f"@kv_cache.mark_crossing|{found.reading}" in texts
    assert figure["layout"]["xaxis"]["type"] == ("log" if log else "linear")
    assert figure["data"][0]["text"][-1] == "@kv_cache.ops_billion|51.54"
