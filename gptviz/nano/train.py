"""Train nano, the small decoder that is bundled with gptviz, on the text of `text`.

    python -m gptviz.nano.train --seed 0 --out assets/nano

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
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Model

from gptviz.decoder.tokens import Tokenizer
from gptviz.nano.figures import Training, figures
from gptviz.nano.start import random_tokens, start
from gptviz.nano.text import stories

CONTEXT = 256
NOT_SCORED = -100


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the weights, besides the text."""

    seed: int = 0
    steps: int = 2000
    documents: int = 150_000
    batch: int = 12  # rows of CONTEXT tokens
    copies: int = 2  # rows of every batch that repeat tokens of no order
    sampled: int = 384  # unused tokens scored in a step
    rate: float = 4e-3  # AdamW's
    block_rate: float = 1e-2  # Muon's; three times as much undoes the start
    wave: float = 0.4  # first height of the waves in the position table
    noise: float = 0.25  # first spread of the token vectors; the unused ones keep theirs


def config() -> GPT2Config:
    """The shape of nano: 4 layers of 4 heads, width 64, GPT-2's vocabulary."""
    return GPT2Config(
        n_layer=4,
        n_head=4,
        n_embd=64,
        n_positions=CONTEXT,
        initializer_range=0.125,  # 1 / √d: the usual 0.02 leaves the scores of so narrow a model near zero for long
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
        piece = self.rng.choices(pool, k=int(CONTEXT ** self.rng.uniform(0.15, 0.9)))  # 2 to 147, short ones more often
        row = (piece * (CONTEXT // len(piece) + 2))[: CONTEXT + 1]
        return row, [NOT_SCORED] * (len(piece) + 1) + row[len(piece) + 1 :]

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
        self.body: GPT2Model = GPT2LMHeadModel(shape).transformer
        start(self.body, recipe.wave)
        self.used = nn.Parameter(random_tokens(len(rows.used), shape.n_embd, recipe.noise))
        self.other = nn.Parameter(torch.zeros(shape.n_embd))
        self.noise = random_tokens(len(rows.unused), shape.n_embd, recipe.noise)

    def loss(self, inputs: Tensor, labels: Tensor, chosen: Tensor, copies: int = 0) -> Tensor:
        """Mean cross-entropy over the scored labels, an estimate of the one over the full vocabulary.

        In the last `copies` rows the choice is among the tokens of the row: where to look, not what to write.
        """
        table = torch.cat([self.used, self.other + self.noise[chosen]])  # [S, d]
        hidden = self.body(inputs_embeds=table[inputs], use_cache=False).last_hidden_state  # [B, T, d]
        scored = labels != NOT_SCORED
        answer = labels[scored]  # [N]
        logits = hidden[scored] @ table.T  # [N, S]
        # Each sampled token stands for several unused ones, except where it is itself the answer
        several = torch.zeros(len(table))
        several[len(self.used) :] = math.log(len(self.noise) / len(chosen))
        text = scored[: len(scored) - copies].sum()
        shift = several.expand(int(text), -1).scatter(1, answer[:text, None], 0.0)  # [N text, S]
        present = torch.zeros(copies, len(table), dtype=torch.bool)
        present.scatter_(1, inputs[len(inputs) - copies :], True)
        absent = torch.zeros(present.shape).masked_fill(~present, -math.inf)  # [copies, S]
        rows = scored[len(scored) - copies :].nonzero()[:, 0]
        return F.cross_entropy(logits + torch.cat([shift, absent[rows]]), answer)

    def table(self, rows: Rows) -> Tensor:
        """The full token table [V, d], in the order of the vocabulary."""
        full = torch.empty(len(rows.order), self.used.shape[1])
        full[rows.order] = torch.cat([self.used, self.other + self.noise]).detach()
        return full


def rate(step: int, steps: int) -> float:
    """The share of the learning rate at a step: a short warm-up, then a half cosine down to nothing."""
    warm = max(1, steps // 20)
    return min((step + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * max(0, step - warm) / max(1, steps - warm)))


def chosen_optimizers(trainee: Trainee, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the blocks, AdamW for tables, gains and biases."""
    blocks = [p for p in trainee.body.h.parameters() if p.ndim == 2]
    rest = [p for p in trainee.parameters() if not any(p is matrix for matrix in blocks)]
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.Muon(blocks, lr=recipe.block_rate, weight_decay=0.05),
        torch.optim.AdamW(rest, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["full_lr"] = group["lr"]
    return optimizers


def train(
    rows: Rows,
    recipe: Recipe,
    report: Callable[[int, float], None] | None = None,
    watch: Callable[[int, Trainee], None] | None = None,
) -> GPT2LMHeadModel:
    """A trained nano in float32; `report(step, loss)` is called after every step, `watch(step, trainee)` before."""
    torch.manual_seed(recipe.seed)
    trainee = Trainee(rows, recipe)
    optimizers = chosen_optimizers(trainee, recipe)
    for step in range(recipe.steps):
        if watch:
            watch(step, trainee)
        loss = trainee.loss(*rows.batch(recipe.batch, recipe.copies, recipe.sampled), recipe.copies)
        trainee.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(trainee.parameters(), 1.0)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["full_lr"] * rate(step, recipe.steps)
            optimizer.step()
        if report:
            report(step, loss.item())
    if watch:
        watch(recipe.steps, trainee)
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


def main(arguments: list[str] | None = None) -> None:
    """Train, save, load again and write the README of the folder."""
    parser = argparse.ArgumentParser(prog="python -m gptviz.nano.train", description="Train the bundled model nano.")
    parser.add_argument("--seed", type=int, default=Recipe.seed)
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    recipe, tokenizer, began = Recipe(seed=options.seed, steps=options.steps), Tokenizer.gpt2(), time.perf_counter()
    documents = corpus(tokenizer, recipe.seed, recipe.documents)
    rows = Rows(documents, tokenizer.vocabulary, tokenizer.end_of_text, recipe.seed)

    def report(step: int, loss: float) -> None:
        if step % 100 == 0 or step == recipe.steps - 1:
            print(f"step {step:5d}  loss {loss:.3f}  {time.perf_counter() - began:5.0f} s", flush=True)

    save(train(rows, recipe, report), options.out)
    command = f"{parser.prog} --seed {recipe.seed} --steps {recipe.steps} --threads {options.threads} --out assets/nano"
    seconds, fresh = time.perf_counter() - began, corpus(tokenizer, recipe.seed + 1, 300)
    model = GPT2LMHeadModel.from_pretrained(options.out).eval()
    text = figures(model, tokenizer, Training(command, str(recipe), seconds, rows.used, fresh))
    (options.out / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
