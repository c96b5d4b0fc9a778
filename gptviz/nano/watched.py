"""Watch nano learn, and keep what was seen: `python -m gptviz.nano.watched --seed 0 --steps 2000 --threads 1`.

The same recipe as `train`, looked at on the way: the loss of fresh text over the whole vocabulary, what a prompt is
continued with, how much the strongest induction head looks where it has to, and what a repeated token costs. Looking
draws no random number of the training, so that the weights are those `train` gives.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from transformers import GPT2LMHeadModel

from gptviz.decoder.tokens import Tokenizer
from gptviz.nano.figures import continuation, head_scores, text_loss
from gptviz.nano.train import Recipe, Rows, Trainee, corpus, finished, train
from gptviz.places import ASSETS

OUT = ASSETS / "nano" / "training.json"
EARLY = (0, 2, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 140, 160, 180, 200, 250, 300, 350, 400, 500)
PROMPTS = ("Once upon a time", "The cat sat on the", "1, 2, 3,")
WRITTEN = 24  # tokens of a continuation
FRESH = 60  # documents of another seed
PIECE, COPIES = 24, 8  # tokens of no order, said twice; rows of them


def looked_at(steps: int) -> list[int]:
    """The steps at which the model is looked at: close together at first, then every 100."""
    return sorted({step for step in (*EARLY, *range(600, steps + 1, 100)) if step <= steps} | {steps})


class Watcher:
    """Looks at a model that learns; `seen` has one entry a look, `losses` the training loss of every step."""

    def __init__(self, rows: Rows, tokenizer: Tokenizer, recipe: Recipe) -> None:
        self.rows, self.tokenizer = rows, tokenizer
        self.fresh = corpus(tokenizer, recipe.seed + 1, FRESH)
        self.at = set(looked_at(recipe.steps))
        self.seen: list[dict[str, Any]] = []
        self.losses: list[float] = []
        pick = torch.Generator().manual_seed(recipe.seed)
        places = torch.randint(len(rows.used), (COPIES, PIECE), generator=pick)
        self.twice = rows.used[places].repeat(1, 2)  # [B, 2 · PIECE]
        self.began = time.perf_counter()

    def report(self, step: int, loss: float) -> None:
        """Keep the training loss of a step."""
        self.losses.append(loss)

    def watch(self, step: int, trainee: Trainee) -> None:
        """Look at the model before this step, if it is one of those."""
        if step not in self.at:
            return
        with torch.random.fork_rng(devices=[]):  # building the model draws numbers; the training must not notice
            model = finished(trainee, self.rows)
            self.seen.append(self.look(step, model))
        last = self.seen[-1]
        print(f"step {step:5d}  loss {last['loss']:.3f}  {time.perf_counter() - self.began:5.0f} s", flush=True)

    def look(self, step: int, model: GPT2LMHeadModel) -> dict[str, Any]:
        """Everything that is kept of one moment; losses in nats a token."""
        previous, induction = head_scores(model)
        first, again = self.copied(model)
        texts = [continuation(model, self.tokenizer, prompt, WRITTEN) for prompt in PROMPTS]
        return {
            "step": step,
            "loss": rounded(text_loss(model, self.fresh, self.tokenizer.end_of_text)),
            "previous": rounded(float(previous.max())),
            "induction": rounded(float(induction.max())),
            "first": rounded(first),
            "again": rounded(again),
            "texts": texts,
        }

    @torch.no_grad()
    def copied(self, model: GPT2LMHeadModel) -> tuple[float, float]:
        """The loss of tokens of no order, and of the same tokens said again, which only looking back can tell."""
        logits = model(self.twice).logits[:, :-1]  # [B, 2 · PIECE − 1, V]
        loss = F.cross_entropy(logits.transpose(1, 2), self.twice[:, 1:], reduction="none")  # [B, 2 · PIECE − 1]
        return float(loss[:, : PIECE - 1].mean()), float(loss[:, PIECE:].mean())


def rounded(value: float) -> float:
    """Four places: more are noise, and the file is sent to the browser."""
    return round(value, 4)


def means(losses: list[float], bounds: list[int]) -> list[float]:
    """The training loss between two looks, averaged: single steps jump with their rows."""
    return [rounded(sum(losses[a:b]) / (b - a)) for a, b in pairwise(bounds)]


def record(recipe: Recipe, command: str) -> dict[str, Any]:
    """Train, look, and say all that was seen."""
    tokenizer = Tokenizer.gpt2()
    documents = corpus(tokenizer, recipe.seed, recipe.documents)
    rows = Rows(documents, tokenizer.vocabulary, tokenizer.end_of_text, recipe.seed)
    watcher = Watcher(rows, tokenizer, recipe)
    train(rows, recipe, watcher.report, watcher.watch)
    bounds = looked_at(recipe.steps)
    return {
        "command": command,
        "seconds": round(time.perf_counter() - watcher.began),
        "vocabulary": tokenizer.vocabulary,
        "uniform": rounded(math.log(tokenizer.vocabulary)),
        "batch": recipe.batch,
        "prompts": list(PROMPTS),
        "looks": watcher.seen,
        "training": means(watcher.losses, bounds),
    }


def main(arguments: list[str] | None = None) -> None:
    """Write the recording."""
    parser = argparse.ArgumentParser(prog="python -m gptviz.nano.watched", description="Record nano's training.")
    parser.add_argument("--seed", type=int, default=Recipe.seed)
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--documents", type=int, default=Recipe.documents)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    recipe = Recipe(seed=options.seed, steps=options.steps, documents=options.documents)
    command = f"{parser.prog} --seed {recipe.seed} --steps {recipe.steps} --threads {options.threads}"
    text = json.dumps(record(recipe, command), ensure_ascii=False, separators=(",", ":"))
    options.out.write_text(text + "\n", encoding="utf-8")
    print(f"{options.out}: {len(text.encode()):,} bytes")


if __name__ == "__main__":
    main()
