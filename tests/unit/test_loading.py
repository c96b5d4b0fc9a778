"""Starting: the bundled model at once, the wanted one behind it, and no failure that nobody hears of."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.decoder import Decoder
from gptviz.service import Options, Service

LOAD = Decoder.load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    path = tmp_path / "home" / "mine"
    config = GPT2Config(n_layer=1, n_head=2, n_embd=16, n_positions=32)
    GPT2LMHeadModel(config).save_pretrained(path)
    return path


def wanting(model: object) -> Service:
    return Service(Options(model=str(model), offline=True, device="cpu"))


def test_the_bundled_model_serves_until_the_wanted_one_takes_over(folder, monkeypatch):
    gate = threading.Event()

    def load(path: Path, **options: str) -> Decoder:
        if Path(path) == folder:
            gate.wait(20)
        return LOAD(path, **options)

    monkeypatch.setattr(Decoder, "load", load)
    service = wanting(folder)
    service.start()
    assert (service.names, service.status.loading) == (["nano"], True)
    assert service.tokens("hello")["count"] == 1
    gate.set()
    [thread] = [thread for thread in threading.enumerate() if thread.name == "gptviz-load"]
    thread.join(20)
    assert (service.names, service.status.loading, service.status.notes) == (["mine", "nano"], False, [])
    assert service.decoder().source == 'from the folder "mine"'


def test_options_reach_the_model(folder):
    service = Service(Options(model=str(folder), offline=True, device="cpu", dtype="bfloat16"))
    service.start(wait=True)
    assert {row["dtype"] for row in service.models()} == {"bfloat16"}
    assert len(service.names) == 2


def test_the_bundled_model_is_loaded_once_when_it_is_the_wanted_one():
    service = wanting("nano")
    service.start(wait=True)
    assert service.names == ["nano"]
    assert service.status.notes == []


@pytest.mark.parametrize("error", [RuntimeError("broken"), MemoryError(), KeyError("layer")])
def test_an_error_while_loading_is_told_and_the_bundled_model_stays(folder, monkeypatch, caplog, error):
    def load(path: Path, **options: str) -> Decoder:
        if Path(path) == folder:
            raise error
        return LOAD(path, **options)

    monkeypatch.setattr(Decoder, "load", load)
    service = wanting(folder)
    with caplog.at_level(logging.ERROR, logger="gptviz"):
        service.start(wait=True)
    assert service.names == ["nano"]
    assert not service.status.loading
    assert service.status.notes == [f"The model could not be loaded ({type(error).__name__})."]
    assert any(record.exc_info for record in caplog.records)  # the log has the trace


def test_a_name_that_means_nothing_is_a_note_and_the_bundled_model_stays():
    service = wanting("no such model at all")
    service.start(wait=True)
    assert service.default == "nano"
    assert any("no such model at all" in note for note in service.status.notes)


def test_notes_do_not_name_the_home_folder(folder, monkeypatch):
    home = folder.parent
    monkeypatch.setattr(Path, "home", lambda: home)
    (folder / "model.safetensors").unlink()
    service = wanting(folder)
    service.start(wait=True)
    notes = " ".join(service.status.notes)
    assert "~/mine" in notes
    assert str(home) not in notes
