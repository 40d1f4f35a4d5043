"""Jitter: that of a link keeps the order of packets, that of netem does not, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell

TEXT = """\
dumbbell: 1
name: jitter
hosts: {s: {}, d: {}}
routers: {r: {}}
links:
  - {between: [s, r]}
  - {between: [r, d], forward: PIPE}
flows: [{name: u, from: s, to: d, udp: {rate: 8 Mbit/s, datagram: 1000 bytes}}]
taps: [{name: t, at: d, link: r-d}]
sampling: {packets: {to: 5 s}}
duration: 5 s
seed: 1
"""


#: Share of packets that arrive after one sent later. The range of the draws is twice the gap: the
#: integral of u - 1/2 over the upper half is 1/8. Standard error of 5000 draws: 0.005.
PIPES = {
    "{delay: 20 ms, jitter: 2 ms}": 0,
    "{netem: {delay: 20 ms, jitter: 2 ms, limit: 1000 packets}}": 1 / 8,
}


@pytest.mark.parametrize("engine", ["sim", pytest.param("linux", marks=pytest.mark.kernel)])
@pytest.mark.parametrize(("pipe", "share"), PIPES.items())
def test_packets_that_arrive_after_one_sent_later(
    engine: str, pipe: str, share: float, tmp_path: Path
) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT.replace("PIPE", pipe), encoding="utf-8")
    packets = dumbbell.run(file, engine=engine).packets.sort("time_ns", maintain_order=True)
    numbers = packets["packet_number"]
    assert len(numbers) > 4900
    late = (numbers < numbers.cum_max()).sum() / len(numbers)
    assert late == pytest.approx(share, abs=0.015 if share else 0)
    # Both draw from the whole range.
    gaps_ns = packets["time_ns"].diff().drop_nulls()
    assert gaps_ns.max() > 2e6
