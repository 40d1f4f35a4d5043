"""Queue disciplines of the simulator beside Linux's, packet by packet."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import dumbbell

#: Packets at a constant rate a tenth above the line's: a standing queue that nothing gives way to.
TEXT = """\
dumbbell: 1
name: discipline
template:
  dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, forward: {queue: QUEUE}, backward: {buffer: 100 packets}}
flows:
  - {name: u, from: s1, to: d1, udp: {rate: 11 Mbit/s, datagram: 1400 bytes}}
taps: [{name: t, at: r2, link: bottleneck}]
sampling: {packets: {to: 5 s}}
duration: 5 s
"""


def passed(folder: Path, engine: str, queue: str) -> list[tuple[int, int]]:
    """Number and time of the packets that came through, and what was dropped in the table."""
    file = folder / "e.yaml"
    file.write_text(TEXT.replace("QUEUE", queue), encoding="utf-8")
    results = dumbbell.run(file, engine=engine)
    packets = results.packets.filter(pl.col("direction") == "out").sort("time_ns")
    (dropped,) = results.pipes.filter(pl.col("pipe") == "bottleneck/forward")["dropped_aqm_packets"]
    rows = list(packets.select("packet_number", "time_ns").iter_rows())
    numbers = {number for number, _ in rows}
    # The last may wait behind one that is dropped at the end.
    assert 0 <= dropped - (max(numbers) + 1 - len(numbers)) <= 1
    return rows


def test_codel_drops_the_packets_that_linux_drops(tmp_path: Path) -> None:
    for queue in ("codel", "{codel: {target: 20 ms, interval: 50 ms}}"):
        ours, theirs = (passed(tmp_path, engine, queue) for engine in ("sim", "linux"))
        assert len(ours) == len(theirs)
        lost = [set(range(rows[-1][0])) - {number for number, _ in rows} for rows in (ours, theirs)]
        # A time that falls on a tick of 1024 ns may fall to either side of it.
        assert len(lost[0]) > 400
        assert len(lost[0] ^ lost[1]) <= 0.01 * len(lost[0])
        assert all(abs(one[1] - other[1]) < 10_000 for one, other in zip(ours, theirs, strict=True))
