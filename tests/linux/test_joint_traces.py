"""Joint traces on both engines, packet by packet."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from tests import test_joint_traces as law

pytestmark = pytest.mark.kernel

#: A packet is at most this late on the kernel, ns: timers, and the tap.
LATE_NS = 3_000
#: Slow start is over at 300 ms; the queue is full before and behind the changes.
TRACE = """\
time_ms,rate_mbps,delay_ms
0,10,20
300.3,40,12
310.1,5,30
330.7,40,8
350.9,12,14
600.3,20,3
"""
TCP = """\
dumbbell: 1
name: tcp
hosts: {a: {}, b: {}}
links:
  - {name: l, between: [a, b], forward: {buffer: 60 packets, trace: {file: t.csv, end: hold}},
     backward: {delay: 8 ms}}
flows: [{name: f, from: a, to: b, tcp: cubic}]
taps: [{name: far, at: b, link: l}]
sampling: {packets: {to: 1 s}}
duration: 1 s
"""
HEADER = ("direction", "seq_bytes", "payload_bytes", "ack_bytes", "window_bytes", "tcp_flags")


@pytest.mark.parametrize("end", ["hold", "repeat"])
def test_datagrams_arrive_at_the_times_of_the_law(end: str, tmp_path: Path) -> None:
    text = law.PACKETS.format(end=f"end: {end}", rate="16 Mbit/s", stop="500 ms", duration="1 s")
    ours, theirs = (law.arrived_ns(tmp_path, engine, text) for engine in ("sim", "linux"))
    assert len(ours) == len(theirs) > 600
    late = [there - here for here, there in zip(ours, theirs, strict=True)]
    assert min(late) >= -1 and max(late) <= LATE_NS


def test_cubic_sends_the_same_packets_at_the_same_times(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TRACE, encoding="utf-8")
    file = tmp_path / "e.yaml"
    file.write_text(TCP, encoding="utf-8")
    found = []
    for engine in ("sim", "linux"):
        packets = dumbbell.run(file, engine=engine).packets
        out = packets.filter(pl.col("direction") == "out").sort("time_ns", maintain_order=True)
        found.append(out)
    ours, theirs = found
    assert ours.height > 1000
    assert ours.select(HEADER).rows() == theirs.select(HEADER).rows()
    assert (theirs["time_ns"] - ours["time_ns"]).abs().max() <= LATE_NS


def test_many_changes_do_not_lengthen_the_queue(tmp_path: Path) -> None:
    """A change of a bucket fills it; a thousand would let a thousand packets out of the queue."""
    rows = "".join(f"{number + 0.3},{20 + number % 2},10\n" for number in range(1000))
    (tmp_path / "t.csv").write_text("time_ms,rate_mbps,delay_ms\n" + rows, encoding="utf-8")
    file = tmp_path / "e.yaml"
    file.write_text(TCP.replace("1 s", "2 s").replace("cubic", "reno"), encoding="utf-8")
    found = []
    for engine in ("sim", "linux"):
        results = dumbbell.run(file, engine=engine)
        flows = results.flows
        found.append((flows["retransmitted_packets"][0], flows["delivered_bytes"][0]))
    ours, theirs = found
    assert ours[0] > 0 and ours[0] == pytest.approx(theirs[0], rel=0.1)
    assert ours[1] == pytest.approx(theirs[1], rel=0.01)


def test_the_kernel_loses_the_share_of_the_row(tmp_path: Path) -> None:
    shares = [0, 5, 100, 0.5]
    text = law.PACKETS.format(end="end: hold", rate="20 Mbit/s", stop="4 s", duration="5 s")
    assert law.lost(tmp_path, "linux", text, shares) == []
