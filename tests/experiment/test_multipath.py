"""Multipath connections in experiment files: which subflows they become, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.experiment import load

FILE = """
dumbbell: 1
name: paths
hosts: {{a: {{}}, b: {{}}, c: {{}}}}
routers: {{r1: {{}}, r2: {{}}}}
links:
  - {{name: a1, between: [a, r1], delay: 1 ms}}
  - {{name: a2, between: [a, r2], delay: 2 ms}}
  - {{name: b1, between: [b, r1], delay: 10 ms}}
  - {{name: b2, between: [b, r2], delay: 20 ms}}
  - {{name: c1, between: [c, r1], delay: 5 ms}}
flows:
  - {{name: m, from: {source}, to: {to}, {traffic}}}
duration: 5 s
"""


def scenario(folder: Path, traffic: str, source: str = "a", to: str = "b") -> dict[str, Any]:
    file = folder / "paths.yaml"
    file.write_text(FILE.format(traffic=traffic, source=source, to=to))
    found: dict[str, Any] = json.loads(load(file).cells[0].scenario)
    return found


def between(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    (connection,) = found["connections"]
    return [(one["flow"], one["local"], one["remote"]) for one in connection["subflows"]]


def test_a_full_mesh_takes_every_way_there_is(tmp_path: Path) -> None:
    found = scenario(tmp_path, "mptcp: lia")
    assert between(found) == [("m/1", "a1", "b1"), ("m/2", "a2", "b2")]
    assert [flow["name"] for flow in found["flows"]] == ["m/1", "m/2"]
    (connection,) = found["connections"]
    assert connection["scheduler"] == "default"
    # Only one interface of c, and one router that joins it to a.
    assert between(scenario(tmp_path, "mptcp: cubic", to="c")) == [("m/1", "a1", "c1")]


def test_several_ports_between_the_same_interfaces(tmp_path: Path) -> None:
    found = scenario(
        tmp_path, "mptcp: {congestion_control: reno, path_manager: ndiffports, subflows: 3}"
    )
    assert between(found) == [(f"m/{i}", "a1", "b1") for i in (1, 2, 3)]


def test_subflows_by_name_of_link_or_neighbour(tmp_path: Path) -> None:
    found = scenario(
        tmp_path,
        "mptcp: {congestion_control: reno, subflows: "
        "[{local: r2, remote: b2, start: 1 s}, {local: a1, remote: r1, backup: true, stop: 3 s}]}",
    )
    assert between(found) == [("m/1", "a2", "b2"), ("m/2", "a1", "b1")]
    assert [flow["start_ns"] for flow in found["flows"]] == [10**9, 0]
    assert found["connections"][0]["subflows"][1]["backup"] is True


@pytest.mark.parametrize(
    ("traffic", "to", "field", "words"),
    [
        (
            "mptcp: {congestion_control: reno, subflows: "
            "[{local: a1, remote: b1}, {local: a1, remote: b1}]}",
            "b",
            "flows[0].mptcp.subflows[1]",
            "both leave a by a1 and arrive at b by b1; to allow this, write path_manager: "
            "ndiffports",
        ),
        (
            "mptcp: {congestion_control: reno, subflows: 2}",
            "c",
            "flows[0].mptcp.subflows",
            "2 subflows, but a and c have 1 path between their interfaces; several subflows over "
            "the same interfaces need path_manager: ndiffports",
        ),
        (
            "tcp: {congestion_control: reno, scheduler: redundant}",
            "b",
            "flows[0].tcp.scheduler",
            "scheduler is for the subflows of mptcp; a tcp flow has one path",
        ),
        (
            "tcp: lia",
            "b",
            "flows[0].tcp",
            "lia couples the subflows of a multipath connection (mptcp:); tcp has one path",
        ),
        (
            "tcp: {congestion_control: olia}",
            "b",
            "flows[0].tcp.congestion_control",
            "olia couples the subflows of a multipath connection (mptcp:); tcp has one path",
        ),
        (
            "mptcp: {congestion_control: reno, subflows: [{local: a1, remote: b1, backup: true}]}",
            "b",
            "flows[0].mptcp.subflows",
            "all subflows are backups; at least one must carry data from the start",
        ),
        (
            "mptcp: {congestion_control: reno, subflows: [{local: a1, remote: b2}]}",
            "b",
            "flows[0].mptcp.subflows[0]",
            "leaving by a1 and arriving by b2",
        ),
        (
            "mptcp: {congestion_control: reno, subflows: [{local: c1, remote: b1}]}",
            "b",
            "flows[0].mptcp.subflows[0].local",
            "no link or neighbour of a",
        ),
        (
            "mptcp: {congestion_control: reno, subflows: [{remote: b1}]}",
            "b",
            "flows[0].mptcp.subflows[0]",
            "a has several links; name one; allowed: a1, a2",
        ),
        (
            "mptcp: {congestion_control: reno, scheduler: rendundant}",
            "b",
            "flows[0].mptcp.scheduler",
            "redundant",
        ),
    ],
)
def test_what_cannot_be_meant(
    tmp_path: Path, traffic: str, to: str, field: str, words: str
) -> None:
    with pytest.raises(ExperimentError) as raised:
        scenario(tmp_path, traffic, to=to)
    text = str(raised.value)
    assert field in text
    assert words in text
