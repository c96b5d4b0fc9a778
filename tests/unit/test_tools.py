"""The shell scripts that make calls."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("old", [False, True])
def test_without_a_recent_node_the_checks_of_the_scripts_are_left_out_and_it_says_so(tmp_path: Path, old: bool) -> None:
    if old:  # a Node that is there and too old answers the question for its version with a failure
        for name in ("node", "npm"):
            (tmp_path / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
            (tmp_path / name).chmod(0o755)
    shell = shutil.which("sh")
    assert shell
    done = subprocess.run(
        [shell, "tools/node.sh"], cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert "left out" in done.stdout


# Which build of torch


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def cpu_index(tmp_path: Path) -> Iterator[str]:
    """A loopback index that has a page for torch."""
    (tmp_path / "index" / "torch").mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "index")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def chosen(
    tmp_path: Path, index: str, *, gpu: str = "exit 9", pip: int = 0, has_torch: bool = False
) -> tuple[str, str]:
    """What tools/torch.sh says last, and what it asked pip for, with an nvidia-smi and a Python of the test's own."""
    tools = tmp_path / "bin"
    tools.mkdir()
    asked = tmp_path / "asked"
    python = f"""case "$1" in
        -m) echo "$@" >>'{asked}'; exit {pip};;
        -c) exit {0 if has_torch else 1};;
        *) exec '{sys.executable}' "$@";;
    esac"""
    for name, script in (("nvidia-smi", gpu), ("python", python), ("uname", "echo Linux")):
        (tools / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    done = subprocess.run(
        ["sh", "tools/torch.sh", str(tools / "python")],
        cwd=ROOT,
        env={"PATH": f"{tools}:{os.environ['PATH']}", "TORCH_INDEX": index},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout, asked.read_text(encoding="utf-8") if asked.exists() else ""


def test_without_a_gpu_torch_comes_from_the_cpu_index(tmp_path: Path, cpu_index: str) -> None:
    said, asked = chosen(tmp_path, cpu_index)
    assert said == "torch: the CPU build, since this machine has no GPU.\n"
    pin = next(line.split()[0] for line in (ROOT / "requirements.txt").read_text().splitlines() if "torch==" in line)
    assert asked == f"-m pip install --disable-pip-version-check --no-deps --index-url {cpu_index} {pin}\n"


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (
            {"gpu": 'echo "GPU 0: NVIDIA T4 (UUID: GPU-1)"'},
            "the CUDA build, since this machine has a GPU (GPU 0: NVIDIA T4)",
        ),
        ({"has_torch": True}, "the one that is installed"),
        ({"index": "none"}, "from pip's own index"),
        ({"index": "http://127.0.0.1:1"}, "does not answer"),
    ],
)
def test_otherwise_torch_is_left_to_pip_and_it_says_why(
    tmp_path: Path, cpu_index: str, case: dict[str, Any], says: str
) -> None:
    said, asked = chosen(tmp_path, **{"index": cpu_index, **case})
    assert says in said
    assert said.count("\n") == 1
    assert asked == ""


def test_a_cpu_index_without_this_version_is_no_end(tmp_path: Path, cpu_index: str) -> None:
    said, _ = chosen(tmp_path, cpu_index, pip=1)
    assert "has no torch==" in said


def test_an_nvidia_smi_that_finds_no_gpu_counts_as_none(tmp_path: Path, cpu_index: str) -> None:
    said, _ = chosen(tmp_path, cpu_index, gpu="exit 0")
    assert "the CPU build" in said
