"""Many transfers that begin together through queues of four packets: what is lost, which timers
fire in one tick, who is first at a full queue, how connections end. All of it must be as the
kernel's for two runs to be the same to the last packet."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell

pytestmark = pytest.mark.kernel

TEXT = """\
dumbbell: 1
name: page
hosts:
  defaults: {tcp_sack: SACK}
  s1: {}
  c1: {}
routers: {s1_if: {}, n1: {}, n0: {}}
links:
  - {between: [s1, s1_if]}
  - {between: [s1_if, n1], rate: 1 Mbit/s, delay: 5 ms, buffer: 4 packets}
  - {between: [n1, n0], rate: 1 Mbit/s, delay: 15 ms, buffer: 4 packets}
  - {between: [n0, c1], rate: 1 Mbit/s, delay: 5 ms, buffer: 4 packets}
flows:
  - &flow
    {name: "large{i}", count: 2, from: s1, to: c1, start_jitter: 50 ms,
     tcp: {congestion_control: ALGORITHM, bytes: 120000 bytes}}
  - {<<: *flow, name: "medium{i}", count: 5,
     tcp: {congestion_control: ALGORITHM, bytes: 21000 bytes}}
  - {<<: *flow, name: "small{i}", count: 10,
     tcp: {congestion_control: ALGORITHM, bytes: 4000 bytes}}
taps: [{name: t, at: s1, link: s1-s1_if}]
sampling: {packets: {to: 20 s}}
duration: 20 s
seed: SEED
"""


@pytest.mark.parametrize(
    ("algorithm", "sack", "seed"),
    [("reno", "true", 1), ("reno", "false", 2), ("cubic", "true", 3), ("cubic", "false", 1)],
)
def test_seventeen_transfers_are_the_same_packets_in_the_same_order(
    algorithm: str, sack: str, seed: int, tmp_path: Path
) -> None:
    file = tmp_path / "e.yaml"
    text = TEXT.replace("SACK", sack).replace("ALGORITHM", algorithm).replace("SEED", str(seed))
    file.write_text(text, encoding="utf-8")
    columns = (
        "direction", "flow", "seq_bytes", "payload_bytes", "ack_bytes", "sack_ranges_bytes",
        "tcp_flags",
    )  # fmt: skip
    packets = [
        dumbbell.run(file, engine=engine).packets.sort("time_ns", maintain_order=True)
        for engine in ("sim", "linux")
    ]
    ours, theirs = packets
    assert len(theirs) > 700
    assert ours.select(columns).rows() == theirs.select(columns).rows()
    # A time-out that falls due at the edge of a tick may fire with the next.
    assert ((theirs["time_ns"] - ours["time_ns"]).abs() < 3e6).all()
