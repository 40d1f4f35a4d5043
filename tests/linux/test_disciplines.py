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


#: Three flows of TCP and one that does not give way, each a queue of its own.
SHARED = """\
dumbbell: 1
name: shared
template:
  dumbbell:
    pairs: 4
    rate: 20 Mbit/s
    rtt: 30 ms
    forward: {queue: fq_codel}
    backward: {buffer: 100 packets}
flows:
  - {from: "s{i}", to: "d{i}", count: 3, tcp: $cc, name: "f{i}"}
  - {name: u, from: s4, to: d4, udp: {rate: 15 Mbit/s, datagram: 1400 bytes}}
factors: {cc: [cubic, bbr]}
duration: 10 s
"""


def test_fq_codel_shares_a_line_as_linux_does(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(SHARED, encoding="utf-8")
    rates = []
    for engine in ("sim", "linux"):
        results = dumbbell.run(file, engine=engine)
        rate = 8 * pl.col("delivered_bytes") / pl.col("end_ns") * 1e3
        rows = results.flows.sort("cc", "flow").select("cc", "flow", rate.alias("mbps"))
        rates.append(rows["mbps"].to_list())
    for ours, theirs in zip(*rates, strict=True):
        # A quarter of the line each, headers off; what a halved window leaves, the others take.
        assert 4.4 < ours < 5.7
        assert abs(ours - theirs) < 0.15


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
