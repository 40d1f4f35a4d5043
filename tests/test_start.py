"""Metrics of the start: series whose values are known, and a flow in slow start."""

from __future__ import annotations

from math import log2
from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.limits.flows import FlowLimits
from dumbbell.metrics import METRICS
from dumbbell.metrics.start import exit_bdp, retransmissions, rise_s
from tests.helpers import ROOT

#: 100 packets in 100 ms.
LIMITS = FlowLimits(rate_bps=100 * 1514 * 8 / 0.1, base_rtt_s=0.1, paths=1, buffer_packets=100)
INFINITE = 2**31 - 1
MS = 1_000_000


def series(**columns: list[object]) -> pl.DataFrame:
    """Samples every 100 ms from establishment on."""
    count = len(next(iter(columns.values())))
    times = [100 * MS * i for i in range(count)]
    return pl.DataFrame({"time_ns": times, "srtt_ns": [100 * MS] * count, **columns})


def test_the_exit_is_the_last_window_without_a_threshold() -> None:
    samples = series(
        cwnd_packets=[50, 100, 150, 75], ssthresh_packets=[INFINITE, INFINITE, INFINITE, 75]
    )
    assert exit_bdp(samples, LIMITS) == pytest.approx(1.5)
    undone = series(cwnd_packets=[50, 25, 150, 75], ssthresh_packets=[INFINITE, 25, INFINITE, 75])
    assert exit_bdp(undone, LIMITS) == pytest.approx(1.5)
    assert exit_bdp(samples[:3], LIMITS) != exit_bdp(samples[:3], LIMITS)  # NaN


def test_losses_are_those_until_they_are_repaired() -> None:
    samples = series(
        ssthresh_packets=[INFINITE, 80, 80, 80, 80, 80, 80],
        state=["Open", "Recovery", "Recovery", "Recovery", "Recovery", "Open", "Open"],
        retransmitted_packets=[0, 3, 7, 12, 20, 20, 99],
    )
    assert retransmissions(samples, LIMITS) == 20
    # Without a loss at the end, that of the next RTTs counts: two smoothed RTTs.
    samples = samples.with_columns(state=pl.lit("Open"))
    assert retransmissions(samples, LIMITS) == 12


def test_the_rise_ends_with_nine_tenths_of_a_base_rtt() -> None:
    # 10, 30, 70, 89, 90 packets per RTT.
    assert rise_s(series(delivered_packets=[0, 10, 40, 110, 199, 289]), LIMITS) == 0.5
    assert rise_s(series(delivered_packets=[0, 10, 40, 110, 199]), LIMITS) != 0.5


FILE = """\
dumbbell: 1
name: rise
template: {dumbbell: {rate: 100 Mbit/s, rtt: 100 ms, buffer: 4000 packets}}
hosts: {defaults: {cubic_hystart: false, initcwnd: $initcwnd}}
flows: [{name: f, from: s1, to: d1, tcp: cubic}]
duration: 3 s
sampling: {interval: 5 ms, keep: [samples]}
factors: {initcwnd: [10, 40]}
"""


def test_a_flow_needs_an_rtt_per_doubling(tmp_path: Path) -> None:
    file = tmp_path / "rise.yaml"
    file.write_text(FILE, encoding="utf-8")
    results = dumbbell.run(file)
    ten, forty = METRICS["rise_s"].measure(results)["value"]
    bdp = 100e6 * 0.1 / 8 / 1514
    # The window of 0.9 BDP is delivered an RTT after it is reached, within a doubling.
    rounds = log2(0.9 * bdp / 10)
    assert rounds <= ten / 0.1 <= rounds + 3
    # Two doublings less.
    assert ten - forty == pytest.approx(0.2, abs=0.011)
    none = METRICS["rise_s"].measure(dumbbell.run(file, set={"sampling": "none"}))
    assert none["value"].is_nan().all()


def test_careful_resume_jumps_paced_and_takes_the_jump_back() -> None:
    """RFC 9959: half of the saved 100 packets, spread over 0.6 s; over another line it loses."""
    found = dumbbell.run(ROOT / "examples" / "careful-resume.yaml", set={"cc": "cubic"})
    rise = {
        (row["rate"], row["saved"]): row["value"]
        for row in METRICS["rise_s"].measure(found).iter_rows(named=True)
    }
    assert rise["2 Mbit/s", "100"] < 0.5 * rise["2 Mbit/s", "0"]
    resumed = found.samples.filter(pl.col("saved") == "100")
    same, slower = (resumed.filter(pl.col("rate") == rate) for rate in ("2 Mbit/s", "250 kbit/s"))
    # The initial data leave at 0.6 s and are acknowledged at 1.3 s.
    assert same.filter(pl.col("time_ns") < 1200 * MS)["cwnd_packets"].max() == 10
    jump = same.filter(pl.col("time_ns").is_between(1300 * MS, 1550 * MS))
    assert set(jump["cwnd_packets"]) == {50}
    # Every 50 ms a twelfth of 50 packets leaves.
    assert set(jump["in_flight_packets"].diff().drop_nulls()) == {4}
    # Without losses the window goes on from the flight.
    later = same.filter(pl.col("time_ns").is_between(1900 * MS, 3200 * MS))
    assert later["cwnd_packets"].is_sorted()
    # 57 packets have arrived at the first loss; CUBIC's own threshold would be 36.
    cut = slower.filter(pl.col("state") == "Recovery")["ssthresh_packets"][0]
    assert cut == 28
