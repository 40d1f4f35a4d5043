"""Numbers for people have no exponents."""

from __future__ import annotations

import math
import re

import pytest

from dumbbell.capture import terminal
from dumbbell.cli import store
from dumbbell.cli.query import _text
from dumbbell.compare.display import _folded, _rows
from dumbbell.compare.engines import CRITERIA, Difference
from dumbbell.execution.bar import _rate
from dumbbell.metrics import Interval
from dumbbell.metrics.numbers import number, percent, with_error, with_interval
from dumbbell.report.setup import _words
from tests.helpers import ROOT

#: Of a number, not of a digest.
EXPONENT = re.compile(r"\de[+-]\d")


@pytest.mark.parametrize(
    ("value", "words"), [(7324.2, "7\u202f324"), (1e7, "10\u202f000\u202f000"), (math.inf, "∞")]
)
def test_a_large_number_is_plain(value: float, words: str) -> None:
    assert number(value) == words
    assert number(-value) == f"−{words}"


@pytest.mark.parametrize(
    ("value", "half", "words", "with_half"),
    [
        (0.00005, 0.00001, "0.00005", "0.000050 ± 0.000010"),
        (0.0000123456, 0.0000003, "0.0000123", "0.0000123 ± 0.0000003"),
        (0.2743, 0.003, "0.274", "0.2743 ± 0.0030"),
    ],
)
def test_a_small_number_is_plain_and_not_zero(
    value: float, half: float, words: str, with_half: str
) -> None:
    assert number(value) == words
    assert with_error(value, half) == with_half


@pytest.mark.parametrize("ends", [(None, None), (math.nan, math.nan), (2.5, 2.5)])
def test_a_mean_without_an_interval_stands_alone(ends: tuple[float | None, float | None]) -> None:
    assert with_interval(2.5, *ends) == "2.50"
    assert with_interval(None, *ends) == "–"
    assert with_interval(2.5, 2.0, 2.8) == "2.50 ± 0.50"


def test_a_small_share_does_not_look_like_none() -> None:
    shares = (None, 0.0, 0.0004, 0.0123, 0.5)
    assert [percent(share) for share in shares] == ["", "0 %", "<0.1 %", "1.2 %", "50 %"]


def test_a_queue_in_bytes_is_plain() -> None:
    pipe = {
        "queue": {"drop_tail": {"limit_bytes": 7_500_000}}, "shaper": "none", "delay_ns": 0,
        "policer": None, "jitter_ns": 0, "loss": "none", "changes": [], "framing": "ethernet",
        "corruption": 0.0, "duplication": 0.0, "reordering": 0.0, "ack_aggregation_ns": 0,
    }  # fmt: skip
    assert "queue of 7\u202f324 KiB" in _words(pipe)


def test_a_cell_of_a_query_is_plain() -> None:
    assert [_text(one) for one in (12_345_678.9, 0.25, None, 7)] == ["12345679", "0.25", "", "7"]


@pytest.mark.parametrize(
    ("rate", "words"), [(0.3, "0.3"), (0.004, "<0.01"), (2.4, "2.4"), (122.7, "123"), (0, "–")]
)
def test_a_slow_run_has_a_speed(rate: float, words: str) -> None:
    assert _rate(rate) == words


def difference(flow: str, first: float, distance: float) -> Difference:
    one, other = Interval(first, math.nan, math.nan, 1), Interval(2.0, math.nan, math.nan, 1)
    return Difference({"cc": "cubic"}, flow, CRITERIA[0], one, other, distance)


def test_many_flows_are_one_row_per_quantity() -> None:
    alike = [difference(f"w{i}", 1.0 + i / 16, 0.5 if i else 2.0) for i in range(32)]
    own = [difference("bulk", 2.0, 0.0)]
    rows = [row for part in _folded([*alike, *own]) for row in _rows(part)]
    assert rows[0] == ("cubic · w0 … w31, mean of 32 flows",)
    assert rows[1][1:] == ("1.97", "2", "-1.6%", "✗ 31 of 32")
    assert rows[2:] == [("cubic · bulk",), ("  goodput (Mbit/s)", "2", "2", "+0.0%", "✓")]
    assert len([row for part in _folded(alike[:4]) for row in _rows(part)]) == 8


def test_a_transfer_has_its_time() -> None:
    assert "transfer_s" in {one.metric for one in CRITERIA}


@pytest.mark.parametrize("size", [0, 1, 1023, 1536, 1000 * 1024, 1020 * 1024**2, 5000 * 1024**3])
def test_the_size_of_a_file_is_plain(size: int) -> None:
    assert not EXPONENT.search(store._bytes(size))
    assert not EXPONENT.search(terminal._bytes(size))


@pytest.mark.parametrize("ns", [None, 1, 100, 1_000, 40_060_000, 36_000_000_000_000])
def test_a_time_of_a_capture_is_plain(ns: float | None) -> None:
    assert not EXPONENT.search(terminal._milliseconds(ns))


@pytest.mark.parametrize("rate", [1e-9, 0.5, 2_383_620.5, 4e12])
def test_a_rate_of_a_capture_is_plain(rate: float) -> None:
    file = {
        "packets": 2, "bytes": 120, "first_ns": None, "duration_s": 1.0, "packets_per_s": rate,
        "bits_per_s": rate, "packet_mean_bytes": None, "truncated_packets": 0,
    }  # fmt: skip
    assert not EXPONENT.search(terminal._totals(file))
    (bars,) = terminal._rate({"bytes": [1, rate * 1e6], "width_ns": 1_000_000_000})
    assert not EXPONENT.search(str(bars))


def test_surfaces_have_one_formatter() -> None:
    """Numbers of these pages that vary by magnitudes are formatted by `number`."""
    for name in ("cli/store.py", "capture/terminal.py", "capture/folder.py", "explore/run_view.py"):
        text = (ROOT / "dumbbell" / name).read_text(encoding="utf-8")
        assert not re.search(r":\.\d[ge]\}", text), name


@pytest.mark.parametrize(
    ("value", "words"),
    [(2.00001, "2"), (9.99999, "10"), (2.004, "2.00"), (0.0, "0"), (1e-6, "0.000001")],
)
def test_a_number_that_is_whole_but_for_rounding_has_no_decimals(value: float, words: str) -> None:
    assert number(value) == words
