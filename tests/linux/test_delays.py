"""Delays of links on the kernel's engine: to the nanosecond, also where `tc` has no such step."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell

pytestmark = pytest.mark.kernel

#: Datagrams over one link. 8 ms are a multiple of tc's microseconds and of netem's ticks of 64 ns.
TEXT = """\
dumbbell: 1
name: delays
hosts: {a: {}, b: {}}
links: [{name: l, between: [a, b], forward: $line, backward: {delay: 8 ms}}]
flows: [{name: u, from: a, to: b, stop: 900 ms, udp: {rate: 1 Mbit/s, datagram: 1000 bytes}}]
taps: [{name: far, at: b, link: l}]
sampling: {packets: {to: 1 s}}
duration: 1 s
factors:
  line:
    - {label: exact, value: {delay: 8 ms}}
    - {label: whole, value: {delay: 6.5 ms}}
    - {label: nanoseconds, value: {delay: 1012345 ns}}
    - {label: queue, value: {netem: {delay: 1002250 ns, limit: 10 packets}}}
    - label: bursts
      value: {delay: 6.5 ms, loss: {gilbert_elliott: {good_to_bad: 5 %, bad_to_good: 20 %}}}
    - {label: change, value: {delay: 6.5 ms, changes: [{at: 500 ms, delay: 7301100 ns}]}}
    - label: outage
      value: {delay: 6.5 ms, changes: [{at: 200 ms, state: down}, {at: 300 ms, state: up}]}
    - {label: jitter, value: {delay: 8 ms, jitter: 1 us}}
"""
DELAYS = {
    "exact": {8_000_000},
    "whole": {6_500_000},
    "nanoseconds": {1_012_345},
    "queue": {1_002_250},
    "bursts": {6_500_000},
    "change": {6_500_000, 7_301_100},
    "outage": {6_500_000},
}


def test_delays_are_kept_to_the_nanosecond(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT, encoding="utf-8")
    packets = dumbbell.run(file, engine="linux").packets.filter(pl.col("direction") == "out")
    # Programs send at the same times, whatever the line.
    exact = packets.filter(pl.col("line") == "exact")
    sent = exact.select("packet_number", sent_ns=pl.col("time_ns") - 8_000_000)
    took = packets.join(sent, "packet_number").with_columns(
        delay_ns=pl.col("time_ns") - pl.col("sent_ns")
    )
    arrived = {}
    for line, delays in DELAYS.items():
        of = took.filter(pl.col("line") == line)
        assert set(of["delay_ns"]) == delays, line
        arrived[line] = of.height
    assert arrived["whole"] == arrived["exact"] > 100
    # Loss and limit stay as they were when the delay is set.
    assert 0.1 < 1 - arrived["bursts"] / arrived["exact"] < 0.35
    assert 8 <= arrived["exact"] - arrived["outage"] <= 14
    # Even jitter over 1 us.
    jitter = took.filter(pl.col("line") == "jitter")["delay_ns"] - 8_000_000
    assert len(set(jitter)) > 50
    assert -1 <= jitter.min() < 100 and 900 < jitter.max() <= 1001
    assert 400 < jitter.mean() < 600


def test_losses_behind_changes_of_delay_and_loss_are_random() -> None:
    """Setting a delay to the nanosecond must not begin netem's random numbers anew."""
    changes = []
    for number in range(20):
        begin = {"at": f"{1 + 2 * number} s", "loss": "50 %", "delay": f"{15_000 + number} us"}
        changes += [begin, {"at": f"{2 + 2 * number} s", "loss": "0 %"}]
    experiment = {
        "dumbbell": 1,
        "name": "windows",
        "hosts": {"a": {}, "b": {}},
        "links": [{"between": ["a", "b"], "delay": "15 ms", "forward": {"changes": changes}}],
        "flows": [{"from": "a", "to": "b", "ping": "100 ms", "start": "50 ms"}],
        "duration": "40.5 s",
        "sampling": {"keep": ["probes"]},
    }
    probes = dumbbell.run(experiment, engine="linux").probes.sort("time_ns")
    second = pl.col("time_ns") // 1_000_000_000
    windows = probes.filter(second % 2 == 1).group_by(second.alias("second"))
    fates = windows.agg((pl.col("delay_ns") < 0).alias("lost"))["lost"].to_list()
    assert len(fates) == 20 and len({tuple(one) for one in fates}) > 15
    assert 70 < sum(map(sum, fates)) < 130
