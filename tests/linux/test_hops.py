"""The way of packets on the kernel, put together from taps at every interface."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.errors import ExperimentError
from dumbbell.trace import read_trace
from dumbbell.trace.write import write_traces

pytestmark = pytest.mark.kernel

TEXT = """\
dumbbell: 1
name: ways
template: {dumbbell: {pairs: 2, rate: 5 Mbit/s, rtt: 30 ms, buffer: 15 packets}}
flows:
  - {name: a, from: s1, to: d1, tcp: cubic}
  - {name: b, from: s2, to: d2, start: 400 ms, tcp: {congestion_control: reno, bytes: 300000 bytes}}
  - {name: p, from: s1, to: d2, ping: {interval: 50 ms}}
sampling: {interval: 20 ms, hops: {to: 3 s}}
duration: 3 s
"""


def test_packets_are_followed_through_the_kernel(tmp_path: Path) -> None:
    file = tmp_path / "ways.yaml"
    file.write_text(TEXT, encoding="utf-8")
    results = dumbbell.run(file, engine="linux")
    hops = results.hops
    assert results.packets.is_empty(), "they are what hops were made of"
    for row in results.pipes.iter_rows(named=True):
        mine = hops.filter(pl.col("pipe") == row["pipe"])
        left = mine.filter(pl.col("leaves_ns") >= 0)
        dropped = mine.filter(pl.col("dropped") != "")
        # What is on the line at the end, the kernel's interface has counted and no tap has seen.
        assert 0 <= row["left_packets"] - left.filter(pl.col("ended_ns") >= 0).height <= 15
        assert dropped.height == row["dropped_overflow_packets"], row["pipe"]
    bottleneck = hops.filter((pl.col("pipe") == "bottleneck/forward") & (pl.col("ended_ns") >= 0))
    assert bottleneck.filter(pl.col("dropped") == "unseen").height > 10
    arrived = bottleneck.filter(pl.col("dropped") == "")
    took = (arrived["ended_ns"] - arrived["leaves_ns"]).to_numpy()
    assert took.min() >= 15_000_000, "propagation"
    waits = (arrived["leaves_ns"] - arrived["offered_ns"]).to_numpy()
    # Fifteen packets of 1514 bytes at 5 Mbit/s, and one on the wire.
    assert 20e6 < waits.max() <= 17 * 1514 * 8 / 5e6 * 1e9
    flow = results.flows.filter(pl.col("flow") == "b").row(0, named=True)
    (path,) = write_traces(results, tmp_path)
    again = read_trace(path).tables["flows"].filter(pl.col("flow") == "b").row(0, named=True)
    assert again["delivered_bytes"] == flow["delivered_bytes"] == 300_000
    assert again["retransmitted_packets"] == flow["retransmitted_packets"]


def test_hops_and_captures_are_not_kept_together(tmp_path: Path) -> None:
    file = tmp_path / "ways.yaml"
    taps = "taps: [{at: s1, link: s1-r1}]\n"
    file.write_text(TEXT.replace("hops:", "capture: true, hops:") + taps, encoding="utf-8")
    with pytest.raises(ExperimentError, match="either hops or capture"):
        dumbbell.run(file, engine="linux")
