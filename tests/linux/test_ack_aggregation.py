"""Aggregation of ACKs, on both engines: without chance the packets are the same."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from tests import kernel

pytestmark = pytest.mark.kernel

TEXT = """\
dumbbell: 1
name: aggregation
hosts: {defaults: {profile: PROFILE}, s: {}, d: {}}
routers: {r: {}, q: {}}
links:
  - {between: [s, r], delay: 1 ms}
  - name: line
    between: [r, q]
    rate: 10 Mbit/s
    delay: 9 ms
    buffer: 60 packets
    backward: {ack_aggregation: {max_wait: WAIT, max_acks: ACKS}}
  - {between: [q, d], delay: 1 ms}
flows: [{name: f, from: s, to: d, tcp: CONTROL}]
taps: [{name: t, at: s, link: s-r}]
sampling: {packets: {to: 4 s}}
duration: 4 s
"""
HEADER = ("seq_bytes", "payload_bytes", "ack_bytes")


@pytest.mark.parametrize(
    ("wait", "acks", "control", "least"),
    [
        ("7 ms", 1000, "cubic", 3000),
        ("200 ms", 5, "reno", 3000),
        ("11 ms", 4, "cubic", 1000),
        ("3 ms", 2, "bbr", 3000),
    ],
)
def test_batches_are_the_same(
    tmp_path: Path, wait: str, acks: int, control: str, least: int
) -> None:
    text = TEXT.replace("WAIT", wait).replace("ACKS", str(acks)).replace("CONTROL", control)
    file = tmp_path / "e.yaml"
    file.write_text(text.replace("PROFILE", kernel.profile()), encoding="utf-8")
    ways, gaps = [], []
    for engine in ("sim", "linux"):
        packets = dumbbell.run(file, engine=engine).packets
        packets = packets.sort("time_ns", maintain_order=True)
        split = packets.partition_by("direction", maintain_order=True, as_dict=True)
        back = split[("back",)]
        assert back.height > 500
        # Most ACKs come with another.
        gaps.append((back["time_ns"].diff().drop_nulls() < 100_000).sum() / back.height)
        ways.append([split[(way,)].select(HEADER).rows() for way in ("out", "back")])
    assert gaps[0] > 0.4
    assert gaps[0] == pytest.approx(gaps[1], abs=0.01)
    (sent, acks_here), (sent_there, acks_there) = ways
    # The guest's program takes some microseconds, which may put an ACK into another batch.
    assert len(acks_here) == pytest.approx(len(acks_there), rel=0.02)
    length = min(len(sent), len(sent_there))
    assert length >= 0.995 * max(len(sent), len(sent_there))
    alike = next((n for n in range(length) if sent[n] != sent_there[n]), length)
    assert alike >= least, "first packets that are the same"


def test_segments_with_data_are_not_held(tmp_path: Path) -> None:
    text = TEXT.replace("WAIT", "50 ms").replace("ACKS", "1000").replace("CONTROL", "cubic")
    text = text.replace("from: s, to: d", "from: d, to: s").replace("PROFILE", kernel.profile())
    file = tmp_path / "e.yaml"
    file.write_text(text, encoding="utf-8")
    counts = [
        dumbbell.run(file, engine=engine).packets.filter(pl.col("payload_bytes") > 0).height
        for engine in ("sim", "linux")
    ]
    assert counts[0] > 2500
    assert counts[0] == pytest.approx(counts[1], rel=0.002)
