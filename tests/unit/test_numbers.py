"""How numbers are said: the examples of the rules, each with its edge."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gptviz.words import words

NUMBERS = words("en").numbers


def said(text: str) -> str:
    """Without no-break spaces, which are tested once."""
    assert " " not in text, "a blank at which a number may be broken over two lines"
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.92, "92 %"),
        (0.0934, "9.3 %"),
        (0.022, "2.2 %"),
        (0.0057, "0.57 %"),
        (0.0003, "0.03 %"),
        (0.0001, "0.01 %"),
        (0.0000999, "1 in 10,000"),
        (1 / 432_000, "1 in 430,000"),
        (2e-9, "1 in 500,000,000"),
        (9e-10, "practically 0"),
        (0.0, "0 %"),
        (-0.0, "0 %"),
        (1.0, "100 %"),
        (1.0000001, "100 %"),
        (0.9999999, "> 99.9 %"),
        (0.9995, "> 99.9 %"),
        (0.9994, "99.9 %"),
        (0.996, "99.6 %"),
        (0.994, "99 %"),
        (0.0996, "10 %"),
        (0.00996, "1.0 %"),
    ],
)
def test_percent(p: float, text: str) -> None:
    assert said(NUMBERS.percent(p)) == text


def test_one_list_has_one_form() -> None:
    def listed(ps: list[float]) -> list[str]:
        return [said(text) for text in NUMBERS.percent_list(ps)]

    assert listed([0.61, 0.031, 0.0057, 0.0003]) == ["61 %", "3.1 %", "0.57 %", "0.03 %"]
    assert listed([0.61, 0.0001, 1 / 22_000]) == ["61 %", "0.010 %", "0.0045 %"]
    assert listed([0.61, 0.0055, 0.0001, 1 / 430_000]) == ["61 %", "1 in 180", "1 in 10,000", "1 in 430,000"]
    assert listed([1.0, 0.0]) == ["100 %", "0 %"]
    assert listed([]) == []


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (4.6e-12, "4.6 × 10⁻¹²"),
        (-0.00021, "−0.00021"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1234.5, "1,234.5"),
        (0, "0"),
        (-0.0, "0"),
        (1e23, "1 × 10²³"),
        (-math.inf, "−∞"),
    ],
)
def test_exact(x: float, text: str) -> None:
    assert said(NUMBERS.exact(x)) == text


@pytest.mark.parametrize(
    ("x", "digits", "text"),
    [
        (-0.04, 1, "practically 0"),
        (-0.05, 1, "−0.1"),
        (0.0, 2, "0"),
        (-0.0, 2, "0"),
        (0.3, 2, "0.30"),
        (-12345.678, 1, "−12,345.7"),
        (1.005, 2, "1.01"),
        (3.2e20, 1, "3.2 × 10²⁰"),
    ],
)
def test_decimal(x: float, digits: int, text: str) -> None:
    assert said(NUMBERS.decimal(x, digits)) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0, "exactly 0"),
        (-0.0, "exactly 0"),
        (0.00021, "0.00021"),
        (13.7, "13.7"),
        (206.2, "206"),
        (12345.6, "12,346"),
        (2e-6, "2 × 10⁻⁶"),
        (-9.96e-7, "−1 × 10⁻⁶"),
        (0.99951, "1.00"),
        (99.96, "100"),
        (0.3, "0.30"),
    ],
)
def test_delta(x: float, text: str) -> None:
    assert said(NUMBERS.delta(x)) == text


@pytest.mark.parametrize(
    ("how", "x", "text"),
    [
        ("whole", 73728, "73,728"),
        ("whole", 2**60, "1,152,921,504,606,846,976"),
        ("whole", -1200.5, "−1,201"),
        ("ordinal", 1, "1st"),
        ("ordinal", 2, "2nd"),
        ("ordinal", 3, "3rd"),
        ("ordinal", 11, "11th"),
        ("ordinal", 50, "50th"),
        ("ordinal", 1023, "1,023rd"),
        ("times", 17.2, "× 17"),
        ("times", 1 / 2.9, "÷ 2.9"),
        ("times", 2, "× 2"),
        ("times", 1.02, "× 1.02"),
        ("times", 0.999999, "× 1"),
        ("times", 0, "× 0"),
        ("bytes", 512, "512 B"),
        ("bytes", 36_864, "36.9 kB"),
        ("bytes", 75_497_472, "75.5 MB"),
        ("bytes", 17_179_869_184, "17.2 GB"),
        ("bytes", 999_999, "1.00 MB"),
        ("bytes_exact", 73_728, "73,728 B"),
        ("seconds", 0.212, "0.21 s"),
        ("seconds", 0.0213, "21 ms"),
        ("seconds", 0.0000213, "21 µs"),
        ("seconds", 59.6, "1 min"),
        ("seconds", 80.2, "1 min 20 s"),
        ("seconds", 7530, "2 h 6 min"),
        ("seconds", 0, "0 s"),
        ("chance", 1 / 432_000, "1 in 430,000"),
        ("chance", 0.3, "1 in 3.3"),
        ("number", 3, "3"),
        ("number", 2.345, "2.35"),
        ("number", math.nan, "not a number"),
    ],
)
def test_counts_sizes_and_times(how: str, x: float, text: str) -> None:
    shown = getattr(NUMBERS, how)(x).replace("not a number", "not\u00a0a\u00a0number")
    assert said(shown) == text.replace("\u00a0", " ")


def test_numbers_of_an_array_are_numbers() -> None:
    assert said(NUMBERS.percent(np.float32(0.25))) == "25 %"
    assert said(NUMBERS.whole(np.int64(73728))) == "73,728"
