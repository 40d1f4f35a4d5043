"""Numbers of a stretch of one run: each by hand, and none where it is not known."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from dumbbell.explain.reduced import _rtts
from dumbbell.metrics import queues, stretch


def row(**known: Any) -> dict[str, Any]:
    return {"state": "Open", "srtt_ns": -1, "rtt_min_ns": -1, "time_ns": 0, **known}


def test_goodput_counts_bytes_that_arrive_in_the_stretch_for_the_first_time() -> None:
    lost, early, first, again, late = (
        (-1, 0, 100), (5, 100, 100), (15, 200, 100), (18, 200, 100), (25, 300, 100),
    )  # fmt: skip
    arrivals = [late, again, first, early, lost]
    # 100 bytes in 10 ns: 80 Gbit/s.
    assert stretch.goodput_bps(arrivals, 10, 20) == pytest.approx(80e9)
    assert stretch.goodput_bps([early], 10, 20) == 0


def test_the_longest_stop_reaches_to_the_last_sample() -> None:
    samples = [row(time_ns=at, delivered_bytes=sent) for at, sent in ((0, 0), (1, 5), (4, 5))]
    assert stretch.longest_stop_ns(samples) == 3
    assert stretch.longest_stop_ns([]) == 0


def test_rtts_are_those_that_are_known() -> None:
    flow = {"rtt_min_ns": 20_000_000}
    known = [row(srtt_ns=one) for one in (-1, 30, 10, 20)]
    assert stretch.typical_rtt_ns(known, flow) == 20
    assert stretch.typical_rtt_ns([row()], flow) == 20_000_000
    assert stretch.rtts_before_ns(row(time_ns=100, srtt_ns=20), 2) == 60
    assert stretch.rtts_before_ns(row(time_ns=100), 2, 30) == 40


def test_an_rtt_that_is_not_known_has_no_words() -> None:
    assert _rtts(row()) == ""
    assert "smallest" not in _rtts(row(srtt_ns=31_000_000))
    words = _rtts(row(srtt_ns=31_000_000, rtt_min_ns=20_000_000))
    assert words == " Its RTT was 31 ms, the smallest measured 20 ms."


def test_times_of_queues_that_are_not_known_are_none() -> None:
    assert stretch.longest_wait_ns(pl.DataFrame({"sojourn_max_ns": [-1, -1]})) is None
    assert stretch.longest_wait_ns(pl.DataFrame({"sojourn_max_ns": [-1, 7]})) == 7
    lengths = queues.queue_lengths(
        pl.DataFrame({"pipe": ["a", "a", "b", "c"], "queued_packets": [1, 3, 9, -1]})
    )
    assert lengths.rows() == [("b", 9, 9.0), ("a", 3, 2.0)]
    waits = queues.longest_waits(
        pl.DataFrame({"pipe": ["a", "b", "b"], "sojourn_mean_ns": [float("nan"), 1.0, 3.0]})
    )
    assert waits.rows() == [("b", 2.0)]


def test_codel_is_told_where_it_is_known() -> None:
    rows = pl.DataFrame(
        {
            "time_ns": [1, 2, 3],
            "sojourn_mean_ns": [2e6, float("nan"), 4e6],
            "sojourn_min_ns": [1_000_000, -1, 0],
            "dropping": [0, -1, 1],
            "drop_count": [5, -1, 6],
            "dropped_packets": [2, -1, 7],
        }
    )
    assert queues.codel_states(rows).rows() == [
        (1, 2.0, 1.0, 0, 2),
        (2, None, None, None, None),
        (3, 4.0, 0.0, 6, 5),
    ]
