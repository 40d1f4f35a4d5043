"""The profile of a later release beside its kernel, where that kernel was built."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.engines.linux.kernel import kernels

pytestmark = pytest.mark.kernel

FILE = """\
dumbbell: 1
name: both
template: {dumbbell: {pairs: 1, rate: 20 Mbit/s, rtt: 20 ms, buffer: 40 packets}}
hosts: {defaults: {profile: PROFILE}}
flows:
  - {name: f, from: s1, to: d1, tcp: cubic}
taps: [{name: t, at: s1, link: s1-r1}]
sampling: {packets: {to: 3 s}}
duration: 3 s
"""
#: What a packet says, its window included.
COLUMNS = (
    "direction", "seq_bytes", "payload_bytes", "ack_bytes", "window_bytes", "tcp_flags",
    "sack_ranges_bytes",
)  # fmt: skip
BUILT = {kernel.name for kernel in kernels()}


def packets(
    folder: Path, profile: str, engine: str, algorithm: str = "cubic"
) -> list[tuple[object, ...]]:
    file = folder / "e.yaml"
    text = FILE.replace("PROFILE", profile).replace("cubic", algorithm)
    file.write_text(text, encoding="utf-8")
    frame = dumbbell.run(file, engine=engine).packets
    return frame.sort("time_ns", maintain_order=True).select(COLUMNS).rows()


@pytest.mark.skipif("6.12" not in BUILT, reason="dumbbell kernel build --release 6.12")
def test_three_seconds_of_cubic_are_the_packets_of_linux_6_12(tmp_path: Path) -> None:
    simulated = packets(tmp_path, "linux-6.12", "sim")
    assert len(simulated) > 7000
    assert simulated == packets(tmp_path, "linux-6.12", "linux:6.12")


@pytest.mark.skipif("7.3" not in BUILT, reason="dumbbell kernel build --release 7.3")
@pytest.mark.parametrize("algorithm", ["cubic", "reno"])
def test_three_seconds_are_the_packets_of_linux_7_3(tmp_path: Path, algorithm: str) -> None:
    simulated = packets(tmp_path, "linux-7.3", "sim", algorithm)
    assert len(simulated) > 7000
    assert simulated == packets(tmp_path, "linux-7.3", "linux:7.3", algorithm)


def test_the_profiles_differ(tmp_path: Path) -> None:
    """153/256 of the buffer count as window in 6.12, a half in 6.1; in 7.3 a unit is 1024."""
    windows = {
        profile: max(int(str(row[4])) for row in packets(tmp_path, profile, "sim")[:200])
        for profile in ("linux-6.1", "linux-6.12", "linux-7.3")
    }
    assert windows["linux-6.1"] < windows["linux-6.12"]
    assert windows["linux-7.3"] % 1024 == 0 != windows["linux-6.12"] % 1024
