"""Where nano starts: weights from which ten minutes of training are enough.

A narrow model started at random needs many millions of tokens before it finds the two-step trick called induction:
one head notes which token came before, a later one looks for the note that equals the present token and reads on.
nano starts with a rough form of that circuit in three heads of the first layer and three of the second; all other
heads start at random. Training keeps what pays off: what is measured afterwards is what the text has use for.
"""

from typing import cast

import torch
from torch import Tensor, nn
from transformers import GPT2Model
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

CORNER = 16  # dimensions of the stream where positions start; tokens start in the others
HEADS = 3  # of four: 3 × 16 = 48 dimensions, as many as the tokens start with


def wave_speeds() -> Tensor:
    """The angle [CORNER / 2] each wave turns from one position to the next, from 2 radians down to 1 / 25."""
    waves = CORNER // 2
    return 2.0 * 50 ** -(torch.arange(waves) / (waves - 1))


def waves(positions: int) -> Tensor:
    """Sines and cosines of each position [positions, CORNER]."""
    angle = torch.arange(positions)[:, None] * wave_speeds()  # [positions, CORNER / 2]
    return torch.cat([angle.sin(), angle.cos()], dim=1)


def one_back() -> Tensor:
    """The rotation [CORNER, CORNER] that turns the waves of a position (a row) into those of the position before."""
    cosine, sine = wave_speeds().cos().diag(), wave_speeds().sin().diag()
    return torch.cat([torch.cat([cosine, sine], dim=1), torch.cat([-sine, cosine], dim=1)])


def random_tokens(count: int, width: int, spread: float) -> Tensor:
    """Random token vectors [count, width] that leave the corner of the positions empty."""
    vectors = torch.randn(count, width) * spread
    vectors[:, :CORNER] = 0.0
    return vectors


def rotation(size: int) -> Tensor:
    """A random rotation [size, size]."""
    return torch.linalg.qr(torch.randn(size, size))[0]


@torch.no_grad()
def start(body: GPT2Model, height: float) -> None:
    """Write the starting weights into a fresh model; `height` is that of the waves in the position table."""
    blocks = cast(list[GPT2Block], list(body.h))
    for block in blocks:
        nn.init.zeros_(block.mlp.c_proj.weight)  # nothing is written before something is learned
    body.wpe.weight.zero_()
    body.wpe.weight[:, :CORNER] = height * waves(len(body.wpe.weight))
    width = body.config.n_embd
    tokens = width - CORNER
    aside = rotation(tokens)  # notes of the token before are kept turned, so that they are not taken for the token
    note, look, copy = rotation(tokens), rotation(tokens), rotation(tokens)

    first, second = blocks[0].attn, blocks[1].attn
    query, key, value = first.c_attn.weight.split(width, dim=1)  # [d, d] each, a head in every 16 columns
    for head in range(HEADS):
        columns = slice(head * CORNER, (head + 1) * CORNER)
        query[:, columns], key[:, columns] = 0.0, 0.0
        query[:CORNER, columns], key[:CORNER, columns] = 2 * one_back(), torch.eye(CORNER)
    value[:, :tokens] = 0.0
    value[CORNER:, :tokens] = note
    first.c_proj.weight[:tokens] = 0.0
    first.c_proj.weight[:tokens, CORNER:] = 0.3 * note.T @ aside

    query, key, value = second.c_attn.weight.split(width, dim=1)
    for matrix, start_at in ((query, 8 * aside @ look), (key, look), (value, copy)):
        matrix[:, :tokens] = 0.0
        matrix[CORNER:, :tokens] = start_at
    second.c_proj.weight[:tokens] = 0.0
    second.c_proj.weight[:tokens, CORNER:] = 0.5 * copy.T
