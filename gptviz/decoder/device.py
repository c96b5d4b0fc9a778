"""Where a model runs and in which number format."""

from __future__ import annotations

from contextlib import suppress

import torch

from gptviz.decoder.errors import UserError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def pick_device(device: str) -> torch.device:
    """ "auto" is CUDA where there is one, then MPS, then the CPU. UserError for a device that is not there."""
    if device == "auto":
        usable = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device(usable)
    with suppress(RuntimeError, AssertionError):
        torch.empty(1, device=device)
        return torch.device(device)
    raise UserError("no_device", value=device)


def pick_dtype(dtype: str) -> torch.dtype:
    """The torch dtype of that name. UserError for any other name."""
    if dtype not in DTYPES:
        raise UserError("one_of", name="dtype", value=dtype, allowed=list(DTYPES))
    return DTYPES[dtype]
