"""Break the code on purpose, one small mistake at a time, and see that a test notices. Not collected by pytest.

    python tests/breaks.py                 every break, a few seconds each (on Linux and macOS: it forks)
    python tests/breaks.py model layer     those whose name contains one of the words
    python tests/breaks.py --list          their names
    python tests/breaks.py --check         only whether each still fits the code and names tests that exist

Each break replaces one piece of text in a copy of the tree and runs the tests named beside it, which must fail there
and pass in the copy as it was. A break that nothing notices ends the script with 1. The breaks stand in breaks.toml.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 300  # seconds for the tests of one break


@dataclass(frozen=True)
class Break:
    """One mistake: in `file` the text `old`, which stands there once, becomes `new`; `tests` must notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str


def table() -> list[Break]:
    """The rows of breaks.toml."""
    rows = tomllib.loads((ROOT / "tests" / "breaks.toml").read_text(encoding="utf-8"))["break"]
    return [Break(**row) for row in rows]


@contextmanager
def copied_tree() -> Iterator[Path]:
    """A copy of what git knows of the working tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory(prefix="gptviz-breaks-") as folder:
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                target = Path(folder) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, target)
        yield Path(folder)


def preload() -> None:
    """Import what is large and not ours: every run is a fork of this process, and finds it there."""
    for module in ("torch", "transformers.models.gpt2.modeling_gpt2", "gradio"):
        importlib.import_module(module)


def passes(tree: Path, tests: Iterable[str]) -> bool:
    """Whether the tests pass in that tree. RuntimeError when they cannot be run at all."""
    arguments = ["-x", "-q", "-p", "no:cacheprovider", *tests]
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if child == 0:
            try:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                os.chdir(tree)
                sys.path.insert(0, str(tree))
                code = int(importlib.import_module("pytest").main(arguments))
            except BaseException:  # noqa: BLE001 - a fork must never come back as a second parent
                code = 3
            os._exit(code)
        code = _exit_code(child)
        if code not in (0, 1):
            output.seek(0)
            raise RuntimeError(f"pytest {' '.join(arguments)} ended with {code}:\n{output.read()[-3000:]}")
    return code == 0


def _exit_code(child: int) -> int:
    """The child's exit code; 1, a failure, when it runs longer than PATIENCE."""
    due = time.monotonic() + PATIENCE
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > due:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 1
        time.sleep(0.1)


def unfit(broken: Break, tree: Path = ROOT) -> str:
    """Why a break cannot be made: its text does not stand in the file exactly once, or a test is gone. "" when it can.

    It does not look inside [brackets]: pytest itself refuses a case that does not exist.
    """
    path = tree / broken.file
    found = path.read_text(encoding="utf-8").count(broken.old) if path.is_file() else 0
    if found != 1:
        return f'"{broken.name}": its text stands {found} times in {broken.file}, not once.'
    if broken.old == broken.new:
        return f'"{broken.name}" changes nothing.'
    for test in broken.tests.split():
        file, _, name = test.partition("::")
        text = (tree / file).read_text(encoding="utf-8") if (tree / file).is_file() else ""
        if f"def {name.partition('[')[0]}(" not in text and (name or not text):
            return f'"{broken.name}": there is no test {test}.'
    return ""


def caught(tree: Path, broken: Break) -> bool:
    """Whether the named tests notice the break."""
    path = tree / broken.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(broken.old, broken.new), encoding="utf-8")
    try:
        return not passes(tree, broken.tests.split())
    finally:
        path.write_text(text, encoding="utf-8")


def chosen(words: Iterable[str]) -> list[Break]:
    words = list(words)
    return [each for each in table() if not words or any(word in each.name for word in words)]


def main() -> int:
    """Run the breaks asked for; 0 when every one is caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names; all breaks without one")
    parser.add_argument("--list", action="store_true", help="print the names and do nothing")
    parser.add_argument("--check", action="store_true", help="see that each fits the code, and run nothing")
    options = parser.parse_args()
    todo = chosen(options.words)
    if options.list:
        print("\n".join(each.name for each in todo))
        return 0
    problems = [problem for each in todo if (problem := unfit(each))]
    if problems or options.check:
        print("\n".join(problems) or f"All {len(todo)} fit.")
        return 2 if problems else 0
    preload()
    survivors = []
    with copied_tree() as tree:
        if not passes(tree, dict.fromkeys(test for each in todo for test in each.tests.split())):
            print("These tests fail without any break.")
            return 2
        for each in todo:
            found = caught(tree, each)
            print(f"{'caught  ' if found else 'SURVIVES'}  {each.name}", flush=True)
            survivors += [] if found else [each]
    print(f"{len(todo) - len(survivors)} of {len(todo)} caught.")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
