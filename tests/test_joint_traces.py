"""What a link with a joint trace does to packets, against arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import polars as pl

import dumbbell

#: Time in ms, rate in Mbit/s, delay in ms. The delay falls by more than the packets' distance.
ROWS = [
    (Fraction(at), rate, delay)
    for at, rate, delay in (
        ("0", 10, 20),
        ("20.3", 40, 12),
        ("50.7", 5, 30),
        ("70.1", 40, 8),
        ("90.9", 12, 14),
    )
]
#: Behind the last row the trace repeats: this row is as long as the one before it.
PERIOD_MS = ROWS[-1][0] + (ROWS[-1][0] - ROWS[-2][0])
#: A full frame: a datagram of 1472 bytes with UDP, IP and Ethernet.
BITS = 8 * 1514
#: Times of the table are whole nanoseconds, those of the simulator picoseconds.
SLACK_NS = Fraction(1, 10)
PACKETS = """\
dumbbell: 1
name: packets
hosts: {{a: {{}}, b: {{}}}}
links:
  - {{name: l, between: [a, b], forward: {{buffer: 10000 packets, trace: {{file: t.csv, {end}}}}},
      backward: {{delay: 8 ms}}}}
flows: [{{name: u, from: a, to: b, stop: {stop}, udp: {{rate: {rate}, datagram: 1472 bytes}}}}]
taps: [{{name: far, at: b, link: l}}]
sampling: {{packets: {{to: 10 s}}}}
duration: {duration}
"""


def row_at(time_ms: Fraction, period_ms: Fraction) -> tuple[int, int]:
    """Rate and delay that are valid at a time."""
    within = time_ms % period_ms
    return next((rate, delay) for at, rate, delay in reversed(ROWS) if at <= within)


def arrivals_ms(every: Fraction, count: int, period_ms: Fraction) -> list[Fraction]:
    """Arrivals of packets that are sent at equal times, in ms.

    A packet is sent at the rate and with the delay of the moment at which its first bit leaves. Its
    first bit arrives behind the last bit of the packet before.
    """
    end = last = Fraction(0)
    found = []
    for number in range(count):
        start = max(every * number, end)
        rate, delay = row_at(start, period_ms)
        length = Fraction(BITS, 1000 * rate)
        end = start + length
        last = max(start + delay, last) + length
        found.append(last)
    return found


def arrived_ns(folder: Path, engine: str, text: str) -> list[int]:
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    rows = "".join(f"{float(at)},{rate},{delay}\n" for at, rate, delay in ROWS)
    (folder / "t.csv").write_text("time_ms,rate_mbps,delay_ms\n" + rows, encoding="utf-8")
    packets = dumbbell.run(file, engine=engine).packets.filter(pl.col("direction") == "out")
    assert packets["packet_number"].is_sorted()
    return packets["time_ns"].to_list()


def test_back_to_back_packets_follow_rate_and_delay(tmp_path: Path) -> None:
    """16 Mbit/s fill the queue at 10, 5 and 12 Mbit/s, and find it empty at 40."""
    text = PACKETS.format(end="end: hold", rate="16 Mbit/s", stop="250 ms", duration="1 s")
    found = arrived_ns(tmp_path, "sim", text)
    every = Fraction(8 * 1472, 16_000)
    expected = arrivals_ms(every, len(found), Fraction(10_000))
    assert len(found) == math.ceil(250 / every)
    late = [at * 1_000_000 - ns for at, ns in zip(expected, found, strict=True)]
    assert all(abs(one) < 1 + SLACK_NS for one in late)


def test_a_repeated_trace_begins_anew(tmp_path: Path) -> None:
    text = PACKETS.format(end="end: repeat", rate="8 Mbit/s", stop="500 ms", duration="1 s")
    found = arrived_ns(tmp_path, "sim", text)
    every = Fraction(8 * 1472, 8_000)
    expected = arrivals_ms(every, len(found), PERIOD_MS)
    assert len(found) == math.ceil(500 / every)
    late = [at * 1_000_000 - ns for at, ns in zip(expected, found, strict=True)]
    assert all(abs(one) < 1 + SLACK_NS for one in late)


def lost(folder: Path, engine: str, text: str, shares: Sequence[float]) -> list[float]:
    """Shares of rows of a second in which too many or too few packets are lost."""
    rows = "".join(f"{second},{share}\n" for second, share in enumerate(shares))
    (folder / "t.csv").write_text("time_s,loss_percent\n" + rows, encoding="utf-8")
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    packets = dumbbell.run(file, engine=engine).packets.filter(pl.col("direction") == "out")
    arrived = packets.group_by((pl.col("time_ns") // 1_000_000_000).alias("row")).len()
    by_row = dict(arrived.iter_rows())
    sent = by_row[0]  # No packet is lost in the first row.
    assert shares[0] == 0 and sent > 1_500
    wrong = []
    for number, share in enumerate(shares):
        gone, expected = sent - by_row.get(number, 0), sent * share / 100
        # Five standard deviations of a binomial distribution, and a packet at each edge.
        bound = 5 * math.sqrt(expected * (1 - share / 100)) + 2
        if abs(gone - expected) > bound:
            wrong.append(share)
    return wrong


def test_the_share_of_lost_packets_is_that_of_the_row(tmp_path: Path) -> None:
    shares = [0, 0.1, 2, 30, 100, 0, 5]
    text = PACKETS.format(end="end: hold", rate="100 Mbit/s", stop="7 s", duration="8 s")
    assert lost(tmp_path, "sim", text, shares) == []
