"""Compressed ACKs of a host leave together: their timers are soft hrtimers of one processor."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from tests import kernel

#: The first segment of each flow is lost. The receiver acknowledges three later ones at once, and
#: compresses the ACKs of the other six: they may leave after 5 % of the RTT of 20 ms, and must
#: leave 100 us later (`tcp_comp_sack_slack_ns`).
TEXT = """\
dumbbell: 1
name: compressed ACKs
hosts: {defaults: {profile: PROFILE}, s: , d: , e: }
routers: {r: }
links:
  - {between: [s, r], delay: 5 ms, forward: {loss: {scripted: [
     {flow: first, nth: 1}, {flow: second, nth: 1}, {flow: third, nth: 1}, {flow: other, nth: 1}]}}}
  - {name: d, between: [r, d], delay: 5 ms}
  - {name: e, between: [r, e], delay: 5 ms}
flows:
  - {name: first, from: s, to: d, tcp: {congestion_control: reno, bytes: 14480 B}}
  - {name: second, from: s, to: d, start: 60 us, tcp: {congestion_control: reno, bytes: 14480 B}}
  - {name: third, from: s, to: d, start: 200 us, tcp: {congestion_control: reno, bytes: 14480 B}}
  - {name: other, from: s, to: e, start: 60 us, tcp: {congestion_control: reno, bytes: 14480 B}}
taps: [{name: d, at: d, link: d}, {name: e, at: e, link: e}]
sampling: {packets: {to: 40 ms}}
duration: 0.3 s
"""
#: Data arrives after a handshake and half an RTT.
ARRIVAL_US = 30_000
DELAY_US, SLACK_US = 1000, 100
#: Start of the programs, which read the clock.
MARGIN_US = 8


def compressed(engine: str, folder: Path, profile: str) -> dict[str, float]:
    """Time of each flow's only compressed ACK, us after the first data would have arrived."""
    file = folder / "e.yaml"
    file.write_text(TEXT.replace("PROFILE", profile), encoding="utf-8")
    packets = dumbbell.run(file, engine=engine).packets
    acks = packets.filter(
        (pl.col("direction") == "back")
        & (pl.col("sack_ranges_bytes") != "")
        & (pl.col("time_ns") > (ARRIVAL_US + 500) * 1000)
    )
    assert acks["flow"].is_unique().all()
    return {
        flow: time / 1000 - ARRIVAL_US for flow, time in acks.select("flow", "time_ns").iter_rows()
    }


def test_acks_of_one_host_leave_at_the_time_of_the_first(tmp_path: Path) -> None:
    at = compressed("sim", tmp_path, "linux-6.12")
    due = DELAY_US + SLACK_US
    assert at["first"] == pytest.approx(due, abs=MARGIN_US)
    # It might leave 60 us later, and its delay is over when the interrupt of the first comes.
    assert at["second"] == at["first"]
    # Its delay ends later; it has an interrupt of its own.
    assert at["third"] == pytest.approx(200 + due, abs=MARGIN_US)
    # Another host has another processor.
    assert at["other"] == pytest.approx(60 + due, abs=MARGIN_US)


@pytest.mark.kernel
def test_the_kernel_sends_them_so(tmp_path: Path) -> None:
    """The hosts of a guest share one processor, so the other host's ACK leaves with them."""
    here = compressed("sim", tmp_path, kernel.profile())
    there = compressed("linux", tmp_path, kernel.profile())
    assert there["second"] == pytest.approx(there["first"], abs=1)
    assert there["other"] == pytest.approx(there["first"], abs=1)
    for flow in ("first", "second", "third"):
        assert there[flow] == pytest.approx(here[flow], abs=MARGIN_US)
