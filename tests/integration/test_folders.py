"""Checkpoint folders of the user: what loads, and one sentence for what does not."""

import json
from pathlib import Path

import pytest
from safetensors import safe_open
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.errors import UserError
from gptviz.decoder.sources import checkpoint, weights
from gptviz.decoder.sources.progress import Unavailable

WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path) -> Path:
    path = tmp_path / "my model"
    GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=8, n_positions=16, vocab_size=64)).save_pretrained(path)
    return path


def test_a_folder_of_the_user(folder):
    found = weights.locate(folder)
    assert (found.name, found.folder, found.source) == ("my model", folder, 'from the folder "my model"')
    assert weights.locate_default(str(folder)) == found


def test_a_folder_of_links_as_in_the_hub_cache(folder, tmp_path):
    blobs = tmp_path / "blobs"
    folder.rename(blobs)
    folder.mkdir()
    for path in blobs.iterdir():
        (folder / path.name).symlink_to(path)
    assert weights.locate(folder).folder == folder
    (blobs / WEIGHTS).unlink()
    with pytest.raises(UserError, match="is a link to a file that is gone"):
        weights.locate(folder)


def test_a_folder_that_points_to_itself(folder):
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).symlink_to(folder / WEIGHTS)
    with pytest.raises(UserError, match=WEIGHTS):
        weights.locate(folder)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("config.json", None, "holds no config.json"),
        ("config.json", b"{", "is not JSON"),
        ("config.json", b"\xff\xfe", "is not JSON"),
        ("config.json", b"[" * 100_000, "is not JSON"),
        ("config.json", b"[]", "is not a JSON object"),
        ("config.json", b"{}", "names no model_type"),
        (WEIGHTS, None, "holds no weights"),
        (WEIGHTS, b"", "is not a whole safetensors file"),
        (WEIGHTS, b"\xff" * 100, "is not a whole safetensors file"),
        (WEIGHTS, b"\x02\0\0\0\0\0\0\0[]", "its header is not one"),
        (WEIGHTS, b'\x09\0\0\0\0\0\0\0{"a": {}}', "its header is not one"),
    ],
)
def test_a_folder_that_is_no_checkpoint(folder, name, content, words):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(UserError, match=words) as error:
        weights.locate(folder)
    assert str(error.value).count("\n") == 0


def test_a_pickle_is_not_loaded(folder):
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")
    with pytest.raises(UserError, match="only as a pickle"):
        weights.locate(folder)


def test_an_index_that_points_outside(folder):
    (folder / WEIGHTS).unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../secret.safetensors"}}))
    with pytest.raises(UserError, match="lists no usable weight files"):
        weights.locate(folder)


def test_the_cut_file_of_a_folder(folder):
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data[:-1])
    with pytest.raises(UserError, match="is damaged: it has"):
        weights.locate(folder)
    with pytest.raises(Unavailable, match="holds no"):
        checkpoint.check(folder / "nothing")
    with safe_open(weights.locate("nano").folder / WEIGHTS, "np") as file:  # the check reads the real format
        assert len(list(file.keys())) > 10
