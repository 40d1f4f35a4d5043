"""Causes where several flows meet: queues, shares, phases, and what a link's frames take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.limits.flows import flow_limits
from dumbbell.metrics import METRICS
from dumbbell.metrics.paired import ALPHA, compared
from dumbbell.summary.cells import CellLine, cells
from dumbbell.summary.contrasts import Quantity, _ratio, _told
from dumbbell.summary.differences import reasons
from dumbbell.summary.findings import findings, nothing_stands_out
from tests.test_causes import CUBIC, ran, sentence


def one_cell(folder: Path, text: str) -> CellLine:
    file = folder / "cell.yaml"
    file.write_text(text, encoding="utf-8")
    (cell,) = cells(dumbbell.run(file))
    return cell


def test_datagrams_that_exceed_the_line_fill_its_queue(tmp_path: Path) -> None:
    """12 Mbit/s of datagrams on a line of 10: not the TCP flow beside them fills it."""
    udp = "  - {from: s2, to: d2, udp: {rate: 12 Mbit/s}}"
    cell, _ = ran(tmp_path, f"{CUBIC}\n{udp}", buffer="100 packets")
    assert "and UDP sends more than the link carries" in sentence(cell, "standing queue")
    cell, _ = ran(tmp_path, f"{CUBIC}\n{udp.replace('12 Mbit', '4 Mbit')}", buffer="100 packets")
    assert "and CUBIC fills it until it drops" in sentence(cell, "standing queue")


TURNS = """\
dumbbell: 1
name: turns
hosts: {phone: {}, server: {}}
routers: {wifi: {}, lte: {}}
links:
  - between: [phone, wifi]
    rate: 10 Mbit/s
    delay: 5 ms
    buffer: 30 packets
    changes: [{at: 10 s, loss: 100 %}]
  - {between: [phone, lte], rate: 10 Mbit/s, delay: 5 ms, buffer: 30 packets}
  - {between: [wifi, server], rate: 1 Gbit/s, delay: 5 ms, buffer: 100 packets}
  - {between: [lte, server], rate: 1 Gbit/s, delay: 5 ms, buffer: 100 packets}
flows:
  - name: up
    from: phone
    to: server
    mptcp:
      congestion_control: cubic
      subflows: [{local: wifi, remote: wifi}, {local: lte, remote: lte, backup: true}]
duration: 20 s
"""


def test_links_that_are_full_in_turn_are_used(tmp_path: Path) -> None:
    """Wi-Fi carries 10 s, then LTE: each is idle for half of the time, but never both."""
    cell = one_cell(tmp_path, TURNS)
    assert all(link.used is not None and link.used < 0.6 for link in cell.links)
    assert not [one for one in findings([cell]) if one.rule == "underused"]


def test_flows_that_change_places_are_equal_on_average(tmp_path: Path) -> None:
    """Jain's index of each repeat is low, but no flow takes more in all of them."""
    two = f"{CUBIC}\n  - {{from: s2, to: d2, tcp: cubic}}"
    cell, _ = ran(tmp_path, two)
    (link,) = [one for one in cell.links if one.jain is not None]
    one, other = cell.flows

    def told(share: float) -> str:
        shares = [
            replace(one, joint_share=share, fair_share=2 * share),
            replace(other, joint_share=1 - share, fair_share=2 - 2 * share),
        ]
        return sentence(
            replace(cell, flows=shares, links=[replace(link, jain=0.7)]), "unequal shares"
        )

    assert "takes 85 % while all send" in told(0.85)
    assert "which of them has more changes from repeat to repeat" in told(0.55)


RTTS = """\
dumbbell: 1
name: rtts
template: {dumbbell: {pairs: 2, rate: 50 Mbit/s, rtt: [10 ms, 100 ms], buffer: 4 BDP}}
flows:
  - {name: near, from: s1, to: d1, tcp: CC}
  - {name: far, from: s2, to: d2, tcp: CC}
duration: 20 s
"""


def test_what_an_rtt_does_is_what_is_seen(tmp_path: Path) -> None:
    """Reno favours the short RTT, BBR the long one."""
    reno = one_cell(tmp_path, RTTS.replace("CC", "reno").replace("4 BDP", "0.5 BDP"))
    assert "and windows recover more slowly at a longer RTT" in sentence(reno, "unequal shares")
    bbr = one_cell(tmp_path, RTTS.replace("CC", "bbr"))
    near, far = bbr.flows
    assert far.goodput_mbps.mean > 2 * near.goodput_mbps.mean
    assert "and two BDP in flight are more at a longer RTT" in sentence(bbr, "unequal shares")


def test_a_queue_that_drops_nothing_is_not_filled(tmp_path: Path) -> None:
    tcp = "{congestion_control: cubic, receiver: {tcp_rmem: 4096 131072 600000}}"
    cell, _ = ran(tmp_path, f"  - {{from: s1, to: d1, tcp: {tcp}}}", buffer="500 packets")
    assert "and what CUBIC has in flight fits into it" in sentence(cell, "standing queue")


def test_a_flow_that_datagrams_leave_nothing_starves(tmp_path: Path) -> None:
    udp = "  - {from: s2, to: d2, udp: {rate: 12 Mbit/s}}"
    cell, _ = ran(tmp_path, f"{CUBIC}\n{udp}", buffer="100 packets")
    words = sentence(cell, "starvation")
    assert "CUBIC s1→d1 starves at" in words and "UDP does not slow down for losses" in words
    cell, _ = ran(tmp_path, f"{CUBIC}\n{udp.replace('12 Mbit', '4 Mbit')}", buffer="100 packets")
    assert not [one for one in findings([cell]) if one.rule == "starvation"]


CELLS = """\
dumbbell: 1
name: cells
template:
  dumbbell: {rate: 8 Mbit/s, rtt: 20 ms, buffer: 60 packets, forward: {framing: pppoe-llcsnap}}
flows: [{from: s1, to: d1, tcp: cubic}]
duration: 10 s
"""


def test_a_full_queue_of_cells_takes_their_time(tmp_path: Path) -> None:
    """60 frames of 1514 bytes are 60 · 33 cells of 53 bytes (26 bytes around each frame)."""
    cell = one_cell(tmp_path, CELLS)
    assert cell.setting is not None
    cell_ms = 60 * 33 * 53 * 8 / 8e3
    assert cell.setting.pipes["bottleneck/forward"].limit_ms == pytest.approx((cell_ms, cell_ms))
    (link,) = [one for one in cell.links if one.pipe == "bottleneck/forward"]
    assert link.delay_p95_ms is not None and 0.85 * cell_ms < link.delay_p95_ms <= cell_ms


@pytest.mark.parametrize("mtu_bytes", [576, 9000])
def test_a_full_frame_is_that_of_the_mtu(mtu_bytes: int, tmp_path: Path) -> None:
    """Queue limit and BDP in packets are of frames that the hosts send."""
    jumbo = CELLS.replace(", forward: {framing: pppoe-llcsnap}", "")
    jumbo += f"hosts: {{defaults: {{mtu: {mtu_bytes} bytes}}}}\n"
    file = tmp_path / "mtu.yaml"
    file.write_text(jumbo, encoding="utf-8")
    results = dumbbell.run(file)
    (cell,) = cells(results)
    limits = flow_limits(results.runs["scenario"][0], "flow1")
    assert limits.bdp_packets == pytest.approx(8e6 * 0.02 / 8 / (mtu_bytes + 14))
    assert cell.setting is not None
    full_ms = 60 * (mtu_bytes + 14) * 8 / 8e3
    limit_ms = cell.setting.pipes["bottleneck/forward"].limit_ms
    assert limit_ms == pytest.approx((full_ms, full_ms))


LATE = """\
dumbbell: 1
name: late
template:
  dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 40 ms, buffer: 50 packets, forward: CHANGES}
flows:
  - {name: first, from: s1, to: d1, tcp: cubic}
  - {name: second, from: s2, to: d2, tcp: cubic, start: 3 s, start_jitter: 10 s}
duration: 20 s
repeats: 4
""".replace("CHANGES", "{changes: [{at: 8 s, rate: 5 Mbit/s}]}")


def test_phases_are_those_of_all_repeats(tmp_path: Path) -> None:
    """The second flow comes before the change in some repeats, after it in others."""
    cell = one_cell(tmp_path, LATE)
    assert [(one.begin_s, one.end_s) for one in cell.phases] == [(0, 8), (8, 20)]


LOSSY_ACCESS = """\
dumbbell: 1
name: lossy
hosts: {a: {}, b: {}}
routers: {r: {}}
links:
  - {between: [a, r], rate: 10 Mbit/s, delay: 5 ms, buffer: 50 packets}
  - {between: [r, b], delay: 1 ms, forward: {loss: 5 %}}
flows:
  - {from: a, to: b, tcp: bbr}
  - {from: a, to: b, udp: {rate: 1 Mbit/s}}
duration: 10 s
"""


def test_a_link_without_a_rate_may_be_lossy(tmp_path: Path) -> None:
    cell = one_cell(tmp_path, LOSSY_ACCESS)
    assert "→ r-b drops" in sentence(cell, "lossy")
    tcp, udp = (replace(flow, timeouts=0.0) for flow in cell.flows)
    assert tcp.lost and udp.lost
    both = nothing_stands_out([replace(cell, flows=[tcp, udp], links=[])])
    assert "All losses of TCP were repaired" in both
    assert "All losses were repaired" in nothing_stands_out([replace(cell, flows=[tcp], links=[])])


def test_without_losses_nobody_takes_them_for_congestion(tmp_path: Path) -> None:
    rare = "{loss: 0.000001 %}"
    pair = [
        ran(tmp_path, f"  - {{from: s1, to: d1, tcp: {name}}}", forward=rare)[0]
        for name in ("bbr", "cubic")
    ]
    assert not any(link.drops.get("random loss") for cell in pair for link in cell.links)
    assert "random losses" not in reasons(pair)
    often = "{loss: 1 %}"
    pair = [
        ran(tmp_path, f"  - {{from: s1, to: d1, tcp: {name}}}", forward=often)[0]
        for name in ("bbr", "cubic")
    ]
    assert "BBR does not take random losses for congestion; CUBIC does." in reasons(pair)


def test_a_flow_that_its_own_buffer_holds_does_not_starve(tmp_path: Path) -> None:
    """8 KB of receive buffer are 4 KB in flight: less than half of the line in a base RTT."""
    small = "{congestion_control: cubic, receiver: {tcp_rmem: 4096 8192 8192}}"
    two = f"{CUBIC}\n  - {{from: s2, to: d2, tcp: {small}}}"
    cell, _ = ran(tmp_path, two)
    assert cell.flows[1].goodput_mbps.mean < 0.1 * cell.flows[0].goodput_mbps.mean
    assert cell.flows[1].fair_share is None
    assert not [one for one in findings([cell]) if one.rule in ("starvation", "unequal shares")]


OUTAGE = """\
dumbbell: 1
name: outage
template: {dumbbell: {rate: 10 Mbit/s, rtt: 50 ms, buffer: 1 BDP, forward: CHANGES}}
flows: [{from: s1, to: d1, tcp: reno}]
duration: 12 s
""".replace("CHANGES", "{changes: [{at: 3 s, state: down}, {at: 6 s, state: up}]}")


def test_time_outs_of_an_outage_are_of_the_outage(tmp_path: Path) -> None:
    words = sentence(one_cell(tmp_path, OUTAGE), "time-outs")
    assert "its path is down for 3 s" in words and "mean window" not in words


BLOCKED = """\
dumbbell: 1
name: blocked
hosts: {a: {tcp_rmem: 4096 131072 131072}, b: {tcp_rmem: 4096 131072 131072}}
routers: {w: {}, l: {}}
links:
  - {between: [a, w], rate: 20 Mbit/s, delay: 5 ms, buffer: 100 packets}
  - {between: [a, l], rate: 5 Mbit/s, delay: 100 ms, buffer: 300 packets}
  - {between: [w, b], rate: 1 Gbit/s, delay: 1 ms, buffer: 100 packets}
  - {between: [l, b], rate: 1 Gbit/s, delay: 1 ms, buffer: 100 packets}
flows: [{name: up, from: a, to: b, mptcp: lia}]
duration: 10 s
"""


def test_head_of_line_blocking_is_a_cause(tmp_path: Path) -> None:
    cell = one_cell(tmp_path, BLOCKED)
    assert cell.flows[0].blocked is not None and cell.flows[0].blocked > 0.1
    assert "(head-of-line blocking)" in sentence(cell, "underused")


def test_what_repeats_do_not_show_is_no_effect() -> None:
    """Means differ by a half; in one case every repeat does, in the other they scatter."""
    cell = CellLine(levels={"n": "1"}, flows=[], links=[], bulk=False)
    means = [2.0, 3.0]
    noisy = [[1.0, 3.0, 2.0, 2.0], [6.0, 1.0, 3.0, 2.0]]
    clear = [[1.9, 2.1, 2.0, 2.0], [3.1, 2.9, 3.0, 3.0]]
    chance = Quantity("page load", "s", means, samples=noisy)
    assert compared(*noisy).p >= ALPHA and chance.may_be_chance(0, 1)
    assert _ratio(chance, [0, 1], [cell, cell]) == 1
    assert _told(chance, means, [0, 1]) == ["page load 2 / 3 s (no difference shown)"]
    effect = Quantity("page load", "s", means, samples=clear)
    assert _ratio(effect, [0, 1], [cell, cell]) == 1.5
    assert _told(effect, means, [0, 1]) == ["page load 2 / 3 s"]
    # Of one repeat, or of different ones, nothing tells what is chance.
    assert not Quantity("page load", "s", means, samples=[[2.0], [3.0]]).may_be_chance(0, 1)
    assert not Quantity("page load", "s", means, samples=[[2.0, 2.0], [3.0]]).may_be_chance(0, 1)


def test_a_quantity_that_is_zero_somewhere_differs() -> None:
    cell = CellLine(levels={"n": "1"}, flows=[], links=[], bulk=False)
    known = Quantity("transfer time", "s", [0.0, 40.0])
    assert _ratio(known, [0, 1], [cell, cell]) == 1000
    assert _ratio(Quantity("transfer time", "s", [0.0, 0.0]), [0, 1], [cell, cell]) == 1


TREE = """\
dumbbell: 1
name: tree
template: {fat-tree: {k: 4, rate: 100 Mbit/s, delay: 10 us, buffer: 100 packets, spray: per_flow}}
flows: [{name: "f{i}", from: "h{i}", to: "h{i+8}", count: 8, tcp: cubic, start_jitter: 1 ms}]
duration: 0.5 s
repeats: 4
"""


def test_the_fullest_link_is_that_of_each_repeat(tmp_path: Path) -> None:
    """A hash sends the flows over other links in each repeat; some are full in each."""
    file = tmp_path / "tree.yaml"
    file.write_text(TREE, encoding="utf-8")
    results = dumbbell.run(file)
    (cell,) = cells(results)
    use = METRICS["link_use"].measure(results).filter(pl.col("value").is_not_nan())
    fullest = use.group_by("run").agg(pl.col("value").max())["value"].mean()
    assert cell.worst["used"] == pytest.approx(fullest)
    assert cell.worst["used"] >= max(link.used or 0.0 for link in cell.links)
