"""The shell scripts that make calls."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

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
