from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.units import (
    BDP,
    PACKETS,
    RATE,
    SHARE,
    SIZE,
    TIME,
    Family,
    QuantityError,
    parse,
    share,
    whole,
)

FAMILIES = [TIME, RATE, SIZE, PACKETS, SHARE, BDP]


@pytest.mark.parametrize(
    ("text", "family", "value"),
    [
        ("5 ms", TIME, 5_000_000),
        ("0.05 ms", TIME, 50_000),
        ("1.5us", TIME, 1_500),
        ("20 µs", TIME, 20_000),
        ("2 min", TIME, 120_000_000_000),
        ("1e-3 s", TIME, 1_000_000),
        ("10 Mbit/s", RATE, 10_000_000),
        ("10mbit", RATE, 10_000_000),
        ("2.4 Gbit/s", RATE, 2_400_000_000),
        ("400 Gbit/s", RATE, 400_000_000_000),
        ("5 KB", SIZE, 5_120),
        ("5 kb", SIZE, 5_120),
        ("5 KiB", SIZE, 5_120),
        ("1 MiB", SIZE, 1_048_576),
        ("1_448 bytes", SIZE, 1_448),
        ("1 byte", SIZE, 1),
        ("100 packets", PACKETS, 100),
    ],
)
def test_spellings(text: str, family: Family, value: int) -> None:
    assert whole(text, family) == value


@pytest.mark.parametrize(
    ("text", "value"), [("1 %", 0.01), ("0.1%", 0.001), ("50 ppm", 5e-5), ("100 %", 1.0)]
)
def test_shares(text: str, value: float) -> None:
    assert share(text) == value


@pytest.mark.parametrize(
    ("value", "family", "expected"),
    [
        (5, TIME, "a time needs a unit: 5 ms, 5 s or 5 us"),
        (10, RATE, "a rate needs a unit: 10 Mbit/s, 10 Gbit/s or 10 kbit/s"),
        ("64", SIZE, "a size needs a unit: 64 bytes, 64 KiB or 64 MiB"),
        (0.01, SHARE, "a share needs a unit: 1 %, 0.01 % or 0.01 ppm"),
        ("-5 ms", TIME, "a time cannot be negative"),
        ("0.5 ns", TIME, "not a whole number of ns"),
        ("1e40 s", TIME, "a time too large"),
        ("1e400 s", TIME, "not a time"),
        ("ten ms", TIME, "not a time"),
        (True, TIME, "not a time"),
        (None, TIME, "not a time"),
        ([1], TIME, "not a time"),
        ("1__0 s", TIME, None),
    ],
)
def test_what_is_refused(value: object, family: Family, expected: str | None) -> None:
    if expected is None:
        assert whole(value, family) == 10_000_000_000
        return
    with pytest.raises(QuantityError) as raised:
        whole(value, family)
    assert raised.value.message == expected


@pytest.mark.parametrize(
    ("text", "family", "nearest"),
    [
        ("10 Mbps", RATE, "10 Mbit/s"),
        ("5 sec", TIME, "5 s"),
        ("5 msec", TIME, "5 ms"),
        ("100 pkts", PACKETS, "100 packets"),
        ("1 percent", SHARE, "1 %"),
        ("5 octets", SIZE, "5 bytes"),
        ("5 florins", SIZE, None),
    ],
)
def test_the_likeliest_unit_is_offered(text: str, family: Family, nearest: str | None) -> None:
    with pytest.raises(QuantityError) as raised:
        whole(text, family)
    assert raised.value.nearest == nearest


@settings(deadline=None)
@given(st.sampled_from(FAMILIES), st.integers(0, 10**12), st.integers(0, 9), st.data())
def test_a_decimal_is_read_exactly(
    family: Family, number: int, places: int, data: st.DataObject
) -> None:
    unit = data.draw(st.sampled_from(sorted(family.units)))
    digits = str(number).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    _, exact = parse(f"{text} {unit}", family)
    assert exact == Fraction(number, 10**places) * family.units[unit]


@pytest.mark.slow
@settings(deadline=None)
@given(st.one_of(st.text(max_size=80), st.floats(), st.integers(), st.none(), st.booleans()))
def test_nothing_but_quantity_errors(value: object) -> None:
    for family in FAMILIES:
        try:
            _, exact = parse(value, family)
        except QuantityError:
            continue
        assert exact >= 0
