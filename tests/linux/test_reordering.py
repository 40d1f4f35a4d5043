"""Reordering of a link: packets that are held back behind the queue, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.metrics import METRICS, summary
from tests import kernel

DATAGRAMS = """\
dumbbell: 1
name: reordering
hosts: {s: {}, d: {}}
routers: {r: {}}
links:
  - {between: [s, r]}
  - between: [r, d]
    delay: 20 ms
    forward: {reordering: {probability: 10 %, extra_delay: 3500 us}}
flows: [{name: u, from: s, to: d, udp: {rate: 8 Mbit/s, datagram: 1000 bytes}}]
taps: [{name: t, at: d, link: r-d}]
sampling: {packets: {to: 5 s}}
duration: 5 s
seed: 1
"""


@pytest.mark.parametrize("engine", ["sim", pytest.param("linux", marks=pytest.mark.kernel)])
def test_a_share_of_packets_is_held_back_by_the_extra_delay(engine: str, tmp_path: Path) -> None:
    """A datagram each millisecond: one that is held back for 3.5 ms arrives between two others."""
    file = tmp_path / "e.yaml"
    file.write_text(DATAGRAMS, encoding="utf-8")
    time_ns = dumbbell.run(file, engine=engine).packets["time_ns"].sort()
    assert len(time_ns) == 4980
    # Steps of the clock on the kernel: below 5 µs.
    phase_ns = (time_ns + 500_000 - 5000) % 1_000_000
    between = phase_ns.is_between(985_000, 1_000_000) | phase_ns.is_between(0, 5000)
    in_time = phase_ns.is_between(485_000, 505_000)
    assert (between | in_time).all()
    assert between.sum() / len(between) == pytest.approx(0.1, abs=0.015)


#: Behind a wire, and behind a bucket with a discipline; a host's link, and that of a router.
TCP = """\
dumbbell: 1
name: reordering
hosts: {defaults: {profile: PROFILE}, s: {}, d: {}}
routers: {r: {}}
links:
  - {between: [s, r], delay: 1 ms}
  - {name: line, between: [r, d], rate: 20 Mbit/s, delay: 10 ms, QUEUE,
     reordering: {probability: 1 %, extra_delay: 4 ms}}
flows: [{name: f, from: s, to: d, tcp: CONTROL}]
duration: 6 s
repeats: 24
"""


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("queue", "control"),
    [("buffer: 60 packets", "cubic"), ("queue: {codel: {limit: 200 packets}}", "reno")],
)
def test_flows_over_a_link_that_reorders_fare_alike(
    queue: str, control: str, tmp_path: Path
) -> None:
    text = TCP.replace("QUEUE", queue).replace("CONTROL", control)
    file = tmp_path / "e.yaml"
    file.write_text(text.replace("PROFILE", kernel.profile()), encoding="utf-8")
    ours, theirs = (dumbbell.run(file, engine=engine) for engine in ("sim", "linux"))
    for name in ("goodput_mbps", "srtt_mean_ms", "retransmissions"):
        one, other = (
            summary(results, METRICS[name]).row(0, named=True) for results in (ours, theirs)
        )
        spread = (one["high"] - one["low"]) / 2 + (other["high"] - other["low"]) / 2
        assert abs(one["mean"] - other["mean"]) <= spread + 0.01 * other["mean"], name
