"""Why queues stand, and what is dropped where: words beside the counters of the tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.metrics import METRICS
from dumbbell.metrics.numbers import number
from dumbbell.report.experiment import experiment_page
from dumbbell.results import Results
from dumbbell.summary.causes import of_standing_queue
from dumbbell.summary.cells import CellLine, cells
from dumbbell.summary.contrasts import contrasts
from dumbbell.summary.differences import _lower, reasons
from dumbbell.summary.findings import findings, nothing_stands_out
from tests.helpers import ROOT

TEXT = """\
dumbbell: 1
name: queues
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, QUEUE}}
flows: [{name: f, from: s1, to: d1, tcp: $cc}]
factors: {cc: [CC]}
duration: 20 s
"""


def ran(folder: Path, queue: str, cc: str = "reno") -> Results:
    file = folder / "queues.yaml"
    file.write_text(TEXT.replace("QUEUE", queue).replace("CC", cc), encoding="utf-8")
    return dumbbell.run(file)


def standing(results: Results) -> str:
    (words,) = [one.sentence for one in findings(cells(results)) if one.rule == "standing queue"]
    return words


def test_a_queue_that_only_slow_start_fills_is_not_filled_until_it_drops(tmp_path: Path) -> None:
    """Reno grows by a packet per RTT: after slow start no packet is lost for 20 s."""
    results = ran(tmp_path, "buffer: 250 packets")
    rows = results.queues.filter(pl.col("pipe") == "bottleneck/forward")
    middle = rows.filter(pl.col("time_ns") <= 10_000_000_000)["dropped_overflow_packets"]
    assert middle.max() == rows["dropped_overflow_packets"].max() != 0
    late = METRICS["late_overflow_packets"].measure(results).filter(pipe="bottleneck/forward")
    assert late["value"].item() == 0
    words = standing(results)
    assert "until it drops" not in words
    assert "in the second half of the load what Reno has in flight fits into it" in words


def test_a_queue_that_is_filled_again_and_again_is_said_to_be(tmp_path: Path) -> None:
    results = ran(tmp_path, "buffer: 60 packets")
    rows = results.queues.filter(pl.col("pipe") == "bottleneck/forward")
    load_end = int(results.flows["end_ns"].item())
    begin = (int(results.flows["start_ns"].item()) + load_end) / 2
    counted = pl.col("dropped_overflow_packets")
    before = rows.filter(pl.col("time_ns") <= begin).select(counted.max()).item()
    after = rows.filter(pl.col("time_ns") <= load_end).select(counted.max()).item()
    late = METRICS["late_overflow_packets"].measure(results).filter(pipe="bottleneck/forward")
    assert late["value"].item() == after - before > 0
    assert "and Reno fills it until it drops" in standing(results)


def test_a_queue_below_the_target_of_codel_has_that_cause(tmp_path: Path) -> None:
    """200 µs of base RTT, 300 packets at 1 Gbit/s: CoDel waits for 5 ms, and sees 3.6."""
    text = "forward: {rate: 1 Gbit/s, queue: {codel: {limit: 300 packets}}}"
    file = tmp_path / "e.yaml"
    made = TEXT.replace(
        "rate: 10 Mbit/s, rtt: 20 ms, QUEUE", f"rate: 1 Gbit/s, rtt: 200 us, {text}"
    )
    file.write_text(made.replace("CC", "cubic").replace("20 s", "0.3 s"), encoding="utf-8")
    words = standing(dumbbell.run(file))
    assert "CoDel signals nothing below its target of 5 ms; the queue limit is 300 packets" in words


def test_random_losses_beside_more_of_other_drops_have_their_share() -> None:
    """BBR's drops of 1.4 % are overflow, but for a tenth of a percent."""
    every = cells(dumbbell.run(ROOT / "examples" / "joint-trace.yaml", repeats=1))
    cubic, bbr = (cell.links[0] for cell in every)
    assert bbr.drops["overflow"] > 10 * bbr.drops["random loss"] > 0
    each = [100 * link.drops["random loss"] for link in (cubic, bbr)]
    shares = f"{number(each[0])} / {number(each[1])} % of the packets"
    assert f"BBR does not take random losses ({shares}) for congestion" in reasons(every)


def test_an_article_is_no_name() -> None:
    assert _lower("A queue") == "a queue" and _lower("ECN marks") == "ECN marks"


BESIDE_UDP = """\
dumbbell: 1
name: beside
template: {dumbbell: {pairs: 3, rate: 8 Mbit/s, rtt: 30 ms, buffer: 100 packets}}
flows:
  - {name: one, from: s1, to: d1, tcp: reno}
  - {name: two, from: s2, to: d2, tcp: cubic}
  - {name: cam, from: s3, to: d3, udp: UDP, start: 2 s}
duration: 12 s
"""


def beside(folder: Path, udp: str) -> CellLine:
    file = folder / "beside.yaml"
    file.write_text(BESIDE_UDP.replace("UDP", udp), encoding="utf-8")
    (cell,) = cells(dumbbell.run(file))
    return cell


TWO_HOPS = """\
dumbbell: 1
name: hops
hosts: {a: , b: , c: , d: }
routers: {r1: , r2: , r3: }
links:
  - {between: [a, r1]}
  - {between: [b, r2]}
  - {name: first, between: [r1, r2], rate: 10 Mbit/s, delay: 5 ms, buffer: 50 packets}
  - {name: second, between: [r2, r3], rate: 8 Mbit/s, delay: 20 ms, buffer: 100 packets}
  - {between: [r3, c]}
  - {between: [r3, d]}
flows:
  - {name: cam, from: a, to: c, udp: 9 Mbit/s, start: 5 s, stop: 15 s}
  - {name: file, from: a, to: d, tcp: reno}
  - {name: other, from: b, to: d, tcp: cubic}
duration: 25 s
"""


def test_of_flows_beside_datagrams_none_takes_most(tmp_path: Path) -> None:
    """`file (Reno) takes 4 % while all send`: it has more than the other, but not much."""
    (tmp_path / "hops.yaml").write_text(TWO_HOPS, encoding="utf-8")
    (cell,) = cells(dumbbell.run(tmp_path / "hops.yaml"))
    shares = {flow.title: flow.joint_share or 0.0 for flow in cell.flows}
    assert shares["cam (UDP)"] > 0.9
    (words,) = [one.sentence for one in findings([cell]) if one.rule == "unequal shares"]
    assert f"UDP takes {100 * shares['cam (UDP)']:.3g} % and file (Reno) " in words


def test_datagrams_below_the_rate_are_no_overload(tmp_path: Path) -> None:
    """A link that is idle at times carries less than its rate, and may less than they send."""
    cell = beside(tmp_path, "4 Mbit/s")
    (link,) = cell.links
    idle = replace(link, throughput_mbps=3.0)
    assert "UDP sends more than the link carries" not in of_standing_queue(cell, idle)


MARKS = """\
dumbbell: 1
name: marks
template:
  dumbbell:
    rate: 25 Mbit/s
    rtt: 60 ms
    forward: {queue: {codel: {ecn: true, limit: 400 packets}}, loss: 0.1 %}
hosts: {defaults: {tcp_ecn: $ecn}}
flows: [{name: one, from: s1, to: d1, tcp: reno, start_jitter: 1 s}]
duration: 15 s
factors: {ecn: [0, 1]}
repeats: 3
"""


def test_what_differs_in_the_table_is_not_said_to_stay_the_same(tmp_path: Path) -> None:
    """Delays of 0.8 and 1.7 ms matter little at an RTT of 60 ms, but are not within 10 %."""
    (tmp_path / "e.yaml").write_text(MARKS, encoding="utf-8")
    results = dumbbell.run(tmp_path / "e.yaml")
    every = cells(results)
    delays = [cell.worst["delay_p95_ms"] for cell in every]
    assert max(delays) > 1.1 * min(delays)
    told = " ".join(contrasts(every, results))
    assert "queueing delay (p95)" not in told.partition("No factor changes")[2]


TWO_WAYS = """\
dumbbell: 1
name: ways
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 20 packets}}
flows:
  - {name: down, from: s1, to: d1, tcp: cubic}
  - {name: up, from: d2, to: s2, tcp: cubic, start: 8 s}
duration: 12 s
"""


def test_a_link_with_bulk_traffic_that_is_idle_at_times_is_not_denied(tmp_path: Path) -> None:
    """`no idle line` stood below a link that carried half of what it could."""
    (tmp_path / "e.yaml").write_text(TWO_WAYS, encoding="utf-8")
    every = cells(dumbbell.run(tmp_path / "e.yaml"))
    words = nothing_stands_out(every)
    assert "idle" not in words and "a link at 90 % or more while bulk flows send" in words


ARRIVING = """\
dumbbell: 1
name: arriving
template: {dumbbell: {pairs: 2, rate: 20 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows:
  - {name: one, from: s1, to: d1, tcp: cubic}
  - {name: film, from: s2, to: d2, udp: 3 Mbit/s}
arrivals:
  - {name: pages, from: s1, to: d1, load: 6 Mbit/s, size: {exponential: {mean: 60 KB}}, tcp: cubic}
duration: 5 s
"""


def test_shares_beside_arrivals_say_what_they_leave_out(tmp_path: Path) -> None:
    """Shares of 100 % in all stood beside arrivals that carried a third."""
    (tmp_path / "e.yaml").write_text(ARRIVING, encoding="utf-8")
    results = dumbbell.run(tmp_path / "e.yaml")
    every = cells(results)
    assert sum(flow.joint_share or 0.0 for flow in every[0].flows) == pytest.approx(1)
    assert "Shares leave out what flows of arrivals carry." in experiment_page(results)
