"""The loaded model taken apart: every module with its shape and size, its positions, its stream, its token table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.probe import find_layers
from gptviz.decoder.run import Run, Runs


@dataclass(frozen=True)
class Row:
    """One module that holds parameters of its own.

    `parameters` counts each tensor once over the whole model: a tied head has 0 and names the row it shares with.
    """

    name: str
    kind: str  # the class
    role: str  # tokens, positions, attention, ffn, norm, head or other
    layer: int | None
    shape: list[int]  # of the weight, as it is stored
    tensors: dict[str, list[int]]
    parameters: int
    shared_with: str = ""


@dataclass(frozen=True)
class Stage:
    """One box of the scheme: a module outside the blocks, or `repeat` equal blocks, shown by the first one's rows."""

    role: str
    repeat: int
    rows: list[Row]
    parameters: int  # of all repeats together


@dataclass(frozen=True)
class Anatomy:
    """A model's rows and totals; `untied_total` is what it would hold with a head of its own."""

    rows: list[Row]
    total: int
    tied: bool
    untied_total: int
    tying_saves: int
    head_parameters: int  # V · d: what tying saves, or would save

    @property
    def share(self) -> float:
        """The saving as a share of the untied total."""
        return self.tying_saves / self.untied_total


@dataclass(frozen=True)
class Positions:
    """How a model knows where a token stands: a learned table's norms [C], or rotation wavelengths in tokens."""

    kind: str  # learned, rotary or none
    rows: int
    width: int
    norms: Tensor
    past_the_end: str  # what asking for row C answers
    wavelengths: Tensor


@dataclass(frozen=True)
class Stream:
    """Lengths of the residual vectors: [L+1][T] between the blocks, [L][T] of what each block adds, [T] at the end."""

    norms: Tensor
    added: Tensor
    final: Tensor  # after the final norm


@dataclass(frozen=True)
class Neighbour:
    """A row of the token table and its cosine with the token asked about."""

    id: int
    cosine: float


@dataclass(frozen=True)
class TokenVector:
    """One token's row on the way in and on the way out: same memory when tied."""

    id: int
    width: int
    norm: float
    tied: bool
    max_delta: float  # between the two rows
    near_in: list[Neighbour]
    near_out: list[Neighbour]


def dissect(model: PreTrainedModel) -> Anatomy:
    """Every module with parameters, in the model's own order, and the totals."""
    layers = find_layers(model)
    layer_of = {id(module): i for i, layer in enumerate(layers) for module in layer.modules()}
    tokens, head = model.get_input_embeddings(), model.get_output_embeddings()
    counted: dict[int, str] = {}  # id of a parameter -> the row that counts it
    rows = []
    for name, module in model.named_modules():
        own = list(module.named_parameters(recurse=False))
        if not own:
            continue
        fresh = [(key, p) for key, p in own if id(p) not in counted]
        shared = next((counted[id(p)] for _, p in own if id(p) in counted), "")
        counted.update({id(p): name for _, p in fresh})
        layer = layer_of.get(id(module))
        role = "tokens" if module is tokens else "head" if module is head else _role(name, module, layer)
        tensors = {key: list(p.shape) for key, p in own}
        shape = tensors.get("weight", next(iter(tensors.values())))
        size = sum(p.numel() for _, p in fresh)
        rows.append(Row(name, type(module).__name__, role, layer, shape, tensors, size, shared))
    total = sum(row.parameters for row in rows)
    tied = head.weight is tokens.weight
    saves = head.weight.numel() if tied else 0
    return Anatomy(rows, total, tied, total + saves, saves, head.weight.numel())


def anatomy_of(decoder: Decoder) -> Anatomy:
    """The same for a decoder."""
    return dissect(decoder.model)


def _role(name: str, module: nn.Module, layer: int | None) -> str:
    path, kind = name.lower(), type(module).__name__.lower()
    inside = path if layer is not None else ""
    if "attn" in inside or "attention" in inside.rsplit(".", 1)[0]:
        return "attention"
    if any(word in inside for word in ("mlp", "ffn", "feed_forward")):
        return "ffn"
    if "norm" in kind or "norm" in path.rsplit(".", 1)[-1]:
        return "norm"
    return "positions" if isinstance(module, nn.Embedding) else "other"


def scheme(anatomy: Anatomy) -> list[Stage]:
    """The boxes in the order data passes them; neighbouring blocks of equal shape become one box with a count."""
    stages: list[Stage] = []
    blocks: dict[int, list[Row]] = {}
    for row in anatomy.rows:
        if row.layer is None:
            stages.append(Stage(row.role, 1, [row], row.parameters))
        else:
            if not blocks:
                stages.append(Stage("blocks", 0, [], 0))  # the place where the blocks go
            blocks.setdefault(row.layer, []).append(row)
    place = next(i for i, stage in enumerate(stages) if stage.repeat == 0)
    runs: list[tuple[int, list[Row]]] = []
    for rows in blocks.values():
        if runs and [r.tensors for r in runs[-1][1]] == [r.tensors for r in rows]:
            runs[-1] = (runs[-1][0] + 1, runs[-1][1])
        else:
            runs.append((1, rows))
    boxes = [Stage("block", n, rows, n * sum(r.parameters for r in rows)) for n, rows in runs]
    return stages[:place] + boxes + stages[place + 1 :]


@lru_cache(maxsize=1)
def gpt2_small() -> Anatomy:
    """GPT-2 small from the library's configuration: shapes without weights, so it needs neither download nor memory."""
    with torch.device("meta"):
        return dissect(GPT2LMHeadModel(GPT2Config()))


def positions(model: PreTrainedModel) -> Positions:
    """The position table's vector lengths and what lies behind its last row, or the rotation's wavelengths."""
    found = next((row for row in dissect(model).rows if row.role == "positions"), None)
    if found is not None:
        table = model.get_parameter(f"{found.name}.weight").detach().float().cpu()  # [C, d]
        norms = table.norm(dim=-1)  # [C]
        return Positions("learned", table.shape[0], table.shape[1], norms, past_the_end(table), torch.empty(0))
    for module in model.modules():
        frequency = getattr(module, "inv_freq", None)
        if isinstance(frequency, Tensor):
            turns = 2 * math.pi / frequency.float().cpu()  # [d_k/2] tokens for one full turn
            return Positions("rotary", 0, 0, torch.empty(0), "", turns)
    return Positions("none", 0, 0, torch.empty(0), "", torch.empty(0))


def positions_of(decoder: Decoder) -> Positions:
    """The same for a decoder."""
    return positions(decoder.model)


def past_the_end(table: Tensor) -> str:
    """PyTorch's own answer to a request for row C of a table [C, d]."""
    try:
        F.embedding(torch.tensor([table.shape[0]]), table.cpu())
    except IndexError as error:
        return f"IndexError: {error}"
    return ""


def past_row(rows: int) -> str:
    """The same for a table of that many rows, whatever is in it."""
    return past_the_end(torch.zeros(rows, 1))


def fresh_tables() -> tuple[float, float]:
    """Standard deviations of two untrained tables of 1,000 × 768: PyTorch's nn.Embedding, and the library's GPT-2."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        plain = nn.Embedding(1000, 768)
        gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_layer=1, bos_token_id=None, eos_token_id=None))
    table = gpt2.get_parameter("transformer.wte.weight")
    return float(plain.weight.detach().std()), float(table.detach().std())


@torch.inference_mode()
def stream(decoder: Decoder, run: Run) -> Stream:
    """Vector lengths of the residual stream of a run that kept it, before and after the final norm."""
    if run.residual is None:
        raise ValueError("this needs a run with residual=True")  # not words: a mistake in code
    x = run.residual  # [L+1, T, d]
    last = decoder.norm(x[-1].to(decoder.device, decoder.dtype)).float().cpu()  # [T, d]
    return Stream(x.norm(dim=-1), x.diff(dim=0).norm(dim=-1), last.norm(dim=-1))


def stream_of(decoder: Decoder, ids: Sequence[int], *, runs: Runs | None = None) -> Stream:
    """The same for a text."""
    return stream(decoder, (runs or decoder.run)(ids, residual=True, last_only=True))


@torch.inference_mode()
def token_vector(decoder: Decoder, token: int, count: int = 8) -> TokenVector:
    """A token's rows in the input table and in the LM head, with the nearest rows of each by cosine."""
    decoder.check_ids([token])
    before = decoder.model.get_input_embeddings().weight  # [V, d]
    after = decoder.model.get_output_embeddings().weight  # [V, d]
    near_in = _nearest(before, token, count)
    tied = after.data_ptr() == before.data_ptr()
    return TokenVector(
        id=token,
        width=before.shape[1],
        norm=float(before[token].float().norm()),
        tied=tied,
        max_delta=float((before[token] - after[token]).abs().max()),
        near_in=near_in,
        near_out=near_in if tied else _nearest(after, token, count),
    )


def _nearest(table: Tensor, token: int, count: int) -> list[Neighbour]:
    row = table[token].float()
    cosine = (table.float() @ row) / (table.float().norm(dim=-1) * row.norm()).clamp_min(1e-12)  # [V]
    cosine[token] = -torch.inf  # not its own neighbour
    best = cosine.topk(min(count, table.shape[0] - 1))
    return [Neighbour(int(i), float(c)) for c, i in zip(best.values, best.indices, strict=True)]
