"""Many servers answer one client through one port (docs/data-centre.md), on both engines."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from tests import kernel

pytestmark = pytest.mark.kernel

SENDERS = 8
#: Hosts without a rate: no two packets reach the port at one instant. Starts are 15.3 us apart,
#: more than the guest needs for a start.
TEXT = """\
dumbbell: 1
name: incast
hosts: {defaults: {profile: PROFILE}}
template:
  dumbbell:
    {pairs: 8, rate: 1 Gbit/s, rtt: 128 us, forward: {buffer: 100 packets},
     backward: {buffer: 1000 packets}}
flows:
FLOWS
taps: [{name: t, at: d1, link: r2-d1}]
sampling: {packets: {to: 1 s}}
duration: 1 s
"""
HEADER = ("flow", "direction", "seq_bytes", "payload_bytes", "ack_bytes", "sack_ranges_bytes",
          "window_bytes")  # fmt: skip


@pytest.mark.parametrize("algorithm", ["cubic", "reno"])
def test_answers_of_eight_servers_are_the_same_packets(algorithm: str, tmp_path: Path) -> None:
    """Slow start, overflow and recoveries, until the first connection ends: the programs of a guest
    close a connection a microsecond later than the simulator's."""
    flow = (
        "  - {{name: w{0}, from: s{0}, to: d1, start: {1} ns, "
        "tcp: {{congestion_control: {2}, bytes: 256 KB}}}}"
    )
    flows = [flow.format(i + 1, 15_300 * i, algorithm) for i in range(SENDERS)]
    text = TEXT.replace("FLOWS", "\n".join(flows)).replace("PROFILE", kernel.profile())
    file = tmp_path / "e.yaml"
    file.write_text(text, encoding="utf-8")
    rows, again, ends = [], [], []
    for engine in ("sim", "linux"):
        results = dumbbell.run(file, engine=engine)
        packets = results.packets.sort("time_ns", maintain_order=True)
        first_end = packets.filter(pl.col("tcp_flags").str.contains("fin"))["time_ns"].min()
        rows.append(packets.filter(pl.col("time_ns") < first_end).select(HEADER).rows())
        again.append(results.flows["retransmitted_packets"].sum())
        ends.append(results.flows["end_ns"].max())
    assert len(rows[0]) > 1500
    assert rows[0] == rows[1]
    assert again[0] > 50
    assert ends[0] == pytest.approx(ends[1], rel=0.02)
