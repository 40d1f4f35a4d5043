"""A source that is on and off writes at the same times on the kernel as in the simulator, also
where its times are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell

pytestmark = pytest.mark.kernel

TEXT = """\
dumbbell: 1
name: bursts
template: {dumbbell: {rate: 50 Mbit/s, rtt: 20 ms, buffer: 300 packets}}
flows:
  - from: s1
    to: d1
    tcp:
      congestion_control: cubic
      source:
        on_off:
          {chunk: 20 kB, interval: 40 ms, on: 200 ms, off: 600 ms, lengths: LENGTHS, bytes: 600 kB}
taps: [{name: t, at: s1, link: s1-r1}]
sampling: {packets: {to: 20 s}}
duration: 20 s
seed: 3
"""
CHUNKS = 600 // 20


@pytest.mark.parametrize("lengths", ["fixed", "exponential"])
def test_bursts_are_the_same_packets_at_the_same_times(lengths: str, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT.replace("LENGTHS", lengths), encoding="utf-8")
    runs = [dumbbell.run(file, engine=engine) for engine in ("sim", "linux")]
    ours, theirs = (
        run.packets.filter(run.packets["payload_bytes"] > 0).sort("time_ns", maintain_order=True)
        for run in runs
    )
    assert [run.flows["delivered_bytes"].to_list() for run in runs] == [[600 * 1024]] * 2
    columns = ("seq_bytes", "payload_bytes")
    assert ours.select(columns).rows() == theirs.select(columns).rows()
    assert ((theirs["time_ns"] - ours["time_ns"]).abs() < 100_000).all()
    # Chunks at 0, 40, 80, 120 and 160 ms of a burst; the next begins at 800 ms.
    gaps = ours["time_ns"].diff().drop_nulls()
    pauses_ms = [round(gap / 1e6) for gap in gaps if gap > 60_000_000]
    if lengths == "fixed":
        assert pauses_ms == [640] * (CHUNKS // 5 - 1)
    else:
        assert len(set(pauses_ms)) == len(pauses_ms) > 1
