"""Every layer's attention in turn, from a run that is kept where that is small, else while a pass goes by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gptviz.decoder.attention import CAUSAL, MaskRule, Observer
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.edits import Edits
from gptviz.decoder.run import Run, Runs

KEEP_BYTES = 96 * 2**20  # below this, every layer's scores and weights are kept for whoever looks next


def watch(
    decoder: Decoder,
    ids: Sequence[int],
    look: Observer,
    *,
    rule: MaskRule = CAUSAL,
    inputs: Iterable[int] = (),
    residual: bool = False,
    edits: Edits | None = None,
    runs: Runs | None = None,
) -> Run:
    """Call look(layer, scores, weights), [h, T, T] each, for every layer of one pass over the ids.

    Returns the run, whose `seen` has the mask of every layer; `inputs`, `residual` and `edits` as in `Decoder.run`. At
    most two layers' matrices are in memory at once when the text is long.
    """
    shape = decoder.shape
    if 2 * 4 * shape.layers * shape.heads * len(ids) ** 2 > KEEP_BYTES:
        return decoder.run(ids, rule=rule, observe=look, inputs=inputs, residual=residual, last_only=True, edits=edits)
    run = (runs or decoder.run)(
        ids, rule=rule, capture=range(shape.layers), inputs=inputs, residual=residual, last_only=True, edits=edits
    )
    for layer, seen in sorted(run.attention.items()):
        look(layer, seen.scores, seen.weights)
    return run
