"""How much text models of several sizes learned from, and the work that was: public figures, with their sources."""

from __future__ import annotations

from dataclasses import dataclass

from gptviz.lab.looking import family

OPERATIONS = 6  # for each parameter and token: two forward, four backward (Kaplan et al. 2020, section 2.1)
BEST_RATIO = 20  # tokens a parameter for the lowest loss at fixed work (Hoffmann et al. 2022, table 3)


@dataclass(frozen=True)
class Trained:
    """A model with its parameters, the tokens it was trained on (repeats counted), and who says so."""

    name: str
    parameters: int
    tokens: int
    source: str

    @property
    def operations(self) -> int:
        """Floating-point operations of its training, about: 6 · parameters · tokens."""
        return OPERATIONS * self.parameters * self.tokens

    @property
    def ratio(self) -> float:
        """Tokens for each parameter."""
        return self.tokens / self.parameters


def _public(name: str, tokens: float, source: str) -> Trained:
    return Trained(name, family.count(family.PUBLIC[name]).total, int(tokens), source)


# Where its makers name no number (GPT-2, Mistral), a model is left out. nano: 2,000 steps of 12 rows of 256 tokens.
TRAINED = (
    Trained("nano", 3_432_896, 2_000 * 12 * 256, "assets/nano/README.md"),
    _public("gpt3-175b", 300e9, "Brown et al. 2020, table 2.1"),  # not words: a source
    Trained("Chinchilla-70B", 70_000_000_000, 1_400_000_000_000, "Hoffmann et al. 2022"),  # not words: a source
    _public("Llama-2-7B", 2e12, "Touvron et al. 2023"),  # not words: a source
    _public("TinyLlama-1.1B", 3e12, "Zhang et al. 2024"),  # not words: a source
    _public("SmolLM2-135M", 2e12, "Allal et al. 2025"),  # not words: a source
    _public("SmolLM2-1.7B", 11e12, "Allal et al. 2025"),  # not words: a source
    _public("Llama-3-8B", 15e12, "Meta-Llama-3-8B, model card"),  # not words: a source
    _public("Llama-3-70B", 15e12, "Meta-Llama-3-70B, model card"),  # not words: a source
    _public("Qwen2.5-0.5B", 18e12, "Qwen2.5 technical report, 2024"),  # not words: a source
)
