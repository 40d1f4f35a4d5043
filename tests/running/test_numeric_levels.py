"""Levels of factors as numbers: a column with the unit in its name."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.store.export import export
from dumbbell.store.quantities import numeric_columns
from dumbbell.store.query import query

FILE = {
    "dumbbell": 1,
    "name": "levels",
    "template": {"dumbbell": {"rate": "$rate", "rtt": "$rtt", "buffer": "1 BDP"}},
    "flows": [{"from": "s1", "to": "d1", "tcp": "$cc"}],
    "duration": "1 s",
    "factors": {"rtt": ["10 ms", "0.04 s"], "rate": ["500 kbit/s", "2 Mbit/s"], "cc": ["cubic"]},
}


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ({"rtt": ["10 ms", "1.5 s", "500 us"]}, {"rtt_ms": [10, 1500, 0.5]}),
        ({"rate": ["500 kbit/s", "1 Gbit"]}, {"rate_mbps": [0.5, 1000]}),
        ({"file": ["1 KiB", "1 MB"]}, {"file_bytes": [1024, 1048576]}),
        ({"limit": ["10 packets", "1 packet"]}, {"limit_packets": [10, 1]}),
        ({"loss": ["0 %", "100 ppm"]}, {"loss_percent": [0, 0.01]}),
        ({"buffer": ["0.5 BDP", "2 BDP"]}, {"buffer_bdp": [0.5, 2]}),
        ({"senders": ["8", "32"]}, {"senders_number": [8, 32]}),
        ({"buffer": ["1 BDP", "100 packets"]}, {}),  # two quantities
        ({"rtt": ["10 ms", "cubic"]}, {}),
        ({"rtt": ["10 ms", "20"]}, {}),
        ({"cc": ["cubic", "reno"]}, {}),
        ({"rtt": ["10 ms"], "rtt_ms": ["low"]}, {}),  # the name is a factor's
        ({"rtt": ["10 ms"], "RTT_ms": ["low"]}, {}),
        ({"cwnd_max": ["10 packets"]}, {}),  # the name is a column of `flows`
    ],
)
def test_columns_and_numbers(
    factors: dict[str, list[str]], expected: dict[str, list[float]]
) -> None:
    found = numeric_columns(factors)
    assert {name: list(numbers.values()) for name, numbers in found.items()} == {
        name: pytest.approx(values) for name, values in expected.items()
    }


def test_results_queries_and_exports_have_them(tmp_path: Path) -> None:
    store = tmp_path / "store"
    expected = [(10.0, 0.5), (10.0, 2.0), (40.0, 0.5), (40.0, 2.0)]
    begin = ["run", "rtt", "rate", "cc", "repeat", "seed", "rtt_ms", "rate_mbps"]
    for results in (dumbbell.run(FILE), dumbbell.run(FILE, store=store)):
        for frame in (results.flows, results.pipes, results.runs, results.samples):
            assert frame.columns[: len(begin)] == begin
            assert frame.schema["rtt_ms"] == pl.Float64()
        assert results.flows.select("rtt_ms", "rate_mbps").rows() == expected
    pytest.importorskip("duckdb")
    sql = "select rtt_ms, rate_mbps from flows where rtt_ms > 5 order by rtt_ms, rate_mbps"
    assert query(store, sql).rows() == expected
    paths = [path for path, _ in export(store, tmp_path / "files", tables=["flows"])]
    assert pl.read_parquet(paths[0]).select("rtt_ms", "rate_mbps").rows() == expected
