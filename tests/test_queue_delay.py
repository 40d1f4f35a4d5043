"""Queueing delay where no packet's time in the queue is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dumbbell
from dumbbell.metrics.queue_delay import drain_ms

RATES = st.lists(st.integers(1, 10**9), min_size=1, max_size=4)
TIMES = st.integers(0, 10**10)


@given(rates=RATES, gaps=st.lists(st.integers(1, 10**9), min_size=3, max_size=3), at=TIMES)
def test_what_waits_has_left_after_the_delay(rates: list[int], gaps: list[int], at: int) -> None:
    """Bits that the rates let through from a sample until its delay has gone by."""
    starts = [0, *(int(one) for one in np.cumsum(gaps))][: len(rates)]
    steps = list(zip(starts, map(float, rates), strict=True))
    waiting = 150_000
    (delay,) = drain_ms(steps, np.array([at]), np.array([waiting]))
    end = at + delay * 1e6
    stretches = zip(steps, [*starts[1:], float("inf")], strict=True)
    bits = sum(
        rate * max(0.0, min(end, until) - max(at, start)) / 1e9
        for (start, rate), until in stretches
    )
    assert bits == pytest.approx(8 * waiting, rel=1e-6)


def test_without_a_rate_nothing_leaves() -> None:
    """From 1 s on the rate is 0: 125 kB take 1 s at 1 Mbit/s, or never leave."""
    steps = [(0, 1e6), (1_000_000_000, 0.0)]
    times, queued = np.array([0, 1, 2_000_000_000, 5_000_000_000]), np.array([125_000] * 3 + [0])
    assert drain_ms(steps, times, queued).tolist() == pytest.approx(
        [1000, np.nan, np.nan, 0], nan_ok=True
    )


FALL = """\
dumbbell: 1
name: fall
template:
  dumbbell:
    pairs: 1
    rate: 10 Mbit/s
    rtt: 20 ms
    buffer: 40 packets
    forward: {changes: [{at: 4 s, rate: 0.1 Mbit/s}, {at: 4.5 s, rate: 10 Mbit/s}]}
flows: [{from: s1, to: d1, tcp: cubic}]
duration: 10 s
"""


def test_a_short_fall_of_the_rate_makes_no_long_queue(tmp_path: Path) -> None:
    """40 packets take 5 s at 0.1 Mbit/s, but none waits longer than the fall and 0.1 s."""
    file = tmp_path / "fall.yaml"
    file.write_text(FALL, encoding="utf-8")
    results = dumbbell.run(file)
    rows = results.queues.filter(pl.col("pipe") == "bottleneck/forward")
    steps = [(0, 1e7), (4_000_000_000, 1e5), (4_500_000_000, 1e7)]
    drained = drain_ms(steps, rows["time_ns"].to_numpy(), rows["queued_bytes"].to_numpy())
    (longest,) = results.pipes.filter(pipe="bottleneck/forward")["sojourn_max_ns"] / 1e6
    frame_ms = 1514 * 8 / 100  # One that is on the wire when the rate rises takes all its time.
    assert 500 < longest < 500 + frame_ms + 40 * frame_ms / 100
    assert longest - frame_ms < drained.max() < longest
