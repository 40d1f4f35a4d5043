"""Phases and causes of runs whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dumbbell
from dumbbell.metrics.numbers import number
from dumbbell.summary import changes, per_cell
from dumbbell.summary.cells import CellLine, cells
from dumbbell.summary.contrasts import Quantity, _told, contrasts
from dumbbell.summary.findings import findings, nothing_stands_out
from dumbbell.summary.setting import setting

FILE = """\
dumbbell: 1
name: known
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: BUFFER, forward: FORWARD}}
flows:
FLOWS
duration: 20 s
"""
CUBIC = "  - {from: s1, to: d1, tcp: cubic}"
#: A full frame of 1514 bytes carries 1448 of payload.
MOST_MBPS = 10 * 1448 / 1514


def ran(
    folder: Path, flows: str = CUBIC, buffer: str = "1 BDP", forward: str = "{}"
) -> tuple[CellLine, dumbbell.Results]:
    file = folder / "known.yaml"
    text = FILE.replace("FLOWS", flows).replace("BUFFER", buffer).replace("FORWARD", forward)
    file.write_text(text, encoding="utf-8")
    results = dumbbell.run(file)
    (cell,) = cells(results)
    return cell, results


def sentence(cell: CellLine, rule: str) -> str:
    (found,) = [one.sentence for one in findings([cell]) if one.rule == rule]
    return found


def test_a_second_flow_begins_a_phase(tmp_path: Path) -> None:
    cell, results = ran(tmp_path, f"{CUBIC}\n  - {{from: s2, to: d2, tcp: bbr, start: 8 s}}")
    alone, together = cell.phases
    assert (alone.begin_s, alone.end_s, together.begin_s) == (0, 8, 8)
    assert set(alone.goodput_mbps) == {"CUBIC s1→d1"}
    assert set(together.goodput_mbps) == {"CUBIC s1→d1", "BBR s2→d2"}
    for phase in cell.phases:
        assert 0 < sum(phase.goodput_mbps.values()) <= 1.01 * MOST_MBPS
        assert 0.9 < phase.used["bottleneck/forward"] <= 1
    # Conservation: the phases of a flow are what it delivered.
    first = results.flows.row(0, named=True)
    carried = sum(
        (one.end_s - one.begin_s) * one.goodput_mbps["CUBIC s1→d1"] for one in cell.phases
    )
    assert carried == pytest.approx(first["delivered_bytes"] * 8e-6, rel=0.01)
    # So is the row of the cell.
    delivered = int(results.flows["delivered_bytes"].sum())
    life_s = 20 - first["established_ns"] * 1e-9
    assert cell.goodput_mbps == pytest.approx(delivered * 8e-6 / life_s)
    assert cell.goodput_mbps is not None and cell.goodput_mbps <= MOST_MBPS


def test_changes_of_a_link_begin_phases(tmp_path: Path) -> None:
    forward = "{changes: [{at: 10 s, loss: 5 %}]}"
    cell, _ = ran(tmp_path, forward=forward)
    assert [(one.begin_s, one.end_s) for one in cell.phases] == [(0, 10), (10, 20)]
    words = sentence(cell, "underused")
    assert "use by phase 0–10 s 100 %" in words and "10–20 s (5 % loss) " in words


def test_a_policer_with_a_small_burst_is_named(tmp_path: Path) -> None:
    long = "{policer: {rate: 5 Mbit/s, burst: BURST}, delay: 50 ms}"
    cell, _ = ran(tmp_path, forward=long.replace("BURST", "6 KB"))
    assert "its policer has no queue, and a burst of 6 KiB is" in sentence(cell, "underused")
    # A BDP of burst: 5 Mbit/s × 60 ms.
    enough, _ = ran(tmp_path, forward=long.replace("BURST", "60 KB"))
    assert "policer has no queue" not in "".join(one.sentence for one in findings([enough]))


def test_a_small_receive_buffer_is_named(tmp_path: Path) -> None:
    tcp = "{congestion_control: reno, receiver: {tcp_rmem: 4096 16384 20000}}"
    cell, _ = ran(tmp_path, f"  - {{from: s1, to: d1, tcp: {tcp}}}", buffer="2 BDP")
    words = sentence(cell, "underused")
    assert "of the receive buffer (tcp_rmem) of at most 19.53 KiB half is window, 0.4 BDP" in words
    # 20 kB are less than the BDP: 10 Mbit/s × 20 ms = 25 kB.
    assert cell.goodput_mbps is not None and cell.goodput_mbps < 0.8 * 10


def test_the_delay_of_netem_is_no_standing_queue(tmp_path: Path) -> None:
    text = """\
dumbbell: 1
name: netem
hosts: {a: , b: }
links: [{between: [a, b], forward: {netem: {delay: 100 ms, limit: 20000 packets}}}]
flows: [{from: a, to: b, tcp: cubic}]
duration: 5 s
"""
    (tmp_path / "e.yaml").write_text(text, encoding="utf-8")
    (cell,) = cells(dumbbell.run(tmp_path / "e.yaml"))
    (link,) = cell.links
    assert link.delay_p10_ms == pytest.approx(0, abs=1e-6)
    assert not [one for one in findings([cell]) if one.rule == "standing queue"]


def test_random_loss_is_named_with_window_and_bdp(tmp_path: Path) -> None:
    cell, _ = ran(tmp_path, forward="{loss: 5 %}")
    words = sentence(cell, "underused")
    assert "random loss, which CUBIC takes for congestion" in words
    (flow,) = cell.flows
    # 10 Mbit/s × 20 ms are 16.5 frames.
    assert flow.bdp_packets == pytest.approx(10e6 * 0.02 / 8 / 1514)
    assert 1 < (flow.window_packets or 0) < (flow.bdp_packets or 0)


def test_a_queue_short_of_a_bdp_is_named(tmp_path: Path) -> None:
    cell, _ = ran(tmp_path, CUBIC.replace("cubic", "reno"), buffer="1 packet")
    assert "the queue limit of 1 packet is" in sentence(cell, "underused")


def test_a_standing_queue_names_its_limit(tmp_path: Path) -> None:
    cell, _ = ran(tmp_path, buffer="200 packets")
    words = sentence(cell, "standing queue")
    # 200 frames of 1514 bytes take 242 ms at 10 Mbit/s.
    assert "the queue limit is 200 packets (242.2 ms of full frames), and CUBIC fills it" in words


def test_a_limit_in_bytes_is_told_in_bytes(tmp_path: Path) -> None:
    """A queue of short packets holds more of them."""
    cell, _ = ran(tmp_path, buffer="250000 bytes")
    words = sentence(cell, "standing queue")
    assert "the queue limit is 244.1 KiB, about 165 full packets (200 ms of full frames)" in words


def test_a_setting_has_limits_and_base_rtts(tmp_path: Path) -> None:
    _, results = ran(tmp_path, buffer="50 ms")
    known = setting(results.runs["scenario"][0], ["flow1", "of a page"])
    pipe = known.pipes["bottleneck/forward"]
    assert (pipe.rates_bps, pipe.discipline) == ((10e6, 10e6), "drop_tail")
    assert pipe.limit_ms == pytest.approx((50, 50), rel=0.01)
    assert known.pipes["s1-r1/forward"].limit_ms is None
    assert set(known.flows) == {"flow1"}
    assert known.flows["flow1"].base_rtt_ms == pytest.approx(20)


def test_a_row_per_cell(tmp_path: Path) -> None:
    cell, results = ran(tmp_path, f"{CUBIC}\n  - {{from: s2, to: d2, tcp: reno}}")
    head, (row,) = per_cell.rows([cell], results)
    texts = dict(zip(head, row, strict=True))
    assert texts["use"] in ("99 %", "100 %")
    assert len(texts["each flow, joint Mbit/s"].split(", ")) == 2
    assert float(texts["goodput Mbit/s"]) <= MOST_MBPS


def test_a_factor_is_told_alone(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    text = FILE.replace("FLOWS", CUBIC.replace("cubic", "$cc")).replace("FORWARD", "{loss: $loss}")
    text = text.replace("BUFFER", "1 BDP") + "factors: {cc: [cubic, bbr], loss: [0 %, 2 %]}\n"
    file.write_text(text, encoding="utf-8")
    results = dumbbell.run(file)
    every = cells(results)
    by_loss, by_cc = sorted(contrasts(every, results))
    assert by_cc.startswith("At loss 2 %: cc cubic / bbr: goodput ")
    assert "BBR does not take random losses for congestion; CUBIC does." in by_cc
    assert by_loss.startswith("At cc cubic: loss 0 % / 2 %: goodput ")
    # The figures of the sentence are those of the cells.
    (cubic,) = [cell for cell in every if cell.levels == {"cc": "cubic", "loss": "2 %"}]
    assert f" / {number(cubic.goodput_mbps or 0)} Mbit/s" in by_loss


def test_the_application_is_named(tmp_path: Path) -> None:
    file = tmp_path / "slow.yaml"
    flow = "  - {from: s1, to: d1, tcp: {congestion_control: cubic, sink: {rate: $reads}}}"
    text = FILE.replace("FLOWS", flow).replace("FORWARD", "{}").replace("BUFFER", "1 BDP")
    file.write_text(text + "factors: {reads: [100 Mbit/s, 2 Mbit/s]}\n", encoding="utf-8")
    results = dumbbell.run(file)
    (words,) = contrasts(cells(results), results)
    assert "The receiving application reads only 2 Mbit/s." in words


@pytest.mark.parametrize(
    ("tcp", "timed"), [("cubic", False), ("{congestion_control: cubic, bytes: 1 MB}", True)]
)
def test_only_a_flow_of_given_size_has_a_transfer_time(
    tmp_path: Path, tcp: str, timed: bool
) -> None:
    cell, results = ran(tmp_path, f"  - {{from: s1, to: d1, tcp: {tcp}, stop: 10 s}}")
    head, _ = per_cell.rows([cell], results)
    assert (cell.transfer_s is not None) == timed == ("transfer s" in head)


def test_a_flow_that_is_stopped_is_no_transfer_beside_one_of_given_size(tmp_path: Path) -> None:
    flows = (
        "  - {name: sized, from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 1 MB}}\n"
        "  - {name: stopped, from: s2, to: d2, tcp: cubic, stop: 10 s}"
    )
    cell, results = ran(tmp_path, flows)
    (row,) = results.transfers.filter(results.transfers["flow"] == "sized").rows(named=True)
    start_ns = results.flows.filter(results.flows["flow"] == "sized")["start_ns"][0]
    assert cell.transfer_s == pytest.approx((row["end_ns"] - start_ns) / 1e9)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([36.73, 38.83], ["RTT of pings under load (p95) alike (36.73 / 38.83 ms)"]),
        ([36.73, 37.1], ["RTT of pings under load (p95) the same"]),
        ([36.73, 46.0], ["RTT of pings under load (p95) 36.73 / 46 ms"]),
    ],
)
def test_only_what_is_the_same_is_said_to_be(values: list[float], words: list[str]) -> None:
    known = Quantity("RTT of pings under load (p95)", "ms", [*values])
    assert _told(known, values, list(range(len(values)))) == words


def test_the_table_of_changes_tells_when_flows_have_settled(tmp_path: Path) -> None:
    forward = "{changes: [{at: 8 s, rate: 2 Mbit/s}, {at: 14 s, rate: 10 Mbit/s}]}"
    cell, _ = ran(tmp_path, forward=forward)
    before, slow, after = cell.phases
    name = "bottleneck/forward"
    assert name not in before.settled_s
    assert 0 <= slow.settled_s[name] < 3 and 0 <= after.settled_s[name] < 3
    # A queue of as many packets drains at a fifth of the rate.
    assert slow.delay_p50_ms[name] > 3 * before.delay_p50_ms[name]
    # A full queue of 1 BDP of the first rate (20 ms) lasts 100 ms at the second, and no longer.
    assert slow.delay_p95_ms[name] < 1.1 * 100
    head, rows = changes.rows([cell])
    assert head == ["phase", "change", "use", "queue ms p50", "p95", "settled after"]
    assert [row[:2] for row in rows] == [
        ["0–8 s", ""], ["8–14 s", "2 Mbit/s"], ["14–20 s", "10 Mbit/s"],
    ]  # fmt: skip


def test_a_rate_that_nobody_fills_is_not_settled(tmp_path: Path) -> None:
    flows = "  - {from: s1, to: d1, udp: {rate: 4 Mbit/s}}"
    forward = "{changes: [{at: 8 s, rate: 5 Mbit/s}, {at: 14 s, rate: 10 Mbit/s}]}"
    cell, _ = ran(tmp_path, flows, forward=forward)
    last = cell.phases[-1].settled_s["bottleneck/forward"]
    assert last == float("inf")
    assert changes.settled(cell.phases[-1], "bottleneck/forward") == "not in this phase"
    # 4 Mbit/s of payload fit 5 Mbit/s: the queue was never above CoDel's target.
    assert cell.phases[1].settled_s["bottleneck/forward"] == 0


def test_without_changes_there_is_no_table(tmp_path: Path) -> None:
    cell, _ = ran(tmp_path)
    assert changes.rows([cell])[1] == [] and changes.table([cell]) is None


def test_recovery_takes_a_round_trip_or_more(tmp_path: Path) -> None:
    forward = "{loss: {scripted: [{flow: flow1, nth: [40]}]}}\n"
    flows = "  - {from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 1 MiB}}\nsampling: 1 ms"
    cell, results = ran(tmp_path, flows, buffer="100 packets", forward=forward)
    assert results.flows["retransmitted_packets"].to_list() == [1]
    (flow,) = cell.flows
    assert cell.recovery_ms is not None and flow.base_rtt_ms is not None
    # RFC 6675: until all data that was outstanding is acknowledged, at least a round trip.
    assert flow.base_rtt_ms[0] <= cell.recovery_ms < 10 * flow.base_rtt_ms[0]
    assert "in " in nothing_stands_out([cell]) and "first duplicate ACK" in nothing_stands_out(
        [cell]
    )


def test_recovery_is_not_told_from_few_samples(tmp_path: Path) -> None:
    flows = "  - {from: s1, to: d1, tcp: cubic}\nsampling: 20 ms"
    assert ran(tmp_path, flows)[0].recovery_ms is None


def test_a_policer_is_what_its_link_can_carry(tmp_path: Path) -> None:
    flows = "  - {from: s1, to: d1, udp: {rate: 9 Mbit/s}}"
    forward = "{policer: {rate: 4 Mbit/s, burst: 10 KiB}}"
    cell, results = ran(tmp_path, flows, forward=forward)
    (link,) = [one for one in cell.links if one.pipe == "bottleneck/forward"]
    assert link.used is not None and 0.98 < link.used <= 1
    carried = results.pipes.filter(results.pipes["pipe"] == "bottleneck/forward")["left_bytes"][0]
    assert carried <= 4e6 / 8 * 20 + 10 * 1024


def test_a_line_is_idle_only_while_flows_send(tmp_path: Path) -> None:
    """Before the bulk flow starts, little traffic is no fault."""
    flows = (
        "  - {from: s1, to: d1, udp: {rate: 0.5 Mbit/s}}\n"
        "  - {from: s2, to: d2, tcp: cubic, start: 8 s}"
    )
    cell, _ = ran(tmp_path, flows)
    (link,) = [one for one in cell.links if one.pipe == "bottleneck/forward"]
    # 0.5 Mbit/s for 8 s, then 10 Mbit/s for 12 s.
    assert link.used is not None and link.used < 0.65
    assert link.used_under_load is not None and link.used_under_load > 0.95
    assert "underused" not in {one.rule for one in findings([cell])}


def test_time_outs_that_are_not_counted_are_not_called_none(tmp_path: Path) -> None:
    cell, _ = ran(tmp_path)
    assert "no time-outs" in nothing_stands_out([cell])
    assert "no link that drops more than 3 %" in nothing_stands_out([cell])
    unknown = replace(
        cell,
        flows=[replace(flow, timeouts=None) for flow in cell.flows],
        links=[replace(link, dropped=None) for link in cell.links],
    )
    words = nothing_stands_out([unknown])
    assert "no loss" not in words
    assert "no time-outs" not in words and "fast retransmit" not in words
    assert words.endswith("Time-outs of CUBIC are not known.")


def test_a_link_without_a_rate_has_no_use_and_no_bdp(tmp_path: Path) -> None:
    file = tmp_path / "free.yaml"
    file.write_text(
        "dumbbell: 1\nname: free\nhosts: {a: , b: }\n"
        "links: [{between: [a, b], delay: 5 ms, loss: 1 %}]\n"
        "flows:\n  - {from: a, to: b, tcp: {congestion_control: cubic,\n"
        "     sender: {tcp_wmem: [4096, 16384, 65536]}}}\n"
        "duration: 5 s\n",
        encoding="utf-8",
    )
    (cell,) = cells(dumbbell.run(file))
    assert all(link.used is None for link in cell.links)
    assert [flow.bdp_packets for flow in cell.flows] == [None]
    assert not {"underused"} & {one.rule for one in findings([cell])}
