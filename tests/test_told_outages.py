"""Outages, and phases beside bulk flows, in the words and tables of `dumbbell run`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import dumbbell
from dumbbell.show.drawing import _others
from dumbbell.summary import outages
from dumbbell.summary.cells import cells
from dumbbell.summary.findings import findings
from dumbbell.summary.share_causes import of_unequal_shares

DOWN = """\
dumbbell: 1
name: down
template:
  dumbbell:
    pairs: 2
    rate: 10 Mbit/s
    rtt: 40 ms
    buffer: 0.5 BDP
    forward: {changes: [{at: 4 s, state: down}, {at: 6 s, state: up}]}
FLOWS
duration: 10 s
"""


def ran(folder: Path, flows: str) -> dumbbell.Results:
    (folder / "e.yaml").write_text(DOWN.replace("FLOWS", flows), encoding="utf-8")
    return dumbbell.run(folder / "e.yaml", workers=1)


def test_what_arrives_as_a_link_goes_down_is_no_time_alone(tmp_path: Path) -> None:
    """A sample after the beginning of the outage has what one flow had under way."""
    flows = "flows:\n  - {name: q, from: s1, to: d1, tcp: bbr}\n"
    (cell,) = cells(ran(tmp_path, f"{flows}  - {{name: t, from: s2, to: d2, tcp: cubic}}"))
    before, down, after = cell.phases
    assert "bottleneck/forward" not in down.used
    late = replace(down, goodput_mbps={"t (CUBIC)": 0.006})
    cell = replace(cell, phases=[before, late, after])
    cause = of_unequal_shares(cell, cell.flows[0])
    assert " together: " in cause and "alone" not in cause


def test_flows_that_arrive_have_no_rows_of_outages(tmp_path: Path) -> None:
    web = "{name: web, from: s1, to: d1, load: 1 Mbit/s, size: 20 KiB, tcp: cubic}"
    bulk = "{name: bulk, from: s2, to: d2, tcp: cubic}"
    results = ran(tmp_path, f"arrivals: [{web}]\nflows: [{bulk}]")
    assert [row[0] for row in outages.rows(results)] == ["bulk"]


def test_a_time_that_is_not_known_is_not_one_that_never_came(tmp_path: Path) -> None:
    """A QUIC stack does not say what waits to be sent: its stalls are not known."""
    every = outages.rows(ran(tmp_path, "flows: [{name: q, from: s1, to: d1, quic: cubic}]"))
    assert every[0][:3] == ["q", "2", "–"]
    assert outages.caption(every).endswith("; –: in no run, or not known.")


REQUESTS = """\
dumbbell: 1
name: requests
template: {dumbbell: {pairs: 2, rate: 5 Mbit/s, rtt: 20 ms, buffer: 30 packets}}
requests:
  - {name: q, client: s1, server: d1, request: 300 bytes, response: 10 KB, think: 50 ms}
flows: [{name: up, from: d2, to: s2, tcp: cubic, start: 3 s, stop: 6 s}]
duration: 9 s
"""


def test_a_line_beside_requests_is_idle_only_while_bulk_flows_send(tmp_path: Path) -> None:
    """The connection of the requests lives for 9 s, the bulk flow fills the line for 3."""
    (tmp_path / "e.yaml").write_text(REQUESTS, encoding="utf-8")
    (cell,) = cells(dumbbell.run(tmp_path / "e.yaml", workers=1))
    (link,) = cell.links
    assert (link.used_under_load or 1) < 0.8
    first, second, third = (phase.used["bottleneck/backward"] for phase in cell.phases)
    assert second > 0.9 > max(first, third)
    assert "underused" not in {one.rule for one in findings([cell])}


def test_one_flow_that_is_not_drawn_is_one() -> None:
    (line,) = _others("flow", ["f7"])
    assert line.plain == "Not drawn, 1 flow: f7"
