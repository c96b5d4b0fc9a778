"""The GPT family as numbers: public shapes, what changed between them, and a parameter count from the shape alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gptviz.decoder.errors import UserError


@dataclass(frozen=True)
class Spec:
    """Everything about a decoder's architecture that decides its number of parameters. V, C in tokens."""

    name: str
    d: int  # width
    L: int  # blocks
    h: int  # query heads
    V: int  # vocabulary
    C: int  # context
    kv_heads: int
    tied: bool = True
    ffn: str = "gelu"  # "gelu": two matrices; "swiglu": three
    ffn_width: int = 0  # 0: 4d for gelu, two thirds of 4d rounded up to 256 for swiglu
    positions: str = "learned"  # "learned": a table of C rows; "rotary": nothing to learn
    norm: str = "layer"  # "layer": weight and bias; "rms": weight
    order: str = "pre"  # "pre": a final norm follows the blocks; "post": none
    biases: str = "all"  # of the matrices: "all", "qkv" or "none"
    year: int = 0
    source: str = ""
    window: int = 0  # a layer reads at most so many tokens back, itself included; 0: all

    @property
    def head_width(self) -> int:
        """d_k = d / h."""
        return self.d // self.h

    @property
    def inner(self) -> int:
        """The width between the matrices of the feed-forward layer."""
        if self.ffn_width:
            return self.ffn_width
        return 4 * self.d if self.ffn == "gelu" else -(-(8 * self.d // 3) // 256) * 256


@dataclass(frozen=True)
class Count:
    """Parameters by part, tied weights once, and what tying saves."""

    tokens: int
    positions: int
    attention: int
    ffn: int
    norms: int
    head: int
    total: int
    untied_total: int
    tying_saves: int
    tying_share: float  # of the untied total


def count(spec: Spec) -> Count:
    """The number of parameters from the shape, in closed form. UserError for a shape that cannot be built."""
    check(spec)
    d, k = spec.d, spec.kv_heads * spec.head_width
    attention = 2 * d * d + 2 * d * k  # query and output [d, d], key and value [d, k]
    attention += {"all": 2 * d + 2 * k, "qkv": d + 2 * k, "none": 0}[spec.biases]
    ffn = (2 if spec.ffn == "gelu" else 3) * d * spec.inner
    ffn += spec.inner + d if spec.biases == "all" else 0
    one_norm = 2 * d if spec.norm == "layer" else d
    table = spec.V * d
    positions = spec.C * d if spec.positions == "learned" else 0
    norms = one_norm * (2 * spec.L + (spec.order == "pre"))
    head = 0 if spec.tied else table
    total = table + positions + spec.L * (attention + ffn) + norms + head
    untied = total + (table if spec.tied else 0)
    return Count(
        tokens=table,
        positions=positions,
        attention=spec.L * attention,
        ffn=spec.L * ffn,
        norms=norms,
        head=head,
        total=total,
        untied_total=untied,
        tying_saves=untied - total,
        tying_share=table / untied,
    )


LIMITS = {"d": 65_536, "L": 512, "h": 512, "V": 2_000_000, "C": 10_000_000, "kv_heads": 512, "ffn_width": 500_000}


def check(spec: Spec) -> None:
    """UserError, in one sentence, for sizes out of range or heads that do not divide."""
    for field, most in LIMITS.items():
        value, least = getattr(spec, field), 0 if field == "ffn_width" else 1
        if not isinstance(value, int) or not least <= value <= most:
            raise UserError("whole_between", name=field, value=value, low=least, high=most)
    if spec.d % spec.h:
        raise UserError("heads_do_not_divide", value=spec.d, heads=spec.h)
    if spec.h % spec.kv_heads:
        raise UserError("kv_heads_do_not_divide", value=spec.kv_heads, heads=spec.h)


def build(
    d: int,
    L: int,
    h: int,
    V: int,
    C: int,
    tied: bool = True,
    ffn: str = "gelu",
    kv_heads: int = 0,
    ffn_width: int = 0,
    like: str = "",
) -> Spec:
    """A shape as the calculator offers it: the feed-forward kind brings its generation's norm, biases and positions.

    `kv_heads` 0 means one per query head. `like` names a public model of the same kind whose norm order and biases
    are kept. UserError for a shape that cannot be built.
    """
    if ffn not in STYLES:
        raise UserError("one_of", name="ffn", value=ffn, allowed=list(STYLES))
    style = PUBLIC.get(like, STYLES[ffn])
    style = style if style.ffn == ffn else STYLES[ffn]
    spec = replace(style, d=d, L=L, h=h, V=V, C=C, tied=tied, kv_heads=kv_heads or h, ffn_width=ffn_width)
    check(spec)
    known = PUBLIC.get(like)
    if known is not None and spec == replace(known, ffn_width=spec.ffn_width) and spec.inner == known.inner:
        return known
    return replace(spec, name="", source="", year=0)


def _config(name: str) -> str:
    return f"{name}, config.json"  # not words: a file's name


def gpt(name: str, d: int, L: int, h: int, C: int = 1024, V: int = 50257, year: int = 2019, source: str = "") -> Spec:
    """A shape of the GPT-2 kind."""
    return Spec(name, d, L, h, V, C, kv_heads=h, year=year, source=source or _config(name))


def llama(
    name: str, d: int, L: int, h: int, kv: int, V: int, C: int, ffn: int, *, tied: bool, year: int, biases: str = "none"
) -> Spec:
    """A shape of the Llama kind: SwiGLU, RMSNorm, rotary positions."""
    return Spec(
        name,
        d,
        L,
        h,
        V,
        C,
        kv,
        tied,
        "swiglu",
        ffn,
        "rotary",
        "rms",
        "pre",
        biases,
        year,
        _config(name),
    )


STYLES = {
    "gelu": gpt("", 768, 12, 12),
    "swiglu": llama("", 4096, 32, 32, 8, 128256, 8192, 0, tied=False, year=0),
}

# Sizes as the models' own config.json states them on the Hub; GPT-3 from table 2.1 of its paper.
PUBLIC: dict[str, Spec] = {
    spec.name: spec
    for spec in (
        Spec(
            "openai-gpt", 768, 12, 12, 40478, 512, 12, order="post", year=2018,
            source="openai-community/openai-gpt, config.json",  # not words: a file's name
        ),
        gpt("gpt2", 768, 12, 12),
        gpt("gpt2-medium", 1024, 24, 16),
        gpt("gpt2-large", 1280, 36, 20),
        gpt("gpt2-xl", 1600, 48, 25),
        gpt("distilgpt2", 768, 6, 12),
        gpt("gpt3-175b", 12288, 96, 96, C=2048, year=2020, source="Brown et al. 2020, table 2.1"),  # not words: a paper
        llama("SmolLM2-135M", 576, 30, 9, 3, 49152, 8192, 1536, tied=True, year=2024),
        llama("SmolLM2-360M", 960, 32, 15, 5, 49152, 8192, 2560, tied=True, year=2024),
        llama("SmolLM2-1.7B", 2048, 24, 32, 32, 49152, 8192, 8192, tied=True, year=2024),
        llama("TinyLlama-1.1B", 2048, 22, 32, 4, 32000, 2048, 5632, tied=False, year=2023),
        llama("Llama-2-7B", 4096, 32, 32, 32, 32000, 4096, 11008, tied=False, year=2023),
        replace(
            llama("Mistral-7B", 4096, 32, 32, 8, 32000, 32768, 14336, tied=False, year=2023),
            source="Mistral-7B-v0.1, config.json", window=4096,
        ),
        llama("Llama-3-8B", 4096, 32, 32, 8, 128256, 8192, 14336, tied=False, year=2024),
        llama("Llama-3.1-8B", 4096, 32, 32, 8, 128256, 131072, 14336, tied=False, year=2024),
        llama("Llama-3-70B", 8192, 80, 64, 8, 128256, 8192, 28672, tied=False, year=2024),
        llama("Llama-3.2-1B", 2048, 16, 32, 8, 128256, 131072, 8192, tied=True, year=2024),
        llama("Qwen2.5-0.5B", 896, 24, 14, 2, 151936, 32768, 4864, tied=True, year=2024, biases="qkv"),
        llama("Qwen2.5-7B", 3584, 28, 28, 4, 152064, 131072, 18944, tied=False, year=2024, biases="qkv"),
    )
}  # fmt: skip

STORY = ("openai-gpt", "gpt2", "gpt3-175b", "Llama-3-8B")
PARTS = ("order", "norm", "positions", "ffn", "biases", "tied")  # what a generation may change besides its size


def changes(before: Spec, after: Spec) -> dict[str, tuple[object, object]]:
    """The parts of the architecture in which two models differ; sizes are left out, grouped heads are not."""
    found: dict[str, tuple[object, object]] = {
        part: (getattr(before, part), getattr(after, part))
        for part in PARTS
        if getattr(before, part) != getattr(after, part)
    }
    grouped = before.kv_heads < before.h, after.kv_heads < after.h
    return found | ({"grouped": grouped} if grouped[0] != grouped[1] else {})
