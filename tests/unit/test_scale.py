"""The work of training against what the models' makers published themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gptviz.decoder.decoder import Decoder
from gptviz.lab.teaching.scale import BEST_RATIO, TRAINED
from gptviz.nano.train import CONTEXT, Recipe

MODELS = {model.name: model for model in TRAINED}


def test_the_work_is_what_the_paper_of_gpt3_counts():
    assert MODELS["gpt3-175b"].operations == pytest.approx(3.14e23, rel=0.01)  # its table D.1


def test_chinchilla_has_the_best_ratio():
    assert MODELS["Chinchilla-70B"].ratio == pytest.approx(BEST_RATIO)


def test_nano_is_the_bundled_model_as_it_was_trained(nano: Decoder):
    recipe = Recipe()
    assert MODELS["nano"].parameters == nano.shape.parameters
    assert MODELS["nano"].tokens == recipe.steps * recipe.batch * CONTEXT
    readme = Path("assets/nano/README.md").read_text(encoding="utf-8")
    assert f"steps={recipe.steps}, " in readme
    assert f"batch={recipe.batch}, " in readme
    assert json.loads(Path("assets/nano/config.json").read_text())["n_positions"] == CONTEXT
