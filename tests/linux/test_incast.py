"""Many servers answer one client through one port (docs/data-centre.md), on both engines."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, stdev

import polars as pl
import pytest

import dumbbell
from tests import kernel
from tests.scale import tried

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


#: Control, base RTT, servers, queue limit, and the time within which the servers start (us).
CELLS = {
    "short": ("cubic", "20 us", 4, 50, 200),
    "long": ("cubic", "200 us", 8, 50, 200),
    "reno": ("reno", "200 us", 8, 50, 200),
}
#: Least time between two starts: a guest starts one flow after the other, in 1.5 us each.
APART_NS = 12_000
#: Student's t for 99 % by runs.
STUDENT = {5: 4.60, 24: 2.81}
RUNS = tried(5, 24)


def answers(cell: str, seed: int) -> str:
    """An experiment with random starts. Taps at the first router see the RTT with the queue."""
    control, rtt, servers, limit, within_us = CELLS[cell]
    random = Random(seed)
    while True:
        starts = [random.randrange(within_us * 1000) for _ in range(servers)]
        ordered = sorted(starts)
        if all(after - before >= APART_NS for before, after in pairwise(ordered)):
            break
    flows = [
        f"  - {{name: w{i}, from: s{i}, to: d1, start: {start} ns, "
        f"tcp: {{congestion_control: {control}, bytes: 256 KB}}}}"
        for i, start in enumerate(starts, 1)
    ]
    taps = [f"  - {{at: r1, link: s{i}-r1}}" for i in range(1, servers + 1)]
    return "\n".join([
        "dumbbell: 1", "name: incast", f"hosts: {{defaults: {{profile: {kernel.profile()}}}}}",
        f"template: {{dumbbell: {{pairs: {servers}, rate: 1 Gbit/s, rtt: {rtt}, "
        f"forward: {{buffer: {limit} packets}}, backward: {{buffer: 1000 packets}}}}}}",
        "flows:", *flows, "taps:", *taps, "sampling: none", "duration: 1 s", "",
    ])  # fmt: skip


def quantities(text: str, engine: str, folder: Path) -> tuple[float, ...]:
    """Goodput (Mbit/s) of the median flow, retransmissions, and mean RTT (us) of a run."""
    file = folder / "cell.yaml"
    file.write_text(text, encoding="utf-8")
    took_us = (pl.col("end_ns") - pl.col("start_ns")).median() / 1000
    samples = pl.col("tap_rtt_samples")
    return (
        dumbbell.run(file, engine=engine)
        .flows.select(
            goodput_mbps=256e3 * 8 / took_us,
            retransmissions=pl.col("retransmitted_packets").sum(),
            rtt_us=(pl.col("tap_rtt_mean_ns") * samples).sum() / samples.sum() / 1000,
        )
        .row(0)
    )


@pytest.mark.parametrize("cell", CELLS)
def test_random_starts_have_the_same_results(cell: str, tmp_path: Path) -> None:
    """Run by run with the same starts. A few runs differ: a guest's programs send microseconds
    later, and that may move a packet across a tick of the time stamps."""
    runs: dict[str, list[tuple[float, ...]]] = {"sim": [], "linux": []}
    for seed in range(RUNS):
        text = answers(cell, seed)
        for engine, results in runs.items():
            results.append(quantities(text, engine, tmp_path))
    for here, there in zip(zip(*runs["sim"]), zip(*runs["linux"])):  # noqa: B905
        apart = [ours - theirs for ours, theirs in zip(here, there, strict=True)]
        interval = STUDENT[RUNS] * stdev(apart) / sqrt(RUNS)
        assert abs(fmean(apart)) <= max(interval, 0.02 * fmean(there))
    again = zip(*([run[1] for run in results] for results in runs.values()), strict=True)
    assert sum(ours == theirs for ours, theirs in again) >= 0.6 * RUNS
