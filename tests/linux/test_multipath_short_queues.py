"""Multipath TCP through queues of a few packets: whole runs, packet by packet.

Without jitter packets arrive in the instants in which others leave (docs/agreement-drawn.md). Here
ACKs have netem's jitter, which both engines draw alike.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell

pytestmark = pytest.mark.kernel

TEXT = """\
dumbbell: 1
name: short queues
hosts: {a: , b: }
routers: {p: , q: }
links:
  - {between: [a, p], FIRST}
  - {between: [p, b], forward: {rate: 1 Gbit/s, buffer: 10000 packets}, backward: {netem: ONE}}
  - {between: [a, q], SECOND}
  - {between: [q, b], forward: {rate: 1 Gbit/s, buffer: 10000 packets}, backward: {netem: TWO}}
flows:
  - {name: m, from: a, to: b, mptcp: ALGORITHM}
taps: [{at: a, link: a-p}, {at: a, link: a-q}]
sampling: {packets: {to: DURATION}}
duration: DURATION
"""
#: By direction. The sender's own window differs: on the kernel it has received its peer's key.
COLUMNS = {
    "out": ("seq_bytes", "payload_bytes", "tcp_flags"),
    "back": ("ack_bytes", "sack_ranges_bytes", "window_bytes"),
}


def netem(packet_us: int, seed: int) -> str:
    """Half a packet time of jitter around a packet time: ACKs of full segments stay in order."""
    delay = f"mean: {packet_us} us, jitter: {packet_us // 2} us"
    return f"{{limit: 10000 packets, delay: {{{delay}}}, seed: {seed}}}"


@pytest.mark.parametrize(
    ("words", "packets_us", "seed", "least"),
    [
        # Short segments that wait out of order grow the window.
        (
            {
                "FIRST": "rate: 55.6 Mbit/s, delay: 23.35 ms, buffer: 2 packets",
                "SECOND": "rate: 6.07 Mbit/s, delay: 3.42 ms, buffer: 2 packets",
                "ALGORITHM": "reno",
                "DURATION": "4 s",
            },
            (216, 1976),
            17,
            400,
        ),
        # The connection's time-outs.
        (
            {
                "FIRST": "rate: 26.1 Mbit/s, delay: 8.6 ms, buffer: 6 packets",
                "SECOND": "rate: 31.9 Mbit/s, delay: 54.5 ms, buffer: 10 packets",
                "ALGORITHM": "cubic",
                "DURATION": "2180 ms",
            },
            (460, 376),
            27,
            200,
        ),
    ],
    ids=["two packets", "time-outs"],
)
def test_whole_runs_are_the_kernels(
    tmp_path: Path, words: dict[str, str], packets_us: tuple[int, int], seed: int, least: int
) -> None:
    text = TEXT
    first, second = packets_us
    jitter = {"ONE": netem(first, seed), "TWO": netem(second, seed + 1)}
    for name, value in (words | jitter).items():
        text = text.replace(name, value)
    file = tmp_path / "e.yaml"
    file.write_text(text, encoding="utf-8")
    seen = []
    for engine in ("sim", "linux"):
        packets = dumbbell.run(file, engine=engine).packets.sort("time_ns", maintain_order=True)
        seen.append(
            {
                (flow, way): packets.filter(flow=flow, direction=way).select(columns).rows()
                for flow in ("m/1", "m/2")
                for way, columns in COLUMNS.items()
            }
        )
    assert min(map(len, seen[0].values())) > least // 3
    assert max(map(len, seen[0].values())) > least
    assert seen[0] == seen[1]
