"""The two writers: plain JSON and packed tensors, by hand and on whatever hypothesis thinks of."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gptviz.decoder.attention import MaskRule
from gptviz.decoder.tokens import Token
from gptviz.service.wire import as_json, as_packed


@dataclass(frozen=True)
class Found:
    tokens: list[Token]
    change: torch.Tensor
    rule: MaskRule
    sizes: dict[int, float]
    _decoder: object = None
    DERIVED: ClassVar = ("largest",)

    @property
    def largest(self) -> float:
        return float(self.change.max())


FOUND = Found([Token(7, "·a", b" a")], torch.tensor([[1.5, -torch.inf]]), MaskRule("none", frozenset({3, 1})), {2: 0.5})


def test_a_dataclass_is_written_field_by_field_with_what_it_derives():
    assert as_json(FOUND) == {
        "tokens": [{"id": 7, "shown": "·a", "bytes": [32, 97]}],
        "change": [[1.5, None]],
        "rule": {"direction": "none", "layers": [1, 3]},
        "sizes": {"2": 0.5},
        "largest": 1.5,
    }


def test_packed_it_differs_in_the_tensor_alone():
    plain, packed = as_json(FOUND), as_packed(FOUND)
    change = packed.pop("change")
    assert packed == {key: value for key, value in plain.items() if key != "change"}
    assert change["shape"] == [1, 2]
    assert numpy.frombuffer(base64.b64decode(change["$f32"]), "<f4").tolist() == [1.5, -math.inf]


@pytest.mark.parametrize(
    ("tensor", "kind", "code"),
    [
        (torch.tensor([[0.1, math.nan], [3.0, -math.inf]]), "$f32", "<f4"),
        (torch.tensor([0.5, 2.0], dtype=torch.float64), "$f32", "<f4"),
        (torch.tensor([0.5, 2.0], dtype=torch.bfloat16), "$f32", "<f4"),
        (torch.tensor([[0, 255]], dtype=torch.uint8), "$u8", "|u1"),
        (torch.tensor([True, False]), "$u8", "|u1"),
        (torch.tensor([-5, 2**31 - 1]), "$i32", "<i4"),
        (torch.arange(6.0).reshape(2, 3).T, "$f32", "<f4"),  # not contiguous
        (torch.zeros(0, 4), "$f32", "<f4"),
    ],
)
def test_a_tensor_is_packed_and_comes_out_again(tensor, kind, code):
    packed = as_packed(tensor)
    assert set(packed) == {kind, "shape"}
    array = numpy.frombuffer(base64.b64decode(packed[kind]), code).reshape(packed["shape"])
    numpy.testing.assert_array_equal(array, tensor.double().numpy().astype(code))


def test_digits_shorten_and_never_make_a_zero():
    assert as_json(torch.tensor([1e-30, 0.0, 1.23456789]), digits=6) == [1e-30, 0.0, 1.23457]
    assert as_json({"a": 2 / 3}, digits=3) == {"a": 0.667}
    assert as_json(torch.tensor(0.25)) == 0.25


def test_numpy_and_torch_leave_no_trace():
    written = as_json(
        {
            "a": numpy.float32(0.5),
            "b": numpy.arange(2),
            "c": torch.float16,
            "d": torch.device("cpu"),
            "e": numpy.bool_(1),
        }
    )
    assert written == {"a": 0.5, "b": [0, 1], "c": "float16", "d": "cpu", "e": True}
    assert {type(value) for value in written.values()} == {float, list, str, bool}


@pytest.mark.parametrize("value", [object(), lambda: 0, b"bytes", Found, [1j]])
def test_what_has_no_form_is_refused(value):
    with pytest.raises(TypeError, match="no form for a value of type"):
        as_json(value)


def test_a_number_beyond_32_bits_is_not_cut():
    with pytest.raises(ValueError, match="32 bits"):
        as_packed(torch.tensor([2**31]))


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(plain)
def test_whatever_goes_in_comes_out_as_strict_json(value):
    written = as_json(value)
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert as_packed(value) == written  # without a tensor the two writers agree
    assert as_json(written) == written


@given(st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=1, max_size=4))
def test_packed_floats_are_the_tensors_bits(rows):
    tensor = torch.tensor(rows, dtype=torch.float32)
    packed = as_packed(tensor)
    assert base64.b64decode(packed["$f32"]) == tensor.numpy().astype("<f4").tobytes()
    for row, written in zip(rows, as_json(tensor), strict=True):
        assert written == [x if math.isfinite(x) else None for x in row]


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 17))
def test_digits_keep_the_size_and_the_sign(x, digits):
    short = as_json(x, digits=digits)
    assert math.isclose(short, x, rel_tol=0.6 * 10 ** (1 - digits), abs_tol=1e-322)
    assert (short == 0) == (x == 0)
