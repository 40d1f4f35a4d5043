"""Slow paced senders beside the kernel, packet by packet: timers, credit, delayed ACKs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import dumbbell

pytestmark = pytest.mark.kernel

#: BBR at a few kbit/s waits tens of milliseconds between departures, and loses most of its packets.
SLOW = """
dumbbell: 1
name: slow paced senders
template: {dumbbell: {pairs: 3, rate: 511 kbit/s, rtt: 1.39 ms, forward: {buffer: 7 packets},
  backward: {buffer: 10000 packets}}}
taps: [{at: s1, link: s1-r1}, {at: s2, link: s2-r1}, {at: s3, link: s3-r1}]
flows:
  - {name: one, from: s1, to: d1, tcp: {congestion_control: bbr, fq: $fq}}
  - {name: two, from: s2, to: d2, tcp: {congestion_control: bbr, fq: $fq}, start: 300 us}
  - {name: three, from: s3, to: d3, tcp: reno, start: 600 us}
duration: 4 s
sampling: {packets: {from: 0 s, to: 4 s}}
factors: {fq: [true, false]}
"""
#: The guest's program and links take some readings of the clock, 256 ns each.
APART_NS = 20_000
Sent = tuple[str, int, int, int]


def runs(results: dumbbell.Results) -> dict[tuple[str, int], list[Sent]]:
    """Data packets of each run at the senders: flow, place in the stream, payload, time."""
    data = results.packets.filter(pl.col("payload_bytes") > 0)
    columns = ["flow", "seq_bytes", "payload_bytes", "time_ns"]
    return {
        (str(fq), int(repeat)): rows.select(columns).rows()
        for (fq, repeat), rows in data.group_by("fq", "repeat", maintain_order=True)
    }


def equal(one: Sequence[Sent], other: Sequence[Sent]) -> bool:
    """True if both sent the same packets at the same times."""
    return len(one) == len(other) and all(
        a[:3] == b[:3] and abs(a[3] - b[3]) <= APART_NS for a, b in zip(one, other, strict=True)
    )


def test_every_run_of_the_kernel_is_one_of_the_simulators(tmp_path: Path) -> None:
    """Both engines draw the phases of BBR's gain cycle, seven for each flow, by other numbers."""
    file = tmp_path / "e.yaml"
    file.write_text(SLOW, encoding="utf-8")
    ours = runs(dumbbell.run(file, repeats=200))
    kernel = runs(dumbbell.run(file, engine="linux", repeats=4))
    assert len(kernel) == 8
    for (fq, repeat), sent in kernel.items():
        assert len(sent) > 200
        same = [one for (level, _), one in ours.items() if level == fq and equal(sent, one)]
        assert same, f"fq {fq}, repeat {repeat}: no run of the simulator is equal"
