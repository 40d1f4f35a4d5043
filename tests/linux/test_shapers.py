"""Shapers and short queues of the simulator beside Linux's, packet by packet."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell

pytestmark = pytest.mark.kernel

#: One flow through a line. Half of an RTT is a multiple of 8 µs, which netem does not round.
TEXT = """\
dumbbell: 1
name: shapers
template:
  dumbbell:
    rtt: RTT
    forward: $line
    backward: {buffer: 1000 packets}
flows: [{from: s1, to: d1, tcp: {congestion_control: cubic, bytes: SIZE}}]
taps: [{name: t, at: r2, link: bottleneck}]
sampling: {packets: {to: 10 s}}
duration: 10 s
factors:
  line:
"""
#: Rate in Mbit/s → bytes of the transfer, RTT, packets of 4 BDP.
LINES = {
    1: ("100 KB", "20.8 ms", 8),
    10: ("500 KB", "20.8 ms", 70),
}
#: Disciplines that draw nothing in these transfers, or the same.
SHORT = {
    "pfifo": "{pfifo: {limit: LIMIT packets}}",
    "bfifo": "{bfifo: {limit: BYTES bytes}}",
    "pfifo_head_drop": "{pfifo_head_drop: {limit: LIMIT packets}}",
    "codel": "{codel: {limit: LIMIT packets}}",
    "fq_codel": "{fq_codel: {limit: LIMIT packets}}",
    "sfq": "{sfq: {limit: LIMIT packets, depth: LIMIT}}",
    "fq": "{fq: {limit: LIMIT packets}}",
    "pie": "{pie: {limit: LIMIT packets}}",
    "fq_pie": "{fq_pie: {limit: LIMIT packets}}",
    "prio": "{prio: {bands: [{dscp: EF}, {queue: {pfifo: {limit: LIMIT packets}}}]}}",
    "drr": "{drr: {classes: [{dscp: EF}, {queue: {pfifo: {limit: LIMIT packets}}}]}}",
}


def transfers(
    folder: Path, text: str, lines: dict[str, str]
) -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
    """Packets at the far end of the line, in order, by name of the line: simulator, kernel."""
    file = folder / "e.yaml"
    levels = [f'    - {{label: "{name}", value: {{{line}}}}}' for name, line in lines.items()]
    file.write_text(text + "\n".join(levels) + "\n", encoding="utf-8")
    ours, theirs = (dumbbell.run(file, engine=engine).packets for engine in ("sim", "linux"))

    def of(packets: pl.DataFrame, name: str) -> pl.DataFrame:
        leaving = (pl.col("direction") == "out") & (pl.col("line") == name)
        return packets.filter(leaving).sort("time_ns", maintain_order=True)

    return {name: (of(ours, name), of(theirs, name)) for name in lines}


def same(ours: pl.DataFrame, theirs: pl.DataFrame, late_ns: int) -> str:
    """What differs between the packets of both engines; empty if nothing does."""
    columns = ("flow", "seq_bytes", "payload_bytes")
    pairs = zip(ours.select(columns).rows(), theirs.select(columns).rows(), strict=False)
    for number, (one, other) in enumerate(pairs):
        if one != other:
            return f"packet {number} of {len(ours)} and {len(theirs)}: {one}, kernel {other}"
    if len(ours) != len(theirs):
        return f"{len(ours)} packets, kernel {len(theirs)}"
    late = (theirs["time_ns"] - ours["time_ns"]).abs().max()
    return "" if isinstance(late, int) and late < late_ns else f"{late!r} ns apart"


@pytest.mark.parametrize("mbps", LINES)
def test_token_buckets_let_the_same_packets_go(mbps: int, tmp_path: Path) -> None:
    size, rtt, packets = LINES[mbps]
    deep = mbps * 1250  # 10 ms of the rate.
    lines = {
        f"{burst} bytes, {limit} packets": f"shaper: {{tbf: {{rate: {mbps} Mbit/s, "
        f"burst: {burst} bytes, initial: full}}}}, buffer: {limit} packets"
        for burst in sorted({1514, max(deep, 1514)})
        for limit in (2, 8, packets)
    }
    text = TEXT.replace("SIZE", size).replace("RTT", rtt)
    found = transfers(tmp_path, text, lines)
    different = {name: same(*both, late_ns=2_000_000) for name, both in found.items()}
    assert not {name: cause for name, cause in different.items() if cause}


#: Buckets of 10 ms of the rate, host links ten times as fast: a real burst takes some time.
DEEP = """\
dumbbell: 1
name: deep
template:
  dumbbell:
    pairs: PAIRS
    rtt: RTT
    access: {rate: FAST Mbit/s, buffer: 10000 packets}
    forward:
      shaper: {tbf: {rate: MBPS Mbit/s, burst: BURST bytes, initial: full}}
      buffer: $queue
    backward: {buffer: 10000 packets}
flows:
  - {from: s1, to: d1, tcp: $cc}
duration: SECONDS s
sampling: none
factors: {queue: QUEUES, cc: CCS}
"""


def deep(
    file: Path, mbps: int, rtt: str, seconds: float, queues: str, controls: str, pairs: int = 1
) -> pl.DataFrame:
    """Flows on both engines, one beside the other: `…` and `…_kernel`."""
    words = {
        "MBPS": mbps, "FAST": 10 * mbps, "BURST": mbps * 1250, "RTT": rtt, "SECONDS": seconds,
        "QUEUES": queues, "CCS": controls, "PAIRS": pairs,
    }  # fmt: skip
    text = DEEP
    for word, value in words.items():
        text = text.replace(word, str(value))
    second = "flows:\n  - {from: s2, to: d2, tcp: cubic, start: 700 ms}"
    file.write_text(text.replace("flows:", second) if pairs > 1 else text, encoding="utf-8")
    keys = ("queue", "cc", "flow")
    ours, theirs = (
        dumbbell.run(file, engine=engine).flows.select(
            *keys, "delivered_bytes", "retransmitted_packets"
        )
        for engine in ("sim", "linux")
    )
    return ours.join(theirs, on=keys, suffix="_kernel", validate="1:1")


@pytest.mark.parametrize(
    ("mbps", "rtt", "seconds", "queues", "controls", "pairs"),
    [
        (100, "20.8 ms", 4, "[8 packets, 64 packets, 700 packets]", "[illinois, reno, cubic]", 1),
        (100, "230.4 ms", 15, "[1139 packets]", "[illinois, reno, cubic]", 1),
        (200, "55.04 ms", 10, "[272 packets]", "[illinois]", 2),
        (1000, "10.4 ms", 1.5, "[8 packets, 100 packets, 3000 packets]", "[reno, cubic]", 1),
    ],
)
def test_deep_buckets_carry_as_much_at_high_rates(
    mbps: int, rtt: str, seconds: float, queues: str, controls: str, pairs: int, tmp_path: Path
) -> None:
    found = deep(tmp_path / "e.yaml", mbps, rtt, seconds, queues, controls, pairs)
    for column in ("delivered_bytes", "retransmitted_packets"):
        apart = (pl.col(column) - pl.col(f"{column}_kernel")).abs()
        far = found.filter(apart > 0.02 * pl.col(f"{column}_kernel"))
        assert far.is_empty(), str(far)


def disciplines(limit: int) -> dict[str, str]:
    """Lines of 20 Mbit/s with each discipline."""
    sizes = {"LIMIT": limit, "BYTES": limit * 1514}
    lines = {}
    for name, queue in SHORT.items():
        for word, size in sizes.items():
            queue = queue.replace(word, str(size))
        lines[name] = f"rate: 20 Mbit/s, queue: {queue}"
    return lines


def test_first_frames_arrive_when_linux_lets_them(tmp_path: Path) -> None:
    """Ten packets through a line that is idle."""
    text = TEXT.replace("SIZE", "14480 B").replace("RTT", "3.2 ms").replace("10 s", "1 s")
    found = transfers(tmp_path, text, disciplines(limit=100))
    different = {name: same(*both, late_ns=10_000) for name, both in found.items()}
    assert not {name: cause for name, cause in different.items() if cause}


@pytest.mark.parametrize("limit", [3, 10])
def test_short_queues_drop_what_linux_drops(limit: int, tmp_path: Path) -> None:
    text = TEXT.replace("SIZE", "300 KB").replace("RTT", "13.28 ms")
    lines = disciplines(limit)
    # A packet that arrives when a frame leaves finds the queue of our wire full, on the kernel not.
    del lines["bfifo"]
    found = transfers(tmp_path, text, lines)
    different = {name: same(*both, late_ns=2_000_000) for name, both in found.items()}
    assert not {name: cause for name, cause in different.items() if cause}
