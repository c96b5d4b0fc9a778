"""Decoder: run a prompt, a batch of prompts, or a stream of new tokens, with a cache or without."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from gptviz.decoder import attention
from gptviz.decoder.attention import CAUSAL, Errand, MaskRule, Observer
from gptviz.decoder.cache import GrowingCache, KeptRows, cache_bytes, kept_rows
from gptviz.decoder.device import pick_device, pick_dtype
from gptviz.decoder.edits import Edits
from gptviz.decoder.errors import UserError
from gptviz.decoder.experts import Experts, Tally, counted, one_row_at_a_time
from gptviz.decoder.fast_pass import FastPass, find
from gptviz.decoder.loading import load_model, load_tokenizer, reason
from gptviz.decoder.probe import check_once, final_norm, find_layers, verify
from gptviz.decoder.projection import projections
from gptviz.decoder.run import PIECE_S, Extent, LayerAttention, Run, Step, Underway, keep_residual, on_cpu
from gptviz.decoder.shape import shape_of, within
from gptviz.decoder.tokens import Tokenizer
from gptviz.words import Said

_IDENTITIES = itertools.count(1)


class Decoder:
    """A decoder-only model with its tokenizer on one device, ready to be looked into.

    Safe for concurrent callers: whatever a pass is sent for travels with its own forward call. `name` is a label, and
    two decoders may share one; `identity` is the object's own, and no other decoder ever has it.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: Tokenizer, *, name: str, source: str) -> None:
        attention.register()
        self.model, self.tokenizer, self.name, self.source = model.eval(), tokenizer, name, source
        self.identity = next(_IDENTITIES)
        self.passes = 0  # forward passes so far, steps of written text included
        self.layers = find_layers(model)
        self.facts = verify(model, self.layers)
        check_once(model, self.layers)
        self.shape = shape_of(model, self.facts)
        self.experts = Experts(model, self.layers)
        self.norm = final_norm(model, self.layers)
        self.projections = projections(model, self.layers)  # W_O of each layer, None where heads cannot be told apart
        self.between_layers: Callable[[], None] | None = None  # called after each block of the library's forward
        for layer in self.layers:
            if keep_residual not in layer._forward_hooks.values():  # another decoder may stand around this model
                layer.register_forward_hook(keep_residual, with_kwargs=True)
            layer.register_forward_hook(lambda *_: self._pause())
        self.plain_head = self._head_is_plain()
        self.cache_rows = self._cache_rows()  # what each layer keeps of a position, seen on one token
        self._fast: FastPass | None = None
        self._sought = False
        self._lock = threading.Lock()

    @classmethod
    def load(
        cls, folder: Path, *, name: str = "", source: str = "", device: str = "auto", dtype: str = "float32"
    ) -> Decoder:
        """Load a checkpoint folder in the library's format. UserError where it cannot be used."""
        target, kind = pick_device(device), pick_dtype(dtype)
        if kind is torch.float32:  # a TF32 product keeps 10 bits: enough to break every equality shown here
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        folder = Path(folder)
        name = name or folder.name
        model, tokenizer = load_model(folder, name, kind), load_tokenizer(folder, name)
        try:
            model.to(target)  # type: ignore[arg-type]  # its decorator hides nn.Module.to's signature
            return cls(model, tokenizer, name=name, source=source)
        except UserError:
            raise
        except Exception as error:  # whatever a model the library can build does when it is first run
            raise UserError("loading.cannot_run", model=name, why=reason(error)) from error

    @classmethod
    def from_model(cls, model: PreTrainedModel, tokenizer: Tokenizer, *, name: str = "", source: str = "") -> Decoder:
        """Wrap a model that is already in memory."""
        return cls(model, tokenizer, name=name or str(model.config.model_type), source=source or Said("loading.memory"))

    def _pause(self) -> None:
        if self.between_layers is not None:
            self.between_layers()

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.dtype

    # Running

    @torch.inference_mode()
    def run(
        self,
        ids: Sequence[int],
        *,
        rule: MaskRule = CAUSAL,
        capture: Iterable[int] = (),
        residual: bool = False,
        last_only: bool = False,
        observe: Observer | None = None,
        inputs: Iterable[int] = (),
        one_row: bool = False,
        edits: Edits | None = None,
        exact: bool = True,
    ) -> Run:
        """One forward pass over T tokens, always exact (see `Runs`).

        `capture` names the layers whose scores and weights are kept, `inputs` those whose query, key and value
        are; `observe(layer, scores, weights)` ([h, T, T] each) sees every layer in turn and keeps nothing, which is
        what a long prompt needs. `one_row` runs experts one row at a time, so that a row's bits do not depend on which
        others chose the same expert; `edits` switches heads off. UserError on bad ids.
        """
        ids = self.check_ids(ids)
        kept: dict[int, tuple[Tensor, Tensor]] = {}
        wanted = {self.check_layer(layer) for layer in capture}

        def look(layer: int, scores: Tensor, weights: Tensor) -> None:
            if layer in wanted:
                kept[layer] = scores[0].cpu(), weights[0].cpu()
            if observe is not None:
                observe(layer, scores[0], weights[0])

        watching = observe is not None or bool(wanted)
        observed = None if observe else wanted
        errand = Errand(rule, look if watching else None, observed, residual=residual, inputs=inputs, edits=edits)
        with one_row_at_a_time(one_row):
            logits = self._forward(torch.tensor([ids]), errand, last_only=last_only)[0]  # [T or 1, V]
        stream = torch.cat(errand.residual).cpu() if errand.residual else None  # [L+1, T, d]
        given = {layer: found.row(0, len(ids)) for layer, found in errand.inputs.items() if found is not None}
        seen = on_cpu(errand.seen)
        shown = {layer: LayerAttention(*found, seen[layer]) for layer, found in kept.items()}
        return Run(ids, logits, rule, stream, shown, seen, given)

    @torch.inference_mode()
    def batch(
        self,
        rows: Sequence[Sequence[int]],
        *,
        rule: MaskRule | Sequence[MaskRule] = CAUSAL,
        residual: bool = False,
        inputs: Iterable[int] = (),
        one_row: bool = False,
    ) -> list[Run]:
        """One forward pass over B rows of any lengths, under one mask rule or one a row.

        Each row's Run is what the row alone would give, but for rounding. Rows are padded on the right, where
        positions stay what they are, and no query reads a padded key; `one_row` as in `run`.
        """
        checked = [self.check_ids(row) for row in rows]
        lengths = [len(row) for row in checked]
        T = max(lengths)
        padded = torch.tensor([row + [0] * (T - len(row)) for row in checked])  # [B, T]
        sizes = None if min(lengths) == T else torch.tensor(lengths, device=self.device)
        errand = Errand(rule, lengths=sizes, residual=residual, inputs=inputs)
        with one_row_at_a_time(one_row):
            logits = self._forward(padded, errand)  # [B, T, V]
        stream = torch.stack(errand.residual, dim=1).cpu() if errand.residual else None  # [B, L+1, T, d]
        rules = errand.rules * (1 if len(errand.rules) > 1 else len(checked))
        return [
            Run(
                row,
                logits[b, : len(row)],
                rules[b],
                None if stream is None else stream[b, :, : len(row)],
                inputs={layer: found.row(b, len(row)) for layer, found in errand.inputs.items() if found is not None},
            )
            for b, row in enumerate(checked)
        ]

    @torch.inference_mode()
    def batch_last(self, rows: Sequence[Sequence[int]]) -> list[Run]:
        """The same under the model's own masks, with the last position's logits [1, V] and the stream of each row.

        Only for a model whose head reads a position alone (`plain_head`): no other position's logits are made.
        """
        checked = [self.check_ids(row) for row in rows]
        lengths = [len(row) for row in checked]
        padded = torch.tensor([row + [0] * (max(lengths) - len(row)) for row in checked])  # [B, T]
        sizes = None if min(lengths) == max(lengths) else torch.tensor(lengths, device=self.device)
        errand = Errand(lengths=sizes, residual=True)
        self._forward(padded, errand, last_only=True)
        stream = torch.stack(errand.residual or [], dim=1).cpu()  # [B, L+1, T, d]
        last = torch.stack([stream[b, -1, n - 1] for b, n in enumerate(lengths)])  # [B, d]
        logits = self._head(last)  # [B, V]
        return [
            Run(row, logits[b : b + 1].clone(), residual=stream[b, :, : len(row)].clone())
            for b, row in enumerate(checked)
        ]

    def stream(self, ids: Sequence[int], choose: Callable[[Tensor], int], **extent: Unpack[Extent]) -> Generator[Step]:
        """Generate token by token; `choose` turns the logits [V] (float32) into the next id."""
        steps = self.stream_in_pieces(ids, choose, **extent)
        yield from (step for step in steps if isinstance(step, Step))

    def stream_in_pieces(
        self, ids: Sequence[int], choose: Callable[[Tensor], int], *, every: float = math.inf, **extent: Unpack[Extent]
    ) -> Iterator[Step | Underway]:
        """`stream` for a caller who may want to stop within a step: Underway about every `every` seconds of one."""
        text = self.check_ids(ids)
        room = min(extent["max_new_tokens"], self.shape.context - len(text))
        use_cache, keep_logits = extent.get("use_cache", True), extent.get("keep_logits", True)
        cache = self.new_cache() if use_cache else None
        fresh = text
        fast = self.fast
        for index in range(room):
            spent, begin = 0.0, time.perf_counter()
            tally = Tally()
            for done in self.pieces(fast, fresh, cache, tally):
                if isinstance(done, int) and (piece := time.perf_counter() - begin) >= min(every, PIECE_S):
                    spent += piece
                    if every < math.inf:
                        yield Underway(index, done)
                    self._pause()
                    begin = time.perf_counter()
            assert isinstance(done, Tensor)
            logits = done
            chosen = int(choose(logits))
            seconds = spent + time.perf_counter() - begin
            kept, read = logits if keep_logits else None, self.experts.bytes_read(tally)
            yield Step(index, chosen, kept, len(fresh), seconds, cache_bytes(cache), read)
            text = [*text, chosen]
            fresh = [chosen] if use_cache else text

    def new_cache(self) -> GrowingCache:
        """An empty cache that keeps what the library's own keeps for this model, and all that its masks let it read."""
        return GrowingCache(self.model.config, [fact.reach for fact in self.facts])

    def _cache_rows(self) -> list[KeptRows]:
        cache = self.new_cache()
        self.step([0], cache)
        return kept_rows(cache)

    @property
    def fast(self) -> FastPass | None:
        """The family's forward written out for speed, made and compared with the library at the first call.

        None where there is none, and for whoever asks meanwhile, perhaps from `between_layers`: the library's forward
        serves as well. The weights must not change any more: some are kept twice, the second time laid out for speed.
        """
        if not self._sought and self._lock.acquire(blocking=False):
            try:
                self._fast, self._sought = find(self.model), True
            finally:
                self._lock.release()
        return self._fast

    @torch.inference_mode()
    def pieces(
        self, fast: FastPass | None, fresh: Sequence[int], cache: GrowingCache | None, tally: Tally
    ) -> Iterator[Tensor | int]:
        """How many blocks are done while the forward runs, then the logits [V], float32 on the CPU."""
        if fast is None:
            with counted(tally):
                logits = self.step(fresh, cache)
            yield logits
            return
        self.passes += 1
        for found in fast.pieces(torch.tensor(list(fresh), device=self.device), cache):
            yield found if isinstance(found, int) else found.float().cpu()

    @torch.inference_mode()
    def step(self, fresh: Sequence[int], cache: DynamicCache | None) -> Tensor:
        """Run the fresh tokens after whatever the cache holds; the logits [V] of the last one, float32 on the CPU."""
        return self.step_rows([fresh], cache)[0]

    @torch.inference_mode()
    def step_each(self, fresh: Sequence[int], cache: DynamicCache) -> Tensor:
        """Like `step`, with the logits of every fresh token: [n, V]."""
        return self._forward(torch.tensor([list(fresh)]), Errand(), cache=cache)[0]

    @torch.inference_mode()
    def step_rows(self, fresh: Sequence[Sequence[int]], cache: DynamicCache | None) -> Tensor:
        """Like `step` for B rows of equal length that continue the B rows of one cache: logits [B, V]."""
        return self._forward(torch.tensor([list(row) for row in fresh]), Errand(), last_only=True, cache=cache)[:, -1]

    def _forward(
        self, ids: Tensor, errand: Errand, *, last_only: bool = False, cache: DynamicCache | None = None
    ) -> Tensor:
        self.passes += 1
        keep: dict[str, Any] = {"logits_to_keep": 1} if last_only else {}
        if cache is not None:
            keep["cache"] = cache
        output = self.model(ids.to(self.device), use_cache=cache is not None, errand=errand, **keep)
        return output.logits.float().cpu()  # [B, T or 1, V]

    # Parts

    @torch.inference_mode()
    def head(self, x: Tensor) -> Tensor:
        """Final norm and LM head on residual vectors [..., d]: logits [..., V], float32 on the CPU.

        UserError for a model that does more to its logits than that.
        """
        if not self.plain_head:
            raise UserError("no_plain_head", model=self.name)
        return self._head(x)

    def _head(self, x: Tensor) -> Tensor:
        output = self.model.get_output_embeddings()(self.norm(x.to(self.device, self.dtype)))
        return output.float().cpu()

    def _head_is_plain(self) -> bool:
        run = self.run([0, 1, 2], residual=True)
        assert run.residual is not None
        with torch.inference_mode():
            difference = (self._head(run.residual[-1]) - run.logits).abs().max()
        return bool(
            difference <= 1e-4 * run.logits.abs().max().clamp(min=1.0) * (1 if self.dtype is torch.float32 else 300)
        )

    # Limits

    def check_ids(self, ids: Sequence[int]) -> list[int]:
        """The ids as a plain list. UserError when there are none, too many, or one is outside the vocabulary."""
        ids = [int(i) for i in ids]
        if not ids:
            raise UserError("no_token")
        if len(ids) > self.shape.context:
            raise UserError("text_too_long", n=len(ids), model=self.name, most=self.shape.context)
        for i in ids:
            if not 0 <= i < self.shape.vocabulary:
                raise UserError("no_such_id", value=i, last=self.shape.vocabulary - 1)
        return ids

    def check_layer(self, layer: int) -> int:
        """The layer, if the model has it. UserError otherwise."""
        return within("layer", layer, self.shape.layers, self.name)

    def check_head(self, head: int) -> int:
        """The head, if the model has it. UserError otherwise."""
        return within("head", head, self.shape.heads, self.name)
