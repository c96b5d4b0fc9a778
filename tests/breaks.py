"""Break the code on purpose, one small mistake at a time, and see that a test notices. Not collected by pytest.

    python tests/breaks.py                 every break, about ten seconds each
    python tests/breaks.py model layer     those whose name contains one of the words
    python tests/breaks.py --list          their names

Each break replaces one piece of text in a copy of the tree and runs the tests named beside it, which must fail there
and pass in the copy as it was. A break that nothing notices ends the script with 1. Add a row for each new claim.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
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


RUNS, LOADING, CHECKS = "tests/unit/test_runs.py", "tests/unit/test_loading.py", "tests/unit/test_page_checks.py"
SERVICE, WIRE, IDENTITY = "tests/unit/test_service.py", "tests/unit/test_wire.py", "tests/integration/test_identity.py"
KEY = 'key = ("once", experiment, decoder.identity, frozen(args), frozen(kwargs))'

BREAKS = [
    # What the cache's keys hold
    Break("a run's key without the model", "gptviz/service/runs.py",
          "return kind, decoder.identity, tuple(ids), rule", "return kind, tuple(ids), rule", RUNS),
    Break("a run's key with the model's name", "gptviz/service/runs.py",
          "return kind, decoder.identity, tuple(ids), rule", "return kind, decoder.name[:4], tuple(ids), rule",
          IDENTITY),
    Break("a run's key without the rule", "gptviz/service/runs.py",
          "return kind, decoder.identity, tuple(ids), rule", "return kind, decoder.identity, tuple(ids)", RUNS),
    Break("an experiment's key without the model", "gptviz/service/service.py",
          KEY, KEY.replace("decoder.identity, ", ""), RUNS),
    Break("an experiment's key without layer and method", "gptviz/service/service.py",
          KEY, KEY.replace("frozen(args), ", ""), RUNS),
    Break("an experiment's key without size and rule", "gptviz/service/service.py",
          KEY, KEY.replace(", frozen(kwargs)", ""), RUNS),
    Break("an experiment's key without the function", "gptviz/service/service.py",
          KEY, KEY.replace("experiment, ", ""), IDENTITY),
    Break("True and 1 share a key", "gptviz/service/cache.py",
          "return type(value), value", "return value", RUNS),
    # What a kept run serves
    Break("any run serves anybody", "gptviz/service/runs.py", "return self | other == self", "return True", RUNS),
    Break("a row of a batch serves those who need exact zeros", "gptviz/service/runs.py",
          "if not exact and (row :=", "if (row :=", RUNS),
    Break("a small run keeps only what was asked", "gptviz/service/runs.py",
          "            return whole\n", "            return wanted\n", "tests/integration/test_passes.py"),
    Break("looking changes what runs", "gptviz/decoder/attention.py",
          "if softcap is not None:  # the library's function has no cap", "if True:", RUNS),
    Break("one mask rule for all rows of a batch", "gptviz/decoder/attention.py",
          "for rule in self.rules]", "for rule in self.rules[:1] * len(self.rules)]", RUNS),
    Break("a cache without an end", "gptviz/service/cache.py",
          "while self.bytes > self.limit_bytes:", "while False:", f"{RUNS} {SERVICE}"),
    Break("a value replaced is counted twice", "gptviz/service/cache.py",
          "self.bytes -= old.size", "pass", RUNS),
    # Models and their loading
    Break("two models under one name", "gptviz/service/models.py",
          "decoder.name = _free(decoder.name, {other.name for other in others.values()})", "pass", IDENTITY),
    Break("a folder called nano is not loaded", "gptviz/service/loading.py",
          "if located.folder.resolve() != bundled.folder.resolve():", "if located.name != bundled.name:", IDENTITY),
    Break("a loading error is swallowed", "gptviz/service/loading.py",
          'notes.append(f"The model could not be loaded ({type(error).__name__}).")', "pass", LOADING),
    Break("a refusal while loading is swallowed", "gptviz/service/loading.py",
          "notes.append(str(error))", "pass", LOADING),
    Break("the home folder in notes", "gptviz/service/loading.py", 'note.replace(home, "~")', "note", LOADING),
    Break("start waits for the larger model", "gptviz/service/loading.py", "thread.start()", "thread.run()", LOADING),
    Break("start does not offer the larger model", "gptviz/service/loading.py",
          "self.add(self._load(located))", "self._load(located)", LOADING),
    # Pages
    Break("running on restarts its draws at 0", "gptviz/lessons/next_token.py",
          "start=len(written),", "start=0,", CHECKS),
    Break("True is a whole number", "gptviz/lessons/page.py",
          "isinstance(value, bool)\n        or not isinstance(value, int | float)\n        or not abs",
          "not isinstance(value, int | float)\n        or not abs", CHECKS),
    # The worker
    Break("a training step in another's inference mode", "gptviz/service/worker.py",
          "with torch.inference_mode(False), torch.enable_grad():", "with torch.enable_grad():", SERVICE),
    Break("any number of trainings at once", "gptviz/service/service.py", "with self._training:", "if True:", SERVICE),
    Break("the last state is lost", "gptviz/service/worker.py", "if held is not _END:", "if False:", SERVICE),
    Break("the twins train in the caller's thread", "gptviz/service/service.py",
          "yield from self.worker.each(states, every)", "yield from states", SERVICE),
    # What goes out
    Break("NaN becomes 0", "gptviz/service/wire.py",
          "isfinite(value):\n        return None", "isfinite(value):\n        return 0.0", WIRE),
    Break("a packed tensor forgets its shape", "gptviz/service/wire.py",
          '"shape": list(tensor.shape)}', '"shape": [tensor.numel()]}', WIRE),
    # Numbers
    Break("the loss of the token just read", "gptviz/lab/masking/leak.py",
          "paid = surprisal(before.logits[:-1], ids[1:])", "paid = surprisal(before.logits[:-1], ids[:-1])",
          "tests/unit/test_leak.py -k payloads"),
    Break("truncate judged as strictly as edit", "gptviz/lab/masking/prefix.py",
          'return 0.0 if method == "edit" else', "return 0.0 if True else",
          "tests/unit/test_prefix.py -k 'not smollm2'"),
]  # fmt: skip


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


def passes(tree: Path, tests: str) -> bool:
    """Whether the tests pass in that tree. RuntimeError when they cannot be run at all."""
    command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider {tests}"
    try:
        done = subprocess.run(command, shell=True, cwd=tree, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0


def caught(tree: Path, broken: Break) -> bool:
    """Whether the named tests notice the break. ValueError when its text does not stand in the file exactly once."""
    path = tree / broken.file
    text = path.read_text(encoding="utf-8")
    if text.count(broken.old) != 1:
        raise ValueError(f'"{broken.name}": its text stands {text.count(broken.old)} times in {broken.file}, not once.')
    path.write_text(text.replace(broken.old, broken.new), encoding="utf-8")
    try:
        return not passes(tree, broken.tests)
    finally:
        path.write_text(text, encoding="utf-8")


def chosen(words: Iterable[str]) -> list[Break]:
    words = list(words)
    return [each for each in BREAKS if not words or any(word in each.name for word in words)]


def main() -> int:
    """Run the breaks asked for; 0 when every one is caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names; all breaks without one")
    parser.add_argument("--list", action="store_true", help="print the names and do nothing")
    options = parser.parse_args()
    todo = chosen(options.words)
    if options.list:
        print("\n".join(each.name for each in todo))
        return 0
    survivors = []
    with copied_tree() as tree:
        for tests in dict.fromkeys(each.tests for each in todo):
            if not passes(tree, tests):
                print(f"{tests} fails without any break.")
                return 2
        for each in todo:
            found = caught(tree, each)
            print(f"{'caught  ' if found else 'SURVIVES'}  {each.name}", flush=True)
            survivors += [] if found else [each]
    print(f"{len(todo) - len(survivors)} of {len(todo)} caught.")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
