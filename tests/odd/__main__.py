"""`make families`: what gptviz shows of each family, exactly or not at all, and why, as a Markdown table."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from tests.odd import compare, defects, folders, known
from tests.odd.compare import CHECKS, Outcome
from tests.odd.families import FAMILIES
from tests.odd.layouts import LAYOUTS


def main() -> int:
    """Print the tables; 1 where something is wrong that `known` does not list."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name, folders.quiet():
        root = Path(name)
        bad = [*_families(root), *_layouts(root)]
        _defects(root)
    for problem in bad:
        print(problem, file=sys.stderr)
    return 1 if bad else 0


def _families(root: Path) -> list[str]:
    print(f"## Families\n\nEach of {len(CHECKS)} checks: {', '.join(CHECKS)}; against the stock library, in float32.\n")
    print("| family | verdict | largest difference: logits | weights |\n|---|---|---|---|")
    bad = []
    for family in FAMILIES:
        found = compare.examine(folders.make(root, family))
        print(
            f"| {family} | {_verdict(family, found)} | {_size(found, 'logits')} | {_size(found, 'attention')} |",
            flush=True,
        )
        refused = known.REFUSED.get(family)
        if bool(refused) != bool(found.refused) or (refused or "") not in found.refused:
            bad.append(f"{family}: {found.refused or 'shown, and expected to be refused'}")
        bad += [
            f"{family}, {name}: {fault}" for name, fault in found.wrong.items() if (family, name) not in known.FAULTS
        ]
        for name in found.refusals.keys() | {check for of, check in known.PARTLY if of == family}:
            said, words = found.refusals.get(name, ""), known.PARTLY.get((family, name), "")
            if not words or words not in said:
                bad.append(f"{family}, {name}: {said or 'shown, and expected to be refused'}")
    return bad


def _verdict(family: str, found: Outcome) -> str:
    if found.refused:
        return f"refused: {found.refused}"
    wrong = [f"{name}: {known.FAULTS.get((family, name), said)}" for name, said in found.wrong.items()]
    partly = [f"{name} refused" for name in found.refusals]
    return "; ".join([f"exact in {len(found.exact)} of {len(CHECKS)}", *wrong, *partly])


def _size(found: Outcome, name: str) -> str:
    return f"{found.exact[name]:.1e}" if name in found.exact else "–"


def _layouts(root: Path) -> list[str]:
    print("\n## Vocabularies\n\n| layout | verdict |\n|---|---|")
    bad = []
    for layout in LAYOUTS:
        found = compare.examine(folders.make(root, "llama", layout))
        print(f"| {layout} | {_verdict('llama', found)} |", flush=True)
        bad += [f"{layout}, {name}: {said}" for name, said in [*found.wrong.items(), *found.refusals.items()]]
    return bad


def _defects(root: Path) -> None:
    print("\n## Damaged folders\n\n| what is wrong | the sentence |\n|---|---|")
    for name, (damage, _) in defects.REFUSED.items():
        folder = defects.copy(folders.make(root, "llama"), root / f"damaged {name}")
        damage(folder)
        try:
            Decoder.load(folder, name="mine")
            said = "loaded"
        except UserError as error:
            said = str(error).replace(str(root), "…")
        print(f"| {name} | {said} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
