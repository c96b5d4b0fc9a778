"""`python -m bench` measures and prints JSON; see --help."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers.utils import logging

from bench import decode, load, memory, page, panel, patching, slider, tokens

PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "decode": decode.run,
    "prefill": decode.run_prefill,
    "load": load.run,
    "memory": memory.run,
    "page": page.run,
    "panel": panel.run,
    "patching": patching.run,
    "slider": slider.run,
    "tokens": tokens.run,
}


def main() -> None:
    """Run the parts asked for and write their figures."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"which: {', '.join(PARTS)}; all without one")
    parser.add_argument("--threads", type=int, default=2, help="torch threads (2)")
    parser.add_argument("--shape", choices=list(decode.SHAPES), help="decode and prefill: this shape only")
    parser.add_argument("--quick", action="store_true", help="shorter runs, to see that everything works")
    parser.add_argument("--out", type=Path, help="also write the JSON to this file")
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    if args.shape:
        decode.SHAPES = {args.shape: decode.SHAPES[args.shape]}
    torch.set_num_threads(args.threads)
    logging.set_verbosity_error()
    figures = {name: PARTS[name](quick=args.quick) for name in args.parts or PARTS}
    text = json.dumps(figures, indent=2)
    if args.out:
        args.out.write_text(text + "\n")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
