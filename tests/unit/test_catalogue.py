"""Names, Hub ids and folders: what each stands for, and what is refused."""

import pytest

from gptviz.decoder.errors import UserError
from gptviz.decoder.sources import catalogue
from gptviz.decoder.sources.catalogue import MODELS


def gpt2_parameters(layers: int, width: int) -> int:
    """A GPT-2's parameters in closed form: two embeddings, per layer 12 d² + 13 d, the last norm; tied head."""
    return (50257 + 1024) * width + layers * (12 * width**2 + 13 * width) + 2 * width


def test_parameter_counts_follow_from_the_shapes():
    shapes = {
        "gpt2": (12, 768),
        "gpt2-medium": (24, 1024),
        "gpt2-large": (36, 1280),
        "gpt2-xl": (48, 1600),
        "distilgpt2": (6, 768),
    }
    for name, (layers, width) in shapes.items():
        assert MODELS[name].parameters == gpt2_parameters(layers, width), name


def test_the_default_order_ends_with_a_model_that_needs_no_network():
    assert catalogue.default_order() == ["gpt2", "smollm2-135m", "nano"]
    assert MODELS["nano"].bundled is not None


@pytest.mark.parametrize("name", ["gpt2", "GPT2", "openai-community/gpt2"])
def test_a_name_and_its_hub_id_are_one_model(name):
    assert catalogue.find(name) is MODELS["gpt2"]


def test_a_catalogue_name_wins_over_a_folder_of_that_name(tmp_path, monkeypatch):
    (tmp_path / "gpt2").mkdir()
    monkeypatch.chdir(tmp_path)
    assert catalogue.find("gpt2") is MODELS["gpt2"]
    assert catalogue.find("./gpt2").resolve() == (tmp_path / "gpt2").resolve()


def test_a_folder_wins_over_a_hub_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert catalogue.find("owner/model").hub == ("owner/model",)
    (tmp_path / "owner" / "model").mkdir(parents=True)
    assert catalogue.find("owner/model").resolve() == (tmp_path / "owner" / "model").resolve()


def test_a_folder_with_blanks_and_a_path_object(tmp_path):
    folder = tmp_path / "my model ü"
    folder.mkdir()
    assert catalogue.find(folder) == folder
    assert catalogue.find(str(folder)) == folder


def test_the_home_folder_is_filled_in(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "model").mkdir()
    assert catalogue.find("~/model") == tmp_path / "model"


@pytest.mark.parametrize(
    "name",
    [
        *["", " ", "\0", "gpt2\0", "gpt2\n", "../x", "a/../b", "a..b", "a--b", "/no/such/folder", "./gone"],
        *["~nobody-of-this-name/x", "a b", "a/b/c", "-rf", "--help", "org/-x", "x.git", "x-", "http://host/x"],
        *["C:\\models\\x", "x" * 97, "x" * 100_000, "日本/モデル", "\ud800", "a?b", "a#b", "a%2e%2e/b", "a@b"],
    ],
)
def test_nonsense_is_refused_with_one_sentence(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        catalogue.find(name)
    message = str(error.value)
    assert "owner/model" in message
    assert message.endswith(".")
    assert "\n" not in message
    assert len(message) < 350
    message.encode()  # it can be shown and sent


def test_a_file_is_not_a_folder(tmp_path):
    (tmp_path / "weights.bin").write_bytes(b"x")
    with pytest.raises(UserError, match="is a file"):
        catalogue.find(tmp_path / "weights.bin")
