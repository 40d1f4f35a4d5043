"""Every congestion control beside the kernel's, packet by packet."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.catalogue import congestion_controls
from dumbbell.engines.linux.kernel import kernels
from dumbbell.errors import DumbbellError

pytestmark = pytest.mark.kernel

#: Slow start ends in an overflow; nothing is random. Both queues count packets: the kernel's line
#: behind a queue that counts bytes lets a frame pass at once (docs/linux-engine.md).
TEXT = """\
dumbbell: 1
name: both
template: {dumbbell: {rate: 20 Mbit/s, rtt: 20 ms, forward: {queue: QUEUE},
                      backward: {queue: {pfifo: {limit: 1000 packets}}}}}
flows: [{name: f, from: s1, to: d1, tcp: ALGORITHM}]
taps: [{name: t, at: s1, link: s1-r1}]
sampling: {packets: {to: UNTIL}}
duration: UNTIL
"""
COLUMNS = ("direction", "seq_bytes", "payload_bytes", "ack_bytes", "tcp_flags", "sack_ranges_bytes")
#: What follows from random numbers in the first round trips: backoffs, the offset of a clock.
RANDOM = {"cdg": 150, "lp": 500}
#: fq paces BBR by the host's clock, which rounds otherwise.
LOSS_BASED = [
    one.name
    for one in congestion_controls().values()
    if one.linux is not None
    and one.linux.since
    and not one.needs_ecn
    and not one.paced_by_fq
    and one.name not in RANDOM
]


BBR3 = "bbr3"
BUILT = {built.name for built in kernels()}
#: A kernel with the patch of BBR v3, if one was built.
HAS_BBR3 = BBR3 in BUILT


def packets(
    folder: Path,
    engine: str,
    algorithm: str,
    queue: str,
    until: str,
    profile: str | None = None,
    more: tuple[str, ...] = (),
) -> list[tuple[object, ...]]:
    (found,) = outcomes(folder, engine, algorithm, queue, until, profile, more)
    return found


def outcomes(
    folder: Path,
    engine: str,
    algorithm: str,
    queue: str,
    until: str,
    profile: str | None = None,
    more: tuple[str, ...] = (),
    repeats: int = 1,
) -> list[list[object]]:
    """Packets of each repeat."""
    file = folder / "e.yaml"
    text = TEXT.replace("ALGORITHM", algorithm).replace("QUEUE", queue).replace("UNTIL", until)
    if profile is not None:
        text += f"hosts: {{defaults: {{profile: {profile}}}}}\n"
    file.write_text(text, encoding="utf-8")
    frame = dumbbell.run(file, engine=engine, repeats=repeats).packets
    frame = frame.sort("repeat", "time_ns", maintain_order=True)
    runs = frame.partition_by("repeat", maintain_order=True)
    return [list(run.select(*COLUMNS, *more).rows()) for run in runs]


@pytest.mark.parametrize("algorithm", LOSS_BASED)
def test_the_first_round_trips_are_the_same_packets(tmp_path: Path, algorithm: str) -> None:
    queue = "{pfifo: {limit: 40 packets}}"
    ours, theirs = (
        packets(tmp_path, engine, algorithm, queue, "300 ms") for engine in ("sim", "linux")
    )
    # The kernel is some microseconds late: packets of the last burst may come after the end.
    assert len(ours) > 500 and 0 <= len(ours) - len(theirs) <= 5
    assert ours[: len(theirs)] == theirs


@pytest.mark.skipif("7.3" not in BUILT, reason="dumbbell kernel build --release 7.3")
@pytest.mark.parametrize("algorithm", LOSS_BASED)
def test_three_seconds_are_the_same_packets_and_windows(tmp_path: Path, algorithm: str) -> None:
    queue, more = "{pfifo: {limit: 40 packets}}", ("window_bytes",)
    ours, theirs = (
        packets(tmp_path, engine, algorithm, queue, "3 s", "linux-7.3", more)
        for engine in ("sim", "linux:7.3")
    )
    assert len(ours) > 7000 and 0 <= len(ours) - len(theirs) <= 5
    # What leaves and what comes at one instant may change places.
    for way in ("out", "back"):
        sent, there = ([row for row in rows if row[0] == way] for rows in (ours, theirs))
        assert len(there) > 2000
        assert sent[: len(there)] == there


@pytest.mark.parametrize(("algorithm", "compared"), RANDOM.items())
def test_the_first_round_trips_are_packets_that_chance_gives(
    tmp_path: Path, algorithm: str, compared: int
) -> None:
    """Each of eight runs of the kernel is, packet by packet, one of 200 runs of the simulator.

    CDG backs off at random once per round trip; LP depends on the random offset of the receiver's
    clock.
    """
    queue = "{pfifo: {limit: 40 packets}}"
    ours = outcomes(tmp_path, "sim", algorithm, queue, "300 ms", repeats=200)
    theirs = outcomes(tmp_path, "linux", algorithm, queue, "300 ms", repeats=8)
    assert all(len(run) >= compared for run in ours + theirs)
    known = {tuple(run[:compared]) for run in ours}
    assert 1 < len(known) < 20
    assert {tuple(run[:compared]) for run in theirs} <= known


def test_dctcp_echoes_each_mark_as_the_kernel_does(tmp_path: Path) -> None:
    """RFC 8257 §3.2: an ACK where marks begin and end, and CWR once per window."""
    queue = "{codel: {ce_threshold: 2 ms}}"
    ours, theirs = (
        packets(tmp_path, engine, "dctcp", queue, "65 ms") for engine in ("sim", "linux")
    )
    assert ours == theirs
    flags = [str(row[4]) for row in ours if isinstance(row, tuple)]
    assert sum("ece" in one.split() for one in flags) > 4
    assert sum("cwr" in one.split() for one in flags) > 1  # that of the SYN, and of a reduction


@pytest.mark.skipif(not HAS_BBR3, reason="dumbbell kernel build --patch … --name bbr3")
def test_bbr_3_sends_the_packets_of_its_kernel(tmp_path: Path) -> None:
    """The start, with the profile of that kernel."""
    queue = "{pfifo: {limit: 40 packets}}"
    ours, theirs = (
        packets(tmp_path, engine, BBR3, queue, "115 ms", "linux-6.12")
        for engine in ("sim", "linux:bbr3")
    )
    assert len(ours) > 200
    assert ours == theirs


def test_bbr_3_is_refused_where_bbr_is_version_1(tmp_path: Path) -> None:
    with pytest.raises(DumbbellError, match=r"flows\[0\].*has no bbr3; it exists as a patch"):
        packets(tmp_path, "linux", BBR3, "{pfifo: {limit: 40 packets}}", "50 ms")
