"""One row times a matrix: what a decode step does with every weight, as fast as memory lets it.

`F.linear` with a single row uses one thread in float32, and a kernel that is slow in bfloat16. Here the same product
is cut in parts, one a thread, or handed to a packed kernel. Nothing in this file changes a model's own weights.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

Product = Callable[[Tensor], Tensor]  # [1, in] → [1, out]
MAX_PARTS = 8  # memory is saturated by then
MAX_COPY = 512 * 2**20  # bytes: no head larger than this is kept a second time


def row_product(weight: Tensor, bias: Tensor | None = None) -> Product:
    """The fastest x Wᵀ + b for one row x [1, in] and a weight [out, in], whichever way it lies in memory.

    Equal to F.linear up to the order of a sum. Holds views of the weight; in bfloat16 on a CPU a packed copy.
    """
    weight, bias = weight.detach(), None if bias is None else bias.detach()
    if weight.device.type == "cpu" and weight.dtype is torch.float32:
        if weight.t().is_contiguous():
            return _cut_inputs(weight, bias)
        if weight.is_contiguous() and _parts(weight.shape[0]) > 1:
            return _cut_outputs(weight, bias)
    if weight.device.type == "cpu" and weight.dtype is torch.bfloat16 and _packs_bfloat16():
        return _packed(weight, bias)
    return lambda x: F.linear(x, weight, bias)


def head_product(weight: Tensor) -> Product:
    """The row product of the LM head [V, d], the largest matrix of a small model.

    In float32 on a CPU it is kept a second time, as [d, V], which reads nearly twice as fast; the tied table stays.
    """
    weight = weight.detach()
    lies_badly = weight.device.type == "cpu" and weight.dtype is torch.float32 and not weight.t().is_contiguous()
    if lies_badly and weight.nbytes <= MAX_COPY:
        return row_product(weight.t().contiguous().t())
    return row_product(weight)


def _parts(size: int) -> int:
    """How many equal parts `size` can be cut into, at most one a thread."""
    most = min(torch.get_num_threads(), MAX_PARTS)
    return max(p for p in range(1, most + 1) if size % p == 0)


def _cut_inputs(weight: Tensor, bias: Tensor | None) -> Product:
    """For a weight stored as [in, out]: each thread takes some inputs, and the partial sums are added."""
    outputs, inputs = weight.shape
    parts = _parts(inputs)
    stacked = weight.t().view(parts, inputs // parts, outputs)
    start = weight.new_zeros(parts, 1, outputs)
    if bias is not None:
        start[0, 0] = bias

    def product(x: Tensor) -> Tensor:
        sums = torch.baddbmm(start, x.reshape(parts, 1, inputs // parts), stacked)  # [parts, 1, out]
        return sums[0] + sums[1] if parts == 2 else sums.sum(0)  # [1, out]

    return product


def _cut_outputs(weight: Tensor, bias: Tensor | None) -> Product:
    """For a weight stored as [out, in]: each thread makes some of the outputs."""
    outputs, inputs = weight.shape
    parts = _parts(outputs)
    stacked = weight.view(parts, outputs // parts, inputs).transpose(1, 2)  # [parts, in, out / parts]
    start = None if bias is None else bias.view(parts, 1, -1)

    def product(x: Tensor) -> Tensor:
        rows = x.reshape(1, 1, inputs).expand(parts, 1, inputs)
        sums = torch.bmm(rows, stacked) if start is None else torch.baddbmm(start, rows, stacked)
        return sums.view(1, outputs)  # [parts, 1, out / parts] before

    return product


def _packs_bfloat16() -> bool:
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _packed(weight: Tensor, bias: Tensor | None) -> Product:
    """oneDNN's own order of the weight: twice as fast for one row, at the price of a second copy."""
    with torch.inference_mode(False), torch.no_grad():
        packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), 1)
    linear = torch.ops.mkldnn._linear_pointwise.default

    def product(x: Tensor) -> Tensor:
        return linear(x, packed, bias, "none", [], "")

    return product
