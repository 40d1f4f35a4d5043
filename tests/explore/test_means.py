"""Means over flows in the explorer's list: of equals, not of parts and wholes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.explore.listing import Listing, Question
from dumbbell.results import Results

MPTCP = """\
dumbbell: 1
name: two paths
hosts: {a: , b: }
routers: {r1: , r2: }
links:
  - {name: p1, between: [a, r1], rate: 8 Mbit/s, delay: 5 ms, buffer: 30 packets}
  - {name: p2, between: [a, r2], rate: 2 Mbit/s, delay: 5 ms, buffer: 30 packets}
  - {between: [r1, b], delay: 5 ms}
  - {between: [r2, b], delay: 5 ms}
flows: [{name: m, from: a, to: b, mptcp: cubic}]
duration: 4 s
sampling: none
"""
WEB = """\
dumbbell: 1
name: web beside bulk
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows: [{name: bulk, from: s1, to: d1, tcp: cubic}]
arrivals: [{name: web, from: s2, to: d2, per_second: 5, size: 10 KB, tcp: cubic}]
duration: 4 s
sampling: none
"""


class Stored:
    """What a list reads of an experiment."""

    def __init__(self, results: Results) -> None:
        self.results = results


@pytest.mark.parametrize(("text", "counted"), [(MPTCP, "m"), (WEB, "bulk")])
def test_a_mean_is_of_equals(text: str, counted: str, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(text, encoding="utf-8")
    results = dumbbell.run(tmp_path / "e.yaml")
    assert results.flows.height > 1
    shown = Listing(Stored(results)).chosen_frame(Question())  # type: ignore[arg-type]
    measured = dumbbell.METRICS["goodput_mbps"].measure(results)
    wanted = measured.filter((pl.col("flow") == counted) & (pl.col("kind") != "subflow"))
    assert shown["goodput_mbps"][0] == pytest.approx(wanted["value"][0])
