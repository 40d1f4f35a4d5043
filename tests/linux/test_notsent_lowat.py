"""TCP_NOTSENT_LOWAT on both engines: what is written late, and what a later response is spared."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell

pytestmark = pytest.mark.kernel

BULK = """
dumbbell: 1
name: bulk
template: {dumbbell: {rate: 10 Mbit/s, rtt: 40 ms, buffer: 50 packets}}
flows: [{from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 1 MiB, notsent_lowat: $lowat}}]
taps: [{at: s1, link: s1-r1}]
sampling: {packets: {to: 10 s}}
duration: 10 s
factors: {lowat: [4 KiB, 16 KiB, 128 KiB]}
"""
#: A long response, and 300 ms later a short one over the same connection.
PAGE = """
dumbbell: 1
name: page
template: {dumbbell: {rate: 10 Mbit/s, rtt: 40 ms, buffer: 50 packets}}
pages:
  - name: page
    client: d1
    server: s1
    protocol: http/2
    OPTION
    objects: [{name: long, size: 2 MiB}, {name: short, size: 4 KiB, delay: 300 ms}]
duration: 10 s
"""


def run(text: str, folder: Path, engine: str) -> dumbbell.Results:
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file, engine=engine)


def test_segments_are_those_of_the_kernel(tmp_path: Path) -> None:
    ours, theirs = (
        run(BULK, tmp_path, engine)
        .packets.filter(pl.col("payload_bytes") > 0)
        .sort("lowat", "time_ns", maintain_order=True)
        for engine in ("sim", "linux")
    )
    columns = ("lowat", "seq_bytes", "payload_bytes")
    assert ours.select(columns).rows() == theirs.select(columns).rows()
    apart = ours.filter((theirs["time_ns"] - ours["time_ns"]).abs() >= 100_000)
    # Known difference (docs/models/tcp-applications.md): less than two segments, once a round trip.
    assert set(apart["lowat"]) <= {"4 KiB"}
    assert apart.height <= 8
    # A writer that comes late sends in smaller bursts: the option changes the segments' times.
    few, many = (ours.filter(pl.col("lowat") == one)["time_ns"] for one in ("4 KiB", "128 KiB"))
    assert few.to_list() != many.to_list()


def took_ms(results: dumbbell.Results) -> dict[str, float]:
    rows = results.transfers.select("object", (pl.col("end_ns") - pl.col("start_ns")) / 1e6)
    return dict(rows.iter_rows())


def test_a_short_response_overtakes_a_long_one(tmp_path: Path) -> None:
    found = {}
    for option in ("", "notsent_lowat: 16 KiB"):
        text = PAGE.replace("OPTION", option)
        ours, theirs = (took_ms(run(text, tmp_path, engine)) for engine in ("sim", "linux"))
        assert ours == pytest.approx(theirs, abs=1)
        found[option] = ours
    # Without it the response waits for what is in the send buffer; with it for the queue of 60 ms
    # and frames of 13 ms.
    assert found[""]["short"] > found["notsent_lowat: 16 KiB"]["short"] + 60
    assert found["notsent_lowat: 16 KiB"]["short"] < 40 + 60 + 4 * 13.2
