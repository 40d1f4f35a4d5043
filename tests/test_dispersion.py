"""Peak rates and the rate of a burst at the receiver, by closed forms, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.metrics import METRICS

#: 10 datagrams of 1058 bytes every 200 ms, in frames of 1100 bytes: 1.1 ms each on the line.
BURSTS = """\
dumbbell: 1
name: bursts
template:
  dumbbell:
    rtt: 10 ms
    access: {rate: 1 Gbit/s, buffer: 100 packets}
    forward: {rate: 8 Mbit/s, buffer: 100 packets}
    backward: {}
flows:
  - {name: bursts, from: s1, to: d1,
     udp: {rate: 423.2 kbit/s, datagram: 1058 bytes, interval: 200 ms}}
sampling: {keep: [probes]}
duration: 1 s
"""
BITS = 8 * 1058
EXPECTED = {
    "peak_1ms_mbps": BITS / 1e3,
    "peak_10ms_mbps": 10 * BITS / 10e3,
    "peak_100ms_mbps": 10 * BITS / 100e3,
    "burst_rate_mbps": BITS / 1.1e3,
}


def check(text: str, folder: Path, engine: str, expected: dict[str, float]) -> None:
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    results = dumbbell.run(file, engine=engine)
    found = {name: METRICS[name].measure(results)["value"].to_list() for name in expected}
    assert found == {
        name: [pytest.approx(value, rel=1e-5, nan_ok=True)] for name, value in expected.items()
    }


@pytest.mark.parametrize("engine", ["sim", pytest.param("linux", marks=pytest.mark.kernel)])
def test_bursts_spread_to_the_rate_of_the_line(engine: str, tmp_path: Path) -> None:
    check(BURSTS, tmp_path, engine, EXPECTED)


def test_a_lost_datagram_carries_nothing(tmp_path: Path) -> None:
    """Through a queue of four packets, five of ten datagrams pass; one is on the line."""
    text = BURSTS.replace("8 Mbit/s, buffer: 100 packets", "8 Mbit/s, buffer: 4 packets")
    expected = dict(EXPECTED, peak_10ms_mbps=5 * BITS / 10e3, peak_100ms_mbps=5 * BITS / 100e3)
    check(text, tmp_path, "sim", expected)


def test_nothing_is_known_without_probes_or_bursts(tmp_path: Path) -> None:
    nan = float("nan")
    text = BURSTS.replace("keep: [probes]", "keep: [samples]")
    check(text, tmp_path, "sim", dict.fromkeys(EXPECTED, nan))
    single = BURSTS.replace(", interval: 200 ms", "")
    check(single, tmp_path, "sim", {"burst_rate_mbps": nan, "peak_1ms_mbps": BITS / 1e3})
