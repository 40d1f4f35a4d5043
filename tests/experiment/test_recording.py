"""What is recorded over time where an experiment does not say."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers import BASE, scenario

TABLES = ("samples", "queues", "drops", "probes")
FABRIC = """\
dumbbell: 1
name: fabric
template: {fat-tree: {k: 8, rate: 1 Gbit/s, delay: 1 us, buffer: 100 packets, spray: per_flow}}
flows: [{from: h1, to: h65, count: COUNT, tcp: cubic}]
duration: 1 s
"""
ARRIVING = """\
dumbbell: 1
name: short
template: {dumbbell: {rate: 10 Mbit/s, rtt: 10 ms, buffer: 1 BDP}}
arrivals: [{name: web, from: s1, to: d1, per_second: 10, size: 1 KB, tcp: cubic}]
duration: 1 s
"""


def sampling(text: str) -> dict[str, Any]:
    found: dict[str, Any] = scenario(text)["sampling"]
    return found


def kept(text: str) -> list[str]:
    found = sampling(text)
    return [table for table in TABLES if found[table]]


@pytest.mark.parametrize(
    ("duration", "interval_ms"),
    [("100 s", 200), ("30 s", 60), ("7 s", 20), ("1 s", 2), ("10 ms", 1), ("1 h", 8000)],
)
def test_a_figure_has_some_hundred_points(duration: str, interval_ms: int) -> None:
    text = BASE.replace("duration: 100 s", f"duration: {duration}").replace("start: 5 s", "")
    found = sampling(text)
    assert found["interval_ns"] == interval_ms * 1_000_000
    assert kept(text) == ["samples", "queues"]


def test_many_flows_have_fewer_points_and_too_many_none() -> None:
    # Each of 384 links has two queues.
    assert kept(FABRIC.replace("COUNT", "4")) == ["samples", "queues"]
    few, none = sampling(FABRIC.replace("COUNT", "4")), kept(FABRIC.replace("COUNT", "900"))
    assert few["interval_ns"] == 20_000_000
    assert none == ["queues"]


def test_probes_are_kept_where_there_is_ping() -> None:
    ping = BASE.replace("duration", "  - {from: s1, to: d1, ping: 100 ms}\nduration")
    assert kept(ping) == ["samples", "queues", "probes"]
    busy = ping.replace("duration", "  - {from: s1, to: d1, udp: 90 Mbit/s}\nduration")
    assert kept(busy) == ["samples", "queues"]


@pytest.mark.parametrize("kind", ["voice: g711", "video: {rate: 2.5 Mbit/s}"])
def test_probes_are_kept_where_quality_is_read_from_them(kind: str) -> None:
    beside = "  - {from: s1, to: d1, ping: 100 ms}\n"
    for more in ("", beside):
        text = BASE.replace("duration", f"{more}  - {{from: s1, to: d1, {kind}}}\nduration")
        assert kept(text) == ["samples", "queues", "probes"]
    both = text.replace("duration", "  - {from: s1, to: d1, video: 250 Mbit/s}\nduration")
    assert kept(both) == ["samples", "queues"]


def test_flows_that_arrive_keep_queues_alone() -> None:
    assert kept(ARRIVING) == ["queues"]


def test_what_a_file_says_counts() -> None:
    assert kept(BASE + "sampling: none\n") == []
    assert kept(BASE + "sampling: {keep: [drops]}\n") == ["drops"]
    assert sampling(BASE + "sampling: none\n")["interval_ns"] == 20_000_000
