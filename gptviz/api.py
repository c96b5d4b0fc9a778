"""gptviz in a notebook or a script, without a page or a server:

    import gptviz
    model = gptviz.load("nano")
    model.attention("The cat sat on the mat", layer=3, head=1).matrix
    model.next_token("The cat sat on the", temperature=0.7)
    model.generate("The cat sat", max_new_tokens=10).text

Methods have the names and arguments of the endpoints and give dataclasses with tensors. A bad value raises UserError.
What a page draws, a result shows: `result.show()` in a notebook, `result.save_html("name.html")` as one file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from gptviz.decoder.attention import MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.pieces import single
from gptviz.decoder.run import Run
from gptviz.decoder.sources import weights
from gptviz.lab.looking import ablation, heads, logit_lens
from gptviz.lab.looking import attribution as parts
from gptviz.lab.looking import neurons as fired
from gptviz.lab.looking import patching as copied
from gptviz.lab.looking import routes as followed
from gptviz.lab.looking.logit_lens import Reading
from gptviz.lab.masking import leak, prefix
from gptviz.lab.masking.leak import Contamination
from gptviz.lab.masking.prefix import Check
from gptviz.lab.writing import cache_work, sampling
from gptviz.lab.writing.sampling import Settings
from gptviz.lab.writing.writer import BeamSearch, Writing
from gptviz.pictures.drawn import Drawn, drawn

if TYPE_CHECKING:
    from gptviz.pictures.picture import Picture
    from gptviz.service import Service

STRATEGIES = ("greedy", "sample", "beam")


@dataclass(frozen=True, repr=False)
class Attention(Drawn):
    """One head's matrix [T, T] at a stage; row q is what the query at position q gives each key."""

    tokens: list[str]
    layer: int
    head: int
    stage: str
    matrix: Tensor = field(repr=False)


@dataclass(frozen=True, repr=False)
class NextToken(Drawn):
    """The likeliest next tokens with their text, likeliest first, and the whole distribution behind them."""

    tokens: list[str]
    p: list[float]  # after temperature, top-k and top-p
    entropy: float  # nats, of the same distribution
    stages: sampling.Stages = field(repr=False)  # float64 [V] at each stage


class Mask(Drawn, Contamination):
    """How far one replaced token reaches, largest |Δ| each: stream `change` [L+1, T], `logit_change` [T]."""


class Prefix(Drawn, Check):
    """Whether the kept positions moved: `deltas` [keep], the largest |Δ logit| each, and `changed` beside them."""


class KVCache(Drawn, cache_work.Bill):
    """The same text written with and without the cache: positions, FLOPs, bytes and seconds of both lanes."""


class Lens(tuple[Reading, ...], Drawn):
    """L+1 readings of one position: after the embedding, and after each layer."""

    def __repr__(self) -> str:
        return f"Lens({len(self)} readings)"  # not words: a value in Python


class Attribution(Drawn, parts.Attribution):
    """A logit, or the difference of two, as a sum of `parts`: embedding, heads, feed-forward layers, biases."""


class Patching(Drawn, copied.Patching):
    """`matrix` [L, T]: the share of another text's answer that comes back when one place is copied from its run."""


class Neurons(Drawn, fired.Neurons):
    """One feed-forward layer at one token: `activations` [m], and the `neurons` that write most."""


class Routes(Drawn, followed.Routes):
    """The `edges` that one token's stream was made from, each with its share of the place that it enters."""


@dataclass(frozen=True)
class Generated:
    """A continuation: the text it adds, its ids, and why it stopped ("end_of_text", "length" or "context").

    The token that ends a text is among the ids, not in the text.
    """

    text: str
    ids: list[int] = field(repr=False)
    stop: str = ""


def load(name: str | Path = "nano", *, device: str = "auto", dtype: str = "float32", offline: bool = False) -> Model:
    """A model by its name in the catalogue, a Hub id, or a checkpoint folder; fetched where it is not yet here.

    UserError, with one sentence, when no source can give it or the device is not there.
    """
    found = weights.locate(name, offline=offline)
    return Model(Decoder.load(found.folder, name=found.name, source=found.source, device=device, dtype=dtype))


class Model:
    """A loaded model; `decoder` is the layer below, for all that has no method here."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self._service: Service | None = None

    def __repr__(self) -> str:
        shape, where = self.decoder.shape, self.decoder.device
        kind = str(self.decoder.dtype).removeprefix("torch.")
        parts = f"{shape.layers} layers × {shape.heads} heads, {kind} on {where}"  # not words: a value in Python
        return f"<gptviz {self.decoder.name}: {parts}>"

    def ids(self, text: str) -> list[int]:
        """The text's token ids [T]. UserError for an empty text and for one that is longer than the context."""
        if not isinstance(text, str) or not text:
            raise UserError("filled_string", name="text", value=text)
        return self.decoder.check_ids(self.decoder.tokenizer.encode(text))

    def tokens(self, text: str) -> list[str]:
        """The text's tokens as the pages show them: blanks visible, bytes where a token is no whole character."""
        return self._shown(self.ids(text))

    def run(
        self, text: str, *, capture: Sequence[int] = (), open_layers: Sequence[int] = (), direction: str = "causal"
    ) -> Run:
        """One forward pass: logits [T, V], the stream [L+1, T, d], and attention [h, T, T] of the captured layers."""
        rule = self._rule(open_layers, direction)
        return self.decoder.run(self.ids(text), rule=rule, capture=capture, residual=True)

    def attention(
        self, text: str, layer: int = 0, head: int = 0, stage: str = "weights", open_layers: Sequence[int] = ()
    ) -> Attention:
        """One head from scores through mask to weights; `stage` is "scores", "masked" or "weights"."""
        if stage not in heads.STAGES:
            raise UserError("one_of", name="stage", value=stage, allowed=list(heads.STAGES))
        layer, head = self.decoder.check_layer(layer), self.decoder.check_head(head)
        rule = self._rule(open_layers, "none" if open_layers else "causal")
        found = self.decoder.run(self.ids(text), rule=rule, capture=[layer], last_only=True).attention[layer]
        seen = Attention(self.tokens(text), layer, head, stage, heads.stage_of(found, head, stage))
        fields = {"head": f"{layer}.{head}", "stage": stage, "rows": "all"}
        return drawn(Attention, seen, None if open_layers else self._seen("attention", text, fields))

    def mask(
        self,
        text: str,
        open_layers: Sequence[int] = (),
        direction: str = "causal",
        position: int = -1,
        replacement: str = " the",  # not words: a piece of a vocabulary
    ) -> Mask:
        """What moves when the token at `position` is replaced: stream [L+1, T] and logits [T], largest |Δ| each."""
        ids = self.ids(text)
        position = leak.check_position(position, len(ids))
        new = leak.one_token(self.decoder, replacement)
        found = leak.contamination(self.decoder, ids, position, new, self._rule(open_layers, direction))
        fields = {"show": "reach", "at": position, "by": replacement, **self._open(open_layers, direction)}
        return drawn(Mask, found, self._seen("mask", text, fields))

    def prefix(
        self, text: str, keep: int, open_layers: Sequence[int] = (), direction: str = "causal", method: str = "truncate"
    ) -> Prefix:
        """Do the logits of the first `keep` tokens depend on what follows? Largest |Δ| at each, with its tolerance."""
        found = prefix.check(self.decoder, self.ids(text), keep, self._rule(open_layers, direction), method)
        fields = {"keep": keep, "method": method, **self._open(open_layers, direction)}
        return drawn(Prefix, found, self._seen("prefix", text, fields))

    def next_token(
        self,
        text: str,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        count: int = 20,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
    ) -> NextToken:
        """The next token's distribution over the whole vocabulary.

        temperature 0 is greedy; top_k 0, top_p 1, min_p 0 and repetition_penalty 1 are off; at most `count` are listed.
        """
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise UserError("whole_from", name="count", value=count, low=1)
        ids = self.ids(text)
        logits = self.decoder.run(ids, last_only=True).logits[-1]
        settings = Settings(temperature, top_k, top_p, min_p=min_p, repetition_penalty=repetition_penalty)
        found = sampling.stages(logits, settings, ids)
        likeliest = found.kept_ids()[:count]
        p, nats = found.final[likeliest].tolist(), sampling.entropy(found.final)
        fields = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
        fields["repetition_penalty"] = repetition_penalty
        make = self._seen("next_token", text, fields)
        return drawn(NextToken, NextToken(self._shown(likeliest), p, nats, found), make)

    def lens(self, text: str, position: int = -1, count: int = 5) -> Lens:
        """The prediction at one position read off after the embedding and after each layer: L+1 readings."""
        found = Lens(logit_lens.logit_lens(self.decoder, self.run(text), position, count=count))
        found._make = self._seen("inside", text, {"at": position})
        return found

    def attribution(self, text: str, target: str = "", against: str = "") -> Attribution:
        """What each part adds to the last position's logit of `target` ("": the likeliest), less that of `against`."""
        found = parts.attribution(self.decoder, self.ids(text), self._piece(target), self._piece(against, "against"))
        return drawn(Attribution, found, self._seen("inside", text, {"show": "parts", "against": against}))

    def patching(self, text: str, source: str, target: str = "", against: str = "", part: str = "stream") -> Patching:
        """How much of the source's answer comes back, place by place; both texts have the same number of tokens.

        `part`, what is copied, is "stream", "attention" or "feed_forward"; "" for `target` is what the source makes
        likelier.
        """
        named = self._piece(target), self._piece(against, "against")
        found = list(copied.patching(self.decoder, self.ids(text), self.ids(source), *named, part))[-1]
        return drawn(Patching, found, self._seen("inside", text, {"show": "patching", "source": source, "part": part}))

    def neurons(self, text: str, layer: int = 0, position: int = -1, count: int = 10) -> Neurons:
        """The neurons of one feed-forward layer at one token, and the token ids that the strongest push."""
        found = fired.neurons(self.decoder, self.ids(text), layer, position, count)
        return drawn(Neurons, found, self._seen("inside", text, {"show": "neurons", "layer": layer, "at": position}))

    def routes(self, text: str, position: int = -1, least: float = followed.LEAST) -> Routes:
        """The route of one token's stream, from the top down, over edges with at least this share."""
        found = followed.routes(self.decoder, self.ids(text), position, least)
        return drawn(Routes, found, self._seen("inside", text, {"keep": 100 * least, "at": position}))

    def ablate(
        self,
        text: str,
        heads: Sequence[Sequence[int]] = (),
        edges: Sequence[Sequence[int]] = (),
        mode: str = "zero",
    ) -> ablation.Ablation:
        """The next token's probabilities [V] before and after: heads [layer, head], edges [layer, head, query, key]."""
        ids = self.ids(text)
        return ablation.ablate(self.decoder, ids, ablation.edits_of(self.decoder, len(ids), heads, edges, mode))

    def kv_cache(self, text: str, new_tokens: int = 20) -> KVCache:
        """Write the same text without and with the cache, and compare: work, memory, time, tokens and logits."""
        race = cache_work.Race(self.decoder, self.ids(text), new_tokens)
        for _ in race:
            pass
        fields = {"new": new_tokens}
        return drawn(KVCache, race.bill(), self._seen("kv_cache", text, fields))

    def generate(
        self,
        text: str,
        strategy: str = "greedy",
        max_new_tokens: int = 20,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        beams: int = 4,
        seed: int = 0,
        use_cache: bool = True,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        ignore_end: bool = False,
    ) -> Generated:
        """A continuation of the text, "greedy", "sample" (with the seed) or "beam"."""
        if strategy not in STRATEGIES:
            raise UserError("one_of", name="strategy", value=strategy, allowed=list(STRATEGIES))
        ids = self.ids(text)
        most: dict[str, Any] = {"max_new_tokens": max_new_tokens, "ignore_end": ignore_end}
        settings = Settings(temperature, top_k, top_p, min_p=min_p, repetition_penalty=repetition_penalty)
        if strategy == "beam":
            search = BeamSearch(self.decoder, ids, beams=beams, repetition_penalty=repetition_penalty, **most)
            for _ in search:
                pass
            return self._generated(ids, search.finished[0].ids if search.finished else [], search.stop)
        choose = sampling.greedily(settings, ids)
        if strategy == "sample":
            choose = sampling.sampler(settings, sampling.check_seed(seed), past=ids)
        writing = Writing(self.decoder, ids, choose, use_cache=use_cache, **most)
        new = [step.id for step in writing]
        return self._generated(ids, new, writing.stop)

    def _generated(self, prompt: list[int], new: list[int], stop: str) -> Generated:
        said = new[:-1] if stop == "end_of_text" else new
        return Generated(self.decoder.tokenizer.decode_after(prompt, said), new, stop)

    def _piece(self, text: str, name: str = "target") -> int | None:
        """The one token that continues a text by this one; None for "". UserError where the vocabulary has none."""
        if not text:
            return None
        found = single(self.decoder.tokenizer, text, name, self.decoder.shape.vocabulary)
        if found is None:
            raise UserError("no_single_token", name=name, value=text, model=self.decoder.name)
        return found

    def _shown(self, ids: Sequence[int]) -> list[str]:
        return [token.shown for token in self.decoder.tokenizer.tokens(list(ids))]

    def _seen(self, page: str, text: str, fields: dict[str, Any]) -> Callable[[], Picture]:
        """What makes the page's picture in this state, once it is asked for."""
        return functools.partial(self._picture, page, text, fields)

    def _picture(self, page: str, text: str, fields: dict[str, Any]) -> Picture:
        from gptviz.pictures.picture import picture
        from gptviz.service import Service

        if self._service is None:
            self._service = Service()
            self._service.add(self.decoder)
        return picture(self._service, self.decoder, page, text, fields)

    def _open(self, open_layers: Sequence[int], direction: str) -> dict[str, str]:
        """The masks as a page's fields have them."""
        if direction == "causal":
            return {"open": ""}
        return {"open": ",".join(map(str, open_layers)) or "all", "direction": direction}

    def _rule(self, open_layers: Sequence[int], direction: str) -> MaskRule:
        return leak.rule_of(open_layers, direction, self.decoder.shape.layers)
