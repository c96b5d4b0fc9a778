"""`python -m bench` measures and prints JSON; see --help."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers.utils import logging

from bench import (
    ctranslate,
    decode,
    load,
    memory,
    page,
    painted,
    panel,
    patching,
    report,
    roundtrip,
    slider,
    start,
    tokens,
)

PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "decode": decode.run,
    "prefill": decode.run_prefill,
    "load": load.run,
    "ctranslate": ctranslate.run,
    "memory": memory.run,
    "page": page.run,
    "painted": painted.run,
    "panel": panel.run,
    "patching": patching.run,
    "roundtrip": roundtrip.run,
    "slider": slider.run,
    "start": start.run,
    "tokens": tokens.run,
}


def main() -> None:
    """Run the parts asked for and write their figures."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"which: {', '.join(PARTS)}; all without one")
    parser.add_argument("--threads", type=int, default=2, help="torch threads (2)")
    parser.add_argument("--shape", choices=list(decode.SHAPES), help="decode and prefill: this shape only")
    parser.add_argument("--quick", action="store_true", help="shorter runs, to see that everything works")
    parser.add_argument("--results", type=Path, help="also write the figures as Markdown to this file")
    parser.add_argument("--out", type=Path, help="also write the JSON to this file")
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    if args.shape:
        decode.SHAPES = {args.shape: decode.SHAPES[args.shape]}
    torch.set_num_threads(args.threads)
    logging.set_verbosity_error()
    figures = {name: measured(name, quick=args.quick) for name in args.parts or PARTS}
    text = json.dumps(figures, indent=2)
    if args.results:
        report.write(args.results, figures, quick=args.quick)
    if args.out:
        args.out.write_text(text + "\n")
    sys.stdout.write(text + "\n")


def measured(name: str, *, quick: bool) -> dict[str, Any]:
    """One part's figures, or the sentence why it has none; beside them the load and the seconds it took."""
    begin, load_before = time.perf_counter(), os.getloadavg()[0]
    sys.stderr.write(f"{name} …\n")
    try:
        found = PARTS[name](quick=quick)
    except Exception as error:  # noqa: BLE001 - the other parts go on, and the report says which had none
        found = {"failed": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
    return {**found, "load_before": load_before, "took_s": round(time.perf_counter() - begin, 1)}


if __name__ == "__main__":
    main()
