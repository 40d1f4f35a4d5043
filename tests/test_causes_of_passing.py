"""Causes at a link are of the data that passes it: not of flows whose ACKs alone pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dumbbell
from dumbbell.summary.cells import cells
from dumbbell.summary.differences import reasons
from tests.test_causes import CUBIC, ran, sentence
from tests.test_causes_together import one_cell

NARROW_BACK = """\
dumbbell: 1
name: narrow back
template:
  dumbbell:
    pairs: 2
    rtt: 40 ms
    forward: {rate: 20 Mbit/s, buffer: 1 BDP}
    backward: {rate: 200 kbit/s, buffer: 2 packets}
flows: [{from: s1, to: d1, tcp: bbr}]
duration: 5 s
"""


def test_a_sender_is_no_cause_of_lost_acks(tmp_path: Path) -> None:
    """The packets that the link back drops are ACKs: BBR sends none of them."""
    cell = one_cell(tmp_path, NARROW_BACK)
    words = sentence(cell, "lossy")
    assert words.startswith("← bottleneck drops ")
    assert words.endswith("overflow of a queue of 2 packets.")


def test_datagrams_that_are_lost_are_told_though_few_arrive(tmp_path: Path) -> None:
    """BBR takes most of the goodput, and the datagrams are most of what is dropped."""
    udp = "  - {from: s2, to: d2, video: {rate: 12 Mbit/s, on: 1 s, off: 2 s}}"
    cell, _ = ran(tmp_path, f"{CUBIC.replace('cubic', 'bbr')}\n{udp}", buffer="60 packets")
    assert "UDP and BBR do not slow down for losses" in sentence(cell, "lossy")
    (video,) = [flow for flow in cell.flows if flow.algorithm == "UDP"]
    assert (video.lost or 0) > 0.3
    assert video.goodput_mbps.mean < 0.3 * sum(flow.goodput_mbps.mean for flow in cell.flows)


IN_A_ROW = """\
dumbbell: 1
name: in a row
hosts: {a: , b: , c: , d: }
routers: {r1: , r2: , r3: }
links:
  - {between: [a, r1], delay: 1 ms}
  - {between: [c, r1], delay: 1 ms}
  - {name: first, between: [r1, r2], rate: 12 Mbit/s, delay: 5 ms, buffer: 60 packets}
  - {name: second, between: [r2, r3], rate: 10 Mbit/s, delay: 5 ms, buffer: 60 packets}
  - {between: [d, r2], delay: 1 ms}
  - {between: [b, r3], delay: 1 ms}
flows:
  - {name: through, from: a, to: b, tcp: cubic}
  - {name: beside, from: c, to: d, tcp: bbr}
duration: 10 s
"""


def test_a_flow_fills_queues_before_its_narrowest_link(tmp_path: Path) -> None:
    """CUBIC goes on to a narrower link, and fills the first one up to its drops beside BBR."""
    cell = one_cell(tmp_path, IN_A_ROW)
    through = next(flow for flow in cell.flows if flow.title == "through (CUBIC)")
    assert through.narrowest == {"second/forward"}
    assert {"first/forward", "second/forward"} <= through.pipes
    assert "first/backward" not in through.pipes
    words = sentence(cell, "standing queue")
    assert words.startswith("→ first ") and "CUBIC fills it until it drops" in words


def test_a_window_above_two_bdp_is_told_as_an_estimate(tmp_path: Path) -> None:
    """ACKs of the download keep a queue, which BBR takes for a part of its base RTT."""
    down, up = "{from: s1, to: d1, tcp: cubic}", "{name: up, from: d2, to: s2, tcp: bbr}"
    text = NARROW_BACK.replace("200 kbit/s, buffer: 2 packets", "1 Mbit/s, buffer: 100 packets")
    text = text.replace("{from: s1, to: d1, tcp: bbr}", f"{down}, {up}").replace("5 s", "15 s")
    cell = one_cell(tmp_path, text)
    (back,) = [flow for flow in cell.flows if flow.title == "up (BBR)"]
    # 1 Mbit/s × 40 ms.
    assert back.bdp_packets == pytest.approx(1e6 * 0.04 / 8 / 1514)
    assert (back.window_packets or 0) > 4 * back.bdp_packets
    words = sentence(cell, "standing queue")
    assert "BBR keeps up to two BDP in flight as it estimates them (mean window " in words


def test_a_queue_limit_is_one_of_full_frames_and_names_its_link(tmp_path: Path) -> None:
    """100 frames of 1514 bytes take 6 s at 200 kbit/s; ACKs that wait there are shorter."""
    text = NARROW_BACK.replace("2 packets", "$acks") + "factors: {acks: [2 packets, 100 packets]}\n"
    (tmp_path / "e.yaml").write_text(text, encoding="utf-8")
    words = reasons(cells(dumbbell.run(tmp_path / "e.yaml")))
    limit = "The queue limit of ← bottleneck is 2 / 100 packets: 121.1 / "
    assert f"{limit}6\u202f056 ms of full frames." in words


FOLDED = """\
dumbbell: 1
name: folded
template: {dumbbell: {pairs: 6, rate: 20 Mbit/s, rtt: {from: 10 ms, to: 200 ms}, buffer: 30 ms}}
flows:
  - {name: "f{i}", from: "s{i}", to: "d{i}", count: 5, tcp: cubic, start_jitter: 1 s}
  - {name: odd, from: s6, to: d6, tcp: bbr, start: 4 s, stop: 8 s}
duration: 14 s
"""


def test_rates_of_a_line_of_flows_are_those_of_each(tmp_path: Path) -> None:
    """Their base RTTs are from 10 to 162 ms, and 30 ms of queue: the mean RTT is that of none."""
    cell = one_cell(tmp_path, FOLDED)
    words = sentence(cell, "unequal shares")
    found = re.search(
        r"together: 5 × f \(CUBIC\) ([\d.]+) each, odd \(BBR\) ([\d.]+) Mbit/s", words
    )
    assert found is not None, words
    of_five, of_one = map(float, found.groups())
    assert 15 < 5 * of_five + of_one <= 20 * 1448 / 1514
    # The longest time alone is behind the other flow's life.
    assert re.search(r" Mbit/s; [\d.]+–14 s: 5 × f \(CUBIC\) alone [\d.]+ Mbit/s each;", words)
    assert "base RTTs from 10 to 200 ms" in words and "with queues" not in words
