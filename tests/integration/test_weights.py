"""The package-index path, kept copies, folders and the order of the sources."""

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from transformers import LlamaForCausalLM

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.sources import catalogue, converted, gguf_llama, weights, wheel
from gptviz.decoder.sources.catalogue import MODELS
from gptviz.decoder.sources.progress import Progress
from tests.tiny_gguf import Index, build_index, tiny_llama

ROOT = Path(__file__).parents[2]
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def original() -> LlamaForCausalLM:
    return tiny_llama()


@pytest.fixture
def index(tmp_path, monkeypatch, original) -> Index:
    """A package index with one tiny model, which the catalogue knows; no Hub; an empty cache."""
    built = build_index(tmp_path / "index", original)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(built.folder))
    monkeypatch.setenv("GPTVIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setitem(MODELS, "tiny", built.model)
    return built


def cached_names(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "cache").iterdir()}


# From the index to a kept checkpoint


def test_a_model_from_the_index_equals_the_original(index, original, tmp_path):
    steps: list[Progress] = []
    located = weights.locate("tiny", progress=steps.append)
    assert (located.name, located.source, located.notes) == ("tiny", "from the package index", [])
    assert cached_names(tmp_path) == {"tiny", "tiny.lock"}
    assert {step.stage for step in steps} == {"look", "download", "check", "convert", "save"}
    decoder = Decoder.load(located.folder, name=located.name, source=located.source)
    ids = decoder.tokenizer.encode("the thin king 12")
    assert [token.shown for token in decoder.tokenizer.tokens(ids)][-2:] == ["1", "2"]
    with torch.inference_mode():
        expected = original(torch.tensor([ids])).logits[0]
    assert expected.std() > 0.1
    assert (decoder.run(ids).logits - expected).abs().max() == 0.0
    assert decoder.model.config.rms_norm_eps == 3e-6
    again = weights.locate("tiny", offline=True)
    assert (again.source, again.folder) == ("from the package index, kept on this machine", located.folder)


def test_the_kept_copy_needs_no_index(index, monkeypatch):
    folder = weights.locate("tiny").folder
    index.archive.unlink()
    assert weights.locate("tiny").folder == folder
    shutil.copytree(folder, folder.parent / "copy")  # new times: the checksums decide
    shutil.rmtree(folder)
    (folder.parent / "copy").rename(folder)
    for path in folder.iterdir():
        os.utime(path, (1, 1))
    assert weights.locate("tiny", offline=True).folder == folder
    os.truncate(folder / WEIGHTS, 1000)
    with pytest.raises(UserError, match=r"The kept copy of tiny in .* is damaged and was not used"):
        weights.locate("tiny", offline=True)


@pytest.mark.parametrize("damage", ["one bit", "gone", "manifest", "other format"])
def test_a_damaged_kept_copy_is_made_anew(index, damage):
    folder = weights.locate("tiny").folder
    good = (folder / WEIGHTS).read_bytes()
    broken = good[: len(good) // 2] + bytes([good[len(good) // 2] ^ 1]) + good[len(good) // 2 + 1 :]
    if damage == "one bit":
        (folder / WEIGHTS).write_bytes(broken)
    elif damage == "gone":
        (folder / "tokenizer.json").unlink()
    elif damage == "manifest":
        (folder / "manifest.json").write_text("[1]")
    else:
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 0}))
    with pytest.raises(UserError, match="offline nothing is fetched"):
        weights.locate("tiny", offline=True)
    found = weights.locate("tiny")
    assert found.source == "from the package index"
    assert (found.folder / WEIGHTS).read_bytes() == good
    assert weights.locate("tiny", offline=True).notes == []


def test_what_a_killed_process_left_is_cleared(index, tmp_path):
    work = tmp_path / "cache" / ".work-tiny"
    work.mkdir(parents=True)
    (work / "model.gguf").write_bytes(b"half")
    weights.locate("tiny")
    assert cached_names(tmp_path) == {"tiny", "tiny.lock"}


RACER = """
import sys
from gptviz.decoder.sources import converted
from gptviz.decoder.sources.catalogue import Model, Wheel
model = Model("tiny", wheel=eval(sys.argv[1]))
print(converted.make(model, lambda step: print(step.stage)))
"""


def test_two_processes_do_the_work_once(index, tmp_path):
    command = [sys.executable, "-c", RACER, repr(index.model.wheel)]
    racers = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [racer.communicate(timeout=100)[0].split() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0]
    assert [lines[-1] for lines in outputs] == [str(tmp_path / "cache" / "tiny")] * 2
    assert sorted("download" in lines for lines in outputs) == [False, True]


def test_a_folder_in_the_wrong_place_is_replaced(index, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious.txt").write_text("keep me")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "tiny").symlink_to(elsewhere)
    (tmp_path / "cache" / ".work-tiny").symlink_to(elsewhere)
    weights.locate("tiny")
    assert not (tmp_path / "cache" / "tiny").is_symlink()
    assert (elsewhere / "precious.txt").read_text() == "keep me"


# What can go wrong with the index


def test_a_wheel_that_is_not_the_expected_one(index, tmp_path):
    with index.archive.open("ab") as file:
        file.write(b"more")
    with pytest.raises(UserError, match=r"tiny-llama==1.0 that arrived does not have the expected SHA-256"):
        weights.locate("tiny")
    assert cached_names(tmp_path) == {"tiny.lock"}


def test_an_index_without_the_wheel(index):
    index.archive.unlink()
    with pytest.raises(UserError, match=r"does not offer tiny-llama==1.0"):
        weights.locate("tiny")


def test_a_python_without_pip(index, tmp_path, monkeypatch):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(UserError, match="this Python has no pip"):
        weights.locate("tiny")


def test_a_download_that_stands_still_is_stopped(index, tmp_path, monkeypatch):
    stuck = tmp_path / "python"
    stuck.write_text("#!/bin/sh\nexec sleep 60\n")
    stuck.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stuck))
    monkeypatch.setattr(wheel, "STALL", 0.5)
    with pytest.raises(UserError, match="pip received nothing"):
        weights.locate("tiny")
    assert cached_names(tmp_path) == {"tiny.lock"}


@pytest.mark.parametrize(("kind", "words"), [("member", "is damaged"), ("pre", "could not be converted")])
def test_a_wheel_with_something_else_inside(index, tmp_path, original, monkeypatch, kind, words):
    other = {"member": "tiny_llama/other.gguf"} if kind == "member" else {"pre": "llama-bpe"}
    built = build_index(tmp_path / "other", original, **other)
    monkeypatch.setenv("PIP_FIND_LINKS", str(built.folder))
    monkeypatch.setitem(MODELS, "tiny", built.model)
    with pytest.raises(UserError, match=words):
        weights.locate("tiny")
    assert cached_names(tmp_path) == {"tiny.lock"}


# Disks and folders


def test_a_full_disk_is_known_before_the_download(index, monkeypatch):
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    monkeypatch.setattr(subprocess, "Popen", None)  # pip is not even started
    with pytest.raises(UserError, match=r"tiny needs .* of disk in .* 1.00\xa0kB are free; GPTVIZ_CACHE names another"):
        weights.locate("tiny")


def test_a_disk_that_fills_up_while_writing(index, tmp_path):
    largest = index.model.wheel.member_size - 1000  # the wheel still fits, the unpacked file does not
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, before[1]))
    try:
        with pytest.raises(UserError, match=r"tiny could not be kept in .*: .*file too large"):
            weights.locate("tiny")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert cached_names(tmp_path) == {"tiny.lock"}


def test_weights_that_cannot_be_written(index, tmp_path, monkeypatch):
    """safetensors has an error class of its own, which only quotes the system."""

    def full(tensors: dict[str, np.ndarray], path: Path, **more: object) -> None:
        path.write_bytes(b"half")
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(gguf_llama, "save_file", full)
    with pytest.raises(UserError, match="could not be converted: the disk is full"):
        weights.locate("tiny")
    assert cached_names(tmp_path) == {"tiny.lock"}


def test_a_cache_folder_that_cannot_be_made(index, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("GPTVIZ_CACHE", str(place))
        with pytest.raises(UserError, match=r"tiny could not be kept in .*GPTVIZ_CACHE names another folder"):
            weights.locate("tiny")


def test_a_disk_without_locks(index, monkeypatch):
    def refuse(lock: object, timeout: float) -> None:
        raise NotImplementedError("this file system has no locks")

    monkeypatch.setattr(converted.FileLock, "acquire", refuse)
    with pytest.raises(UserError, match=r"tiny could not be kept in .*this file system has no locks"):
        weights.locate("tiny")


def test_a_user_without_a_home(index, monkeypatch):
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("GPTVIZ_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert weights.locate_default().name == "nano"
    with pytest.raises(UserError, match="no home folder"):
        weights.locate("tiny")


# The order


def test_offline_touches_no_network(index, monkeypatch):
    def forbidden(*args: object, **kwargs: object) -> None:
        raise AssertionError("offline means no network")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    monkeypatch.setattr(subprocess, "Popen", forbidden)
    found = weights.locate_default(offline=True)
    assert (found.name, found.source) == ("nano", "bundled")
    assert len(found.notes) == 2
    assert found.notes[0].startswith("gpt2 is not on this machine")
    with pytest.raises(UserError, match="tiny is not on this machine, and offline nothing is fetched"):
        weights.locate("tiny", offline=True)


def test_the_default_falls_through_to_what_there_is(index, monkeypatch):
    monkeypatch.setattr(catalogue, "default_order", lambda: ["gpt2", "tiny", "nano"])
    found = weights.locate_default()
    assert (found.name, found.source) == ("tiny", "from the package index")
    assert found.notes == ["gpt2 cannot be fetched: the Hub does not answer within 2 s."]
    index.archive.unlink()
    shutil.rmtree(found.folder)
    found = weights.locate_default("gpt2-xl")
    assert (found.name, found.source) == ("nano", "bundled")
    assert [note.split()[0] for note in found.notes] == ["gpt2-xl", "gpt2", "The"]
    with pytest.raises(UserError, match="not the name of a model"):
        weights.locate_default("gpt 2")


def test_nano_is_there_at_once(index):
    found = weights.locate("nano")
    assert (found.name, found.folder, found.source) == ("nano", ROOT / "assets" / "nano", "bundled")
    assert weights.locate_default("nano").name == "nano"
