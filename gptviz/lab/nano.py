"""Train nano, the small decoder that is bundled with gptviz, on the text of `nano_text`.

    python -m gptviz.lab.nano --seed 0 --out assets/nano

nano has GPT-2's architecture and GPT-2's vocabulary, of which its text uses about one token in thirty. The softmax
over the full vocabulary would cost most of the training time, so each step scores the used tokens and a fresh sample
of the others. Unused tokens share one learned vector plus a small random one of their own: as outputs they are
unlikely, as inputs they are words that differ, and an induction head copies them like any other. The same seed gives
the same weights on the same machine with the same number of threads.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.nano_text import stories

CONTEXT = 256
NOT_SCORED = -100


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the weights, besides the text."""

    seed: int = 0
    steps: int = 2400
    documents: int = 150_000
    batch: int = 16  # rows of CONTEXT tokens
    copies: int = 3  # rows of every batch that repeat tokens of no order
    sampled: int = 384  # unused tokens scored in a step
    rate: float = 4e-3
    noise: float = 0.1  # first spread of the unused tokens around their common vector; the spread is learned


def config() -> GPT2Config:
    """The shape of nano: 4 layers of 4 heads, width 64, GPT-2's vocabulary."""
    return GPT2Config(
        n_layer=4,
        n_head=4,
        n_embd=64,
        n_positions=CONTEXT,
        vocab_size=50257,
        activation_function="gelu_new",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=50256,
        eos_token_id=50256,
    )


def corpus(tokenizer: Tokenizer, seed: int, documents: int) -> list[list[int]]:
    """The token ids of `documents` documents, each closed by end-of-text."""
    return [[*tokenizer.encode(text), tokenizer.end_of_text] for text in islice(stories(seed), documents)]


class Rows:
    """Draws training rows from documents; ids inside are numbered used-first, so that a step can slice the table."""

    def __init__(self, documents: list[list[int]], vocabulary: int, end: int, seed: int):
        used = sorted({token for document in documents for token in document})
        self.used = torch.tensor(used)
        unused = torch.ones(vocabulary, dtype=torch.bool)
        unused[self.used] = False
        self.unused = unused.nonzero()[:, 0]
        self.order = torch.cat([self.used, self.unused])  # place in the table → token id
        place = {token: index for index, token in enumerate(used)}
        self.documents = [[place[token] for token in document] for document in documents]
        self.end = place[end]
        self.rng = random.Random(seed)

    def text(self) -> list[int]:
        """CONTEXT + 1 places: documents one after another, the last one cut; half of the rows open with end-of-text."""
        row = [self.end] if self.rng.random() < 0.5 else []
        while len(row) <= CONTEXT:
            row += self.rng.choice(self.documents)
        return row[: CONTEXT + 1]

    def copy(self, sampled: list[int]) -> tuple[list[int], list[int]]:
        """A row of tokens in no order, then again; its labels: only the repetition, which can be told, is scored."""
        pool: list[int] | range = sampled if self.rng.random() < 0.5 else range(len(self.used))
        row: list[int] = []
        labels: list[int] = []
        while len(row) <= CONTEXT:
            piece = self.rng.choices(pool, k=self.rng.randint(4, 80))
            row += piece + piece
            labels += [NOT_SCORED] * (len(piece) + 1) + piece[1:]
        return row[: CONTEXT + 1], labels[: CONTEXT + 1]

    def batch(self, size: int, copies: int, sampled: int) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs and labels [B, T] as columns of this step's table, and the unused tokens [sampled] it ends with."""
        chosen = torch.tensor(self.rng.sample(range(len(self.unused)), sampled))
        columns = [len(self.used) + index for index in range(sampled)]
        pairs = [(row, row) for row in (self.text() for _ in range(size - copies))]
        pairs += [self.copy(columns) for _ in range(copies)]
        inputs = torch.tensor([row for row, _ in pairs])[:, :-1]
        labels = torch.tensor([label for _, label in pairs])[:, 1:]
        return inputs, labels, chosen


class Trainee(nn.Module):
    """nano while it learns: the stock model, its token table split into used rows and one vector for all the others."""

    def __init__(self, rows: Rows, recipe: Recipe):
        super().__init__()
        shape = config()
        shape.activation_function = "gelu_pytorch_tanh"  # the same function in one kernel
        self.body = GPT2LMHeadModel(shape).transformer
        width = shape.n_embd
        self.used = nn.Parameter(torch.randn(len(rows.used), width) * 0.05)
        self.other = nn.Parameter(torch.zeros(width))
        self.spread = nn.Parameter(torch.tensor(recipe.noise))
        self.noise = torch.randn(len(rows.unused), width)

    def loss(self, inputs: Tensor, labels: Tensor, chosen: Tensor) -> Tensor:
        """Mean cross-entropy over the scored labels, an estimate of the one over the full vocabulary."""
        table = torch.cat([self.used, self.other + self.spread * self.noise[chosen]])  # [S, d]
        hidden = self.body(inputs_embeds=table[inputs], use_cache=False).last_hidden_state  # [B, T, d]
        scored = labels != NOT_SCORED
        answer = labels[scored]  # [N]
        logits = hidden[scored] @ table.T  # [N, S]
        # Each sampled token stands for several unused ones, except where it is itself the answer
        several = torch.zeros_like(logits)
        several[:, len(self.used) :] = math.log(len(self.noise) / len(chosen))
        several.scatter_(1, answer[:, None], 0.0)
        return F.cross_entropy(logits + several, answer)

    def table(self, rows: Rows) -> Tensor:
        """The full token table [V, d], in the order of the vocabulary."""
        full = torch.empty(len(rows.order), self.used.shape[1])
        full[rows.order] = torch.cat([self.used, self.other + self.spread * self.noise]).detach()
        return full


def rate(step: int, steps: int) -> float:
    """The share of the learning rate at a step: a short warm-up, then a half cosine down to nothing."""
    warm = max(1, steps // 20)
    return min((step + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * max(0, step - warm) / max(1, steps - warm)))


def train(rows: Rows, recipe: Recipe, report: Callable[[int, float], None] | None = None) -> GPT2LMHeadModel:
    """A trained nano in float32; `report(step, loss)` is called after every step."""
    torch.manual_seed(recipe.seed)
    trainee = Trainee(rows, recipe)
    matrices = [p for p in trainee.body.parameters() if p.ndim > 1]
    rest = [p for p in trainee.parameters() if not any(p is matrix for matrix in matrices)]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98), fused=True)
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * rate(step, recipe.steps)
        loss = trainee.loss(*rows.batch(recipe.batch, recipe.copies, recipe.sampled))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(trainee.parameters(), 1.0)
        optimizer.step()
        if report:
            report(step, loss.item())
    return finished(trainee, rows)


def finished(trainee: Trainee, rows: Rows) -> GPT2LMHeadModel:
    """The stock model with the trained weights."""
    model = GPT2LMHeadModel(config()).eval()
    state = {key: value for key, value in trainee.body.state_dict().items() if key != "wte.weight"}
    state["wte.weight"] = trainee.table(rows)
    model.transformer.load_state_dict(state)
    return model


def save(model: GPT2LMHeadModel, folder: Path) -> None:
    """Write the library's checkpoint: float16 on disk, named float32 in config.json so that it is loaded as that."""
    model.half().save_pretrained(folder)
    path = folder / "config.json"
    settings = json.loads(path.read_text())
    settings["dtype"] = "float32"
    path.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")


@torch.no_grad()
def text_loss(model: GPT2LMHeadModel, documents: list[list[int]], end: int) -> float:
    """Mean loss in nats per token over documents, each read after an end-of-text, over the full vocabulary."""
    total, count = 0.0, 0
    for document in documents:
        ids = torch.tensor([[end, *document][:CONTEXT]])
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
        logits = model(torch.tensor([[end, *document][:CONTEXT]])).logits[0].float()
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
    while len(ids) < min(start + limit, CONTEXT):
        ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        if ids[-1] == tokenizer.end_of_text:
            break
    return tokenizer.decode(ids[start:])


def read_me(model: GPT2LMHeadModel, rows: Rows, tokenizer: Tokenizer, recipe: Recipe, seconds: float) -> str:
    """The figures of this training, measured on the saved model and on text of another seed."""
    threads, end = torch.get_num_threads(), tokenizer.end_of_text
    fresh = corpus(tokenizer, recipe.seed + 1, 300)
    previous, induction = head_scores(model)
    options = f"--seed {recipe.seed} --steps {recipe.steps} --threads {threads}"
    lines = [
        "# nano",
        "",
        "The small decoder bundled with gptviz: GPT-2's architecture and vocabulary, 4 layers of 4 heads, width 64,",
        f"context 256, {model.num_parameters():,} parameters, stored as float16. Trained by the project on text that",
        "it writes itself by the rules of `text.txt`; nothing else went into it. It knows small stories, series,",
        "sums and a few facts, and no more.",
        "",
        f"    python -m gptviz.lab.nano {options} --out assets/nano",
        "",
        "The same seed gives the same weights on the same machine with the same torch and number of threads.",
        "",
        "| figure | value |",
        "|---|---|",
        f"| recipe | `{recipe}` |",
        f"| training time | {seconds:.0f} s on {threads} CPU thread(s), torch {torch.__version__} |",
        f"| tokens of the vocabulary its text uses | {len(rows.used):,} |",
        f"| loss on 300 documents of another seed | {text_loss(model, fresh, end):.3f} nats per token |",
        f"| unigram entropy of the same documents | {unigram_entropy(fresh):.3f} nats per token |",
        f"| probability on all unused tokens together | {unused_mass(model, fresh, rows.used, end):.2e} |",
        f"| strongest previous-token head | {strongest(previous)} |",
        f"| strongest induction head | {strongest(induction)} |",
        "",
        "Greedy continuations:",
        "",
    ]
    prompts = (
        "The cat sat on the",
        "When Mary and John went to the store, John gave a drink to",
        "Once upon a time",
        "1, 2, 3,",
    )
    for prompt in (*prompts, "The capital of France is", "def add(a, b):\n"):
        lines.append(f"- `{json.dumps(prompt)}` → `{json.dumps(continuation(model, tokenizer, prompt))}`")
    return "\n".join(lines) + "\n"


def strongest(scores: Tensor) -> str:
    layer, head = divmod(int(scores.argmax()), scores.shape[1])
    return f"layer {layer}, head {head}: {scores.max().item():.2f} of its attention, on random tokens"


def main(arguments: list[str] | None = None) -> None:
    """Train, save, load again and write the README of the folder."""
    parser = argparse.ArgumentParser(prog="python -m gptviz.lab.nano", description="Train the bundled model nano.")
    parser.add_argument("--seed", type=int, default=Recipe.seed)
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    recipe, tokenizer, start = Recipe(seed=options.seed, steps=options.steps), Tokenizer.gpt2(), time.perf_counter()
    documents = corpus(tokenizer, recipe.seed, recipe.documents)
    rows = Rows(documents, tokenizer.vocabulary, tokenizer.end_of_text, recipe.seed)

    def report(step: int, loss: float) -> None:
        if step % 100 == 0 or step == recipe.steps - 1:
            print(f"step {step:5d}  loss {loss:.3f}  {time.perf_counter() - start:5.0f} s", flush=True)

    save(train(rows, recipe, report), options.out)
    seconds = time.perf_counter() - start
    model = GPT2LMHeadModel.from_pretrained(options.out).eval()
    (options.out / "README.md").write_text(read_me(model, rows, tokenizer, recipe, seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
