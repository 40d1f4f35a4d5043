"""Quantities as tc reads them: tc(8), *PARAMETERS*; iproute2's rate, size and time units."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.translate import units


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("1mbit", 10**6),
        ("1Mbit", 10**6),
        ("1mibit", 2**20),
        ("1mbps", 8 * 10**6),
        ("1kibps", 8 * 1024),
        ("500kbit", 500_000),
        ("1gbit", 10**9),
        ("9600", 9600),
        ("0.5mbit", 500_000),
        ("1e3kbit", 10**6),
    ],
)
def test_rates(text: str, bps: int) -> None:
    assert units.rate(text) == bps


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1600", 1600),
        ("15k", 15360),
        ("100kb", 102_400),
        ("32kbit", 4096),
        ("1mb", 2**20),
        ("10b", 10),
    ],
)
def test_sizes(text: str, count: int) -> None:
    assert units.size(text) == count


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("100ms", 10**8),
        ("1s", 10**9),
        ("100", 100_000),
        ("20usec", 20_000),
        ("1.5msecs", 1_500_000),
    ],
)
def test_times(text: str, ns: int) -> None:
    assert units.time(text) == ns


def test_shares() -> None:
    assert units.percent("25%") == units.percent("25") == Fraction(1, 4)
    assert units.percent("101%") is None


@pytest.mark.parametrize(
    "text", ["", "ms", "1 ms", "-1", "1mbits", "nan", "inf", "0x10", "1" * 200]
)
def test_what_is_no_quantity(text: str) -> None:
    for read in (units.rate, units.size, units.time, units.percent, units.number):
        assert read(text) is None


@given(st.integers(1, 10**12))
def test_texts_have_the_value(value: int) -> None:
    number, unit = units.rate_text(value).split()
    scale = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12}
    assert Fraction(number) * scale[unit] == value
    number, unit = units.time_text(value).split()
    assert Fraction(number) * {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[unit] == value
