"""What nano has learned, measured: loss on fresh text, kinds of heads, continuations; and the README that says so."""

import json
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import GPT2LMHeadModel

from gptviz.decoder.tokens import Tokenizer
from gptviz.words import words

PROMPTS = (
    "The cat sat on the",
    "When Mary and John went to the store, John gave a drink to",
    "Once upon a time",
    "The capital of France is",
    "1, 2, 3,",
    "def add(a, b):\n",
)


class Training(NamedTuple):
    """What a training was, for its README."""

    command: str
    recipe: str
    seconds: float
    used: Tensor  # ids of the tokens that occur in the text
    fresh: list[list[int]]  # documents of another seed


@torch.no_grad()
def text_loss(model: GPT2LMHeadModel, documents: list[list[int]], end: int) -> float:
    """Mean loss in nats per token over documents, each read after an end-of-text, over the full vocabulary."""
    total, count = 0.0, 0
    for document in documents:
        ids = torch.tensor([[end, *document][: model.config.n_positions]])
        logits = model(ids).logits[0, :-1].float()  # [T - 1, V]
        total += F.cross_entropy(logits, ids[0, 1:], reduction="sum").item()
        count += ids.shape[1] - 1
    return total / count


def unigram_entropy(documents: list[list[int]]) -> float:
    """The loss in nats per token of knowing how often each token comes, and nothing else."""
    counts = torch.bincount(torch.tensor([token for document in documents for token in document])).double()
    share = counts[counts > 0] / counts.sum()
    return -(share * share.log()).sum().item()


@torch.no_grad()
def unused_mass(model: GPT2LMHeadModel, documents: list[list[int]], used: Tensor, end: int) -> float:
    """Mean probability that nano gives to all tokens its text never uses together."""
    unused = torch.ones(model.config.vocab_size, dtype=torch.bool)
    unused[used] = False
    masses = []
    for document in documents:
        logits = model(torch.tensor([[end, *document][: model.config.n_positions]])).logits[0].float()
        masses.append(logits.softmax(-1)[:, unused].sum(-1))  # [T]
    return torch.cat(masses).mean().item()


@torch.no_grad()
def head_scores(model: GPT2LMHeadModel, seed: int = 0, length: int = 40) -> tuple[Tensor, Tensor]:
    """Mean attention [L, h] to the token before (previous-token), and to the one after the last occurrence (induction).

    Measured on `length` random tokens of the whole vocabulary, repeated once.
    """
    pick = torch.Generator().manual_seed(seed)
    ids = torch.randint(model.config.vocab_size, (1, length), generator=pick).repeat(1, 2)
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    weights = torch.stack(model(ids, output_attentions=True).attentions)[:, 0]  # [L, h, T, T]
    model.set_attn_implementation(before)
    previous = weights.diagonal(-1, -2, -1)[..., 1:].mean(-1)
    induction = weights.diagonal(1 - length, -2, -1)[..., 1:].mean(-1)
    return previous, induction


@torch.no_grad()
def continuation(model: GPT2LMHeadModel, tokenizer: Tokenizer, prompt: str, limit: int = 40) -> str:
    """What nano writes after a prompt, taking the most likely token each time, up to end-of-text."""
    ids = tokenizer.encode(prompt)
    start = len(ids)
    while len(ids) < min(start + limit, model.config.n_positions):
        ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        if ids[-1] == tokenizer.end_of_text:
            break
    return tokenizer.decode(ids[start:])


def strongest(scores: Tensor) -> str:
    """Which head [L, h] scores most, and how much."""
    layer, head = divmod(int(scores.argmax()), scores.shape[1])
    return f"layer {layer}, head {head}: {scores.max().item():.2f} of its attention, on random tokens"


def figures(model: GPT2LMHeadModel, tokenizer: Tokenizer, training: Training) -> str:
    """The README of the folder: how the model was made and what was measured on the saved weights."""
    end, fresh = tokenizer.end_of_text, training.fresh
    previous, induction = head_scores(model)
    threads = f"{torch.get_num_threads()} CPU thread(s), torch {torch.__version__}"
    count = f"{len(fresh)} documents of another seed"
    unused = words().numbers.percent(unused_mass(model, fresh, training.used, end))
    lines = [
        "# nano",
        "",
        "The small decoder bundled with gptviz: GPT-2's architecture and vocabulary, 4 layers of 4 heads, width 64,",
        f"context 256, {model.num_parameters():,} parameters, stored as float16. Trained by the project on text it",
        "writes itself by the rules of `text.txt`; nothing else went into it. It knows small stories, series, sums and",
        "a few facts, and no more.",
        "",
        f"    {training.command}",
        "",
        "The same seed gives the same weights on the same machine with the same torch and number of threads.",
        "",
        "| figure | value |",
        "|---|---|",
        f"| recipe | `{training.recipe}` |",
        f"| training time | {training.seconds:.0f} s on {threads} |",
        f"| tokens of the vocabulary its text uses | {len(training.used):,} |",
        f"| loss on {count} | {text_loss(model, fresh, end):.3f} nats per token |",
        f"| unigram entropy of the same documents | {unigram_entropy(fresh):.3f} nats per token |",
        f"| probability on all unused tokens together | {unused} |",
        f"| strongest previous-token head | {strongest(previous)} |",
        f"| strongest induction head | {strongest(induction)} |",
        "",
        "Greedy continuations:",
        "",
    ]
    for prompt in PROMPTS:
        lines.append(f"- `{json.dumps(prompt)}` → `{json.dumps(continuation(model, tokenizer, prompt))}`")
    return "\n".join(lines) + "\n"
