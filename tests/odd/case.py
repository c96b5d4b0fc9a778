"""A checkpoint folder loaded by gptviz beside the stock library's own model, on one prompt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, DynamicCache

from gptviz.decoder.decoder import Decoder
from gptviz.service import Service
from tests.odd.endpoints import endpoints

TEXT = "the cat sat on the mat and the old king sat in the new sun"
NEW = 10  # tokens written
LOGITS = 2e-5  # largest difference allowed, as a share of the largest logit: float32 in another order of sums
WEIGHTS = 1e-5
CHANCE = 1e-6


@dataclass
class Case:
    """A loaded model beside the library's own, eager and as it comes, on one prompt."""

    folder: Path
    text: str = TEXT

    def __post_init__(self) -> None:
        self.decoder = Decoder.load(self.folder)
        service = Service()
        service.add(self.decoder)
        self.call = endpoints(service)
        self.ids = self.decoder.tokenizer.encode(self.text)

    @cached_property
    def stock(self) -> Any:
        return AutoModelForCausalLM.from_pretrained(self.folder).eval()

    @cached_property
    def eager(self) -> list[Tensor]:
        """The library's own attention weights, one [h, T, T] a layer."""
        model = AutoModelForCausalLM.from_pretrained(self.folder, attn_implementation="eager").eval()
        with torch.inference_mode():
            found = model(torch.tensor([self.ids]), output_attentions=True, use_cache=False).attentions
        return [weights[0] for weights in found]

    @cached_property
    def logits(self) -> Tensor:
        """The library's logits [T, V]."""
        with torch.inference_mode():
            return self.stock(torch.tensor([self.ids]), use_cache=False).logits[0].float()

    @cached_property
    def written(self) -> tuple[list[int], set[int]]:
        """What the library's greedy `generate` writes without a cache, and the bytes its caches hold meanwhile.

        The cache it makes from the configuration counts only where it writes the same: a window that is stated and
        not used cuts it.
        """
        prompt = torch.tensor([self.ids])
        asked: dict[str, Any] = {"max_new_tokens": NEW, "do_sample": False, "return_dict_in_generate": True}
        asked["attention_mask"] = torch.ones_like(prompt)
        truth = self.stock.generate(prompt, **asked, use_cache=False).sequences
        cached = [self.stock.generate(prompt, **asked), self.stock.generate(prompt, **asked, cache=DynamicCache())]
        kept = {_bytes(run.past_key_values) for run in cached if torch.equal(run.sequences, truth)}
        return truth[0, len(self.ids) :].tolist(), kept

    @property
    def grouped(self) -> bool:
        """True where rows are grouped by content (experts), so that equal rows may be rounded differently."""
        return any("expert" in name for name, _ in self.stock.named_modules())

    @property
    def zero(self) -> float:
        """What counts as unmoved: exactly nothing, or the rounding of grouped rows."""
        return LOGITS * float(self.logits.abs().max()) if self.grouped else 0.0


def _bytes(cache: Any) -> int:
    return sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)


def near(what: str, ours: Any, theirs: Any, most: float) -> float:
    """The largest difference. AssertionError where it is more than allowed or no number."""
    ours, theirs = (torch.as_tensor(x, dtype=torch.float64) for x in (ours, theirs))  # a list would become float32
    difference = float((ours - theirs).abs().max())
    assert difference <= most, f"{what} differs from the library's by {difference:.3g} (allowed {most:.1g})"
    return difference
