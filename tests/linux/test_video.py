"""Video over UDP is the same datagrams at the same times on the kernel as in the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell

TEXT = """\
dumbbell: 1
name: video
template: {dumbbell: {rate: 50 Mbit/s, rtt: 20 ms, buffer: 300 packets}}
flows: [{from: s1, to: d1, start: 100 ms, stop: 9 s, video: VIDEO}]
taps: [{name: t, at: s1, link: s1-r1}]
sampling: {packets: {to: 10 s}}
duration: 10 s
seed: 3
"""
FIELDS = "{rate: 1 Mbit/s, on: 200 ms, off: 600 ms, lengths: LENGTHS}"


def run(engine: str, lengths: str, folder: Path) -> dumbbell.Results:
    file = folder / "e.yaml"
    text = TEXT.replace("VIDEO", FIELDS.replace("LENGTHS", lengths))
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file, engine=engine)


def test_video_without_off_periods_is_always_on(tmp_path: Path) -> None:
    """Its frames are those of one long on period."""
    file = tmp_path / "e.yaml"
    times = []
    for fields in ("on: 200 ms, off: 0 s", "on: 1 h, off: 1 s"):
        text = TEXT.replace("VIDEO", f"{{rate: 1 Mbit/s, {fields}, lengths: fixed}}")
        file.write_text(text, encoding="utf-8")
        times.append(dumbbell.run(file).packets["time_ns"].sort().to_list())
    assert times[0] == times[1]
    # Frames of five datagrams every 40 ms, from 0.1 s to 9 s.
    assert len(times[0]) == 5 * 223


def test_frames_come_while_it_is_on(tmp_path: Path) -> None:
    packets = run("sim", "fixed", tmp_path).packets.sort("time_ns", maintain_order=True)
    # A frame is 1 Mbit/s for 40 ms: 5000 bytes in five datagrams. On for 200 ms: five frames.
    # Twelve times on begin from 0.1 s to 9 s, every 800 ms; the last is cut off after 100 ms, which
    # are three frames.
    frames = [[1200, 1200, 1200, 1200, 200]] * (11 * 5 + 3)
    assert packets["payload_bytes"].to_list() == [size for frame in frames for size in frame]
    starts = packets["time_ns"].gather_every(5).to_list()
    due = [(100 + burst * 800 + frame * 40) * 10**6 for burst in range(12) for frame in range(5)]
    # The first datagram of a frame leaves its host at once.
    assert all(0 <= at - wanted < 20_000 for at, wanted in zip(starts, due, strict=False))


@pytest.mark.kernel
@pytest.mark.parametrize("lengths", ["fixed", "exponential"])
def test_video_is_the_same_packets_on_the_kernel(lengths: str, tmp_path: Path) -> None:
    ours, theirs = (run(engine, lengths, tmp_path) for engine in ("sim", "linux"))
    for column in ("delivered_bytes", "sent_packets", "sent_bytes", "data_packets"):
        assert ours.flows[column].to_list() == theirs.flows[column].to_list()
    sent, seen = (one.packets.sort("time_ns", maintain_order=True) for one in (ours, theirs))
    assert sent["payload_bytes"].to_list() == seen["payload_bytes"].to_list()
    assert ((seen["time_ns"] - sent["time_ns"]).abs() < 100_000).all()
