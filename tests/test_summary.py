"""What `dumbbell run` says of runs whose answer is known."""

from __future__ import annotations

from pathlib import Path

import pytest

import dumbbell
from dumbbell.summary.cells import CellLine, cells
from dumbbell.summary.contrasts import contrasts
from dumbbell.summary.findings import STARVED, findings

ONE = """\
dumbbell: 1
name: known
template: {dumbbell: {pairs: PAIRS, rate: 10 Mbit/s, rtt: 20 ms, buffer: BUFFER}}
flows:
FLOWS
duration: 20 s
"""
CUBIC = "  - {from: s1, to: d1, tcp: cubic}"


def told(folder: Path, flows: str, buffer: str = "1 BDP", pairs: int = 1) -> CellLine:
    file = folder / "known.yaml"
    text = ONE.replace("FLOWS", flows).replace("BUFFER", buffer).replace("PAIRS", str(pairs))
    file.write_text(text, encoding="utf-8")
    (cell,) = cells(dumbbell.run(file))
    return cell


def rules(cell: CellLine) -> set[str]:
    return {finding.rule for finding in findings([cell])}


def test_a_flow_that_has_the_line_for_itself(tmp_path: Path) -> None:
    cell = told(tmp_path, CUBIC)
    (flow,), (link,) = cell.flows, cell.links
    assert (flow.title, flow.share, flow.fair_share) == ("CUBIC s1→d1", None, None)
    assert link.pipe == "bottleneck/forward" and link.jain is None
    assert link.used == pytest.approx(1, abs=0.02)
    # A queue of one BDP holds at most a round trip.
    assert 0 < (link.delay_p50_ms or 0) <= (link.delay_p95_ms or 0) <= 20.5
    # A 10 Mbit/s line carries 1448 of 1514 bytes as payload.
    assert flow.goodput_mbps.mean <= 10 * 1448 / 1514
    assert flow.rtt_ms.mean >= 20
    assert rules(cell) == set()


def test_a_deep_buffer_is_a_standing_queue(tmp_path: Path) -> None:
    cell = told(tmp_path, CUBIC, buffer="10 BDP")
    assert "standing queue" in rules(cell)
    (found,) = [one for one in findings([cell]) if one.rule == "standing queue"]
    assert found.gravity > 1 and "→ bottleneck" in found.sentence


def test_the_base_rtt_of_many_flows_is_that_of_all(tmp_path: Path) -> None:
    """Of 260 flows the last has the longest path: none of them waits in a queue."""
    file = tmp_path / "many.yaml"
    file.write_text(
        """\
dumbbell: 1
name: many
template: {dumbbell: {pairs: 260, rate: 10 Gbit/s, rtt: {from: 20 ms, to: 400 ms}, buffer: 1 BDP}}
flows: [{from: "s{i}", to: "d{i}", count: 260, tcp: cubic}]
sampling: none
duration: 1 s
""",
        encoding="utf-8",
    )
    (cell,) = cells(dumbbell.run(file))
    (flow,) = cell.flows
    assert flow.base_rtt_ms == pytest.approx((20, 400))
    assert "standing queue" not in rules(cell)


def test_a_buffer_of_a_packet_leaves_the_line_idle(tmp_path: Path) -> None:
    cell = told(tmp_path, CUBIC.replace("cubic", "reno"), buffer="1 packet")
    (link,) = cell.links
    assert link.used is not None and link.used < 0.9
    assert "underused" in rules(cell)


def test_an_application_with_little_data_is_no_finding(tmp_path: Path) -> None:
    periodic = "{periodic: {chunk: 10 KiB, interval: 100 ms}}"
    slow = f"  - {{from: s1, to: d1, tcp: {{congestion_control: cubic, source: {periodic}}}}}"
    cell = told(tmp_path, slow)
    assert (cell.links[0].used or 0) < 0.2
    assert rules(cell) == set()


def test_a_flow_that_yields_starves_beside_another(tmp_path: Path) -> None:
    poor = "  - {name: poor, from: s2, to: d2, tcp: ledbat++}"
    cell = told(tmp_path, f"{CUBIC}\n{poor}", pairs=2, buffer="16 BDP")
    by_title = {flow.title: flow for flow in cell.flows}
    least = by_title["poor (LEDBAT++)"].fair_share
    assert least is not None and least < STARVED
    assert "starvation" in rules(cell)
    shares = [flow.joint_share or 0 for flow in cell.flows]
    assert sum(shares) == pytest.approx(1)
    (link,) = cell.links
    # One of two takes nearly all: Jain's index is little above a half.
    assert link.jain is not None and 0.5 < link.jain < 0.6


def test_flows_that_differ_by_number_are_a_line(tmp_path: Path) -> None:
    many = "  - {from: s1, to: d1, tcp: cubic, count: 12}\n" + CUBIC.replace("cubic", "reno")
    cell = told(tmp_path, many)
    assert [flow.title for flow in cell.flows] == ["12 × CUBIC", "Reno s1→d1"]
    low, high = cell.flows[0].range_mbps
    assert low <= cell.flows[0].goodput_mbps.mean <= high
    assert sum(flow.joint_share or 0 for flow in cell.flows) == pytest.approx(1)


def test_udp_counts_what_never_arrived(tmp_path: Path) -> None:
    cell = told(tmp_path, "  - {from: s1, to: d1, udp: 20 Mbit/s}")
    (flow,) = cell.flows
    assert flow.title == "UDP s1→d1"
    assert flow.lost == pytest.approx(0.5, abs=0.03)
    assert rules(cell) == {"lossy"}  # no bulk TCP


def test_datagrams_above_the_rate_are_lossy(tmp_path: Path) -> None:
    udp = "  - {from: s1, to: d1, udp: {rate: 12 Mbit/s, datagram: 1472 bytes}}"
    cell = told(tmp_path, udp)
    (found,) = [one for one in findings([cell]) if one.rule == "lossy"]
    # 12 Mbit/s of 1472 bytes are 12.34 Mbit/s of frames, of which 10 pass.
    assert cell.links[0].dropped == pytest.approx(1 - 10 / 12.34, abs=0.01)
    assert found.sentence.startswith("→ bottleneck drops 1")
    assert found.sentence.endswith("UDP does not slow down for losses.")
    assert "lossy" not in rules(told(tmp_path, udp.replace("12 Mbit/s", "9.8 Mbit/s")))


def test_cells_that_differ_are_named(tmp_path: Path) -> None:
    file = tmp_path / "known.yaml"
    text = ONE.replace("FLOWS", CUBIC).replace("PAIRS", "1").replace("BUFFER", "$buffer")
    file.write_text(text + "factors: {buffer: [1 packet, 1 BDP]}\n", encoding="utf-8")
    results = dumbbell.run(file)
    (sentence,) = contrasts(cells(results), results)
    assert sentence.startswith("buffer 1 packet / 1 BDP: goodput ")
    assert "The queue limit is 1 / 17 packets" in sentence
    alone = dumbbell.run(file, set={"buffer": "1 BDP"})
    assert contrasts(cells(alone), alone) == []


LONG = """\
dumbbell: 1
name: long
template: {dumbbell: {rate: RATE, rtt: 600 ms, buffer: 20 packets}}
flows: [{from: s1, to: d1, tcp: cubic}]
sampling: {interval: 50 ms, keep: [samples]}
duration: 20 s
"""


def test_a_queue_of_a_line_that_is_often_idle_does_not_stand(tmp_path: Path) -> None:
    """Queues are not sampled: RTTs tell of a queue, and the use of the line whether it drains."""
    file = tmp_path / "long.yaml"
    found = {}
    for rate in ("250 kbit/s", "2 Mbit/s"):
        file.write_text(LONG.replace("RATE", rate), encoding="utf-8")
        (cell,) = cells(dumbbell.run(file))
        (flow,), (link,) = cell.flows, cell.links
        assert flow.rtt_ms.mean > 600 + 25
        found[rate] = (link.used or 0) > 0.9, "standing queue" in rules(cell)
    assert found == {"250 kbit/s": (True, True), "2 Mbit/s": (False, False)}
