"""Numbers that sentences and tables tell agree with the raw tables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell
from dumbbell.metrics import METRICS
from dumbbell.metrics.phases import phases
from dumbbell.scenario import read_scenario
from dumbbell.summary.cells import CellLine, cells
from dumbbell.summary.findings import findings

HEAD = """\
dumbbell: 1
name: told
template: {dumbbell: {pairs: 3, rate: 10 Mbit/s, rtt: 20 ms, buffer: BUFFER, forward: FORWARD}}
"""


def ran(
    folder: Path, flows: str, buffer: str = "1 BDP", forward: str = "{}", duration: str = "10 s"
) -> dumbbell.Results:
    file = folder / "told.yaml"
    head = HEAD.replace("BUFFER", buffer).replace("FORWARD", forward)
    file.write_text(f"{head}flows:\n{flows}\nduration: {duration}\n", encoding="utf-8")
    return dumbbell.run(file)


def values(results: dumbbell.Results, name: str) -> dict[str, float]:
    rows = METRICS[name].measure(results)
    return dict(rows.select(METRICS[name].of[0], "value").iter_rows())


def one_cell(results: dumbbell.Results) -> CellLine:
    (cell,) = cells(results)
    return cell


def flow(results: dumbbell.Results, name: str) -> dict[str, Any]:
    return results.flows.filter(flow=name).row(0, named=True)


def test_a_short_common_time_is_no_time_of_load(tmp_path: Path) -> None:
    """Both flows send in 0.4 s of 10 s: the queue is told of all of them."""
    first = "  - {from: s1, to: d1, stop: 5.2 s, tcp: cubic}"
    second = "  - {from: s2, to: d2, start: 4.8 s, tcp: cubic}"
    cell = one_cell(ran(tmp_path, f"{first}\n{second}", buffer="200 packets"))
    assert cell.load_share is None
    assert [one for one in findings([cell]) if one.rule == "standing queue"]
    later = ran(tmp_path, f"{first}\n{second.replace('4.8 s', '2 s')}", buffer="200 packets")
    # When the first stops, its send buffer is not empty.
    share = one_cell(later).load_share
    assert share is not None and 0.32 < share < 0.5


def test_a_short_flow_does_not_end_the_load(tmp_path: Path) -> None:
    """100 kB beside a flow of 10 s: the queue stands for 10 s."""
    bulk = "  - {from: s1, to: d1, tcp: cubic}"
    short = "  - {from: s2, to: d2, start: 5 s, tcp: {congestion_control: cubic, bytes: 100 KB}}"
    cell = one_cell(ran(tmp_path, f"{bulk}\n{short}", buffer="200 packets"))
    assert cell.load_share == 1
    assert [one for one in findings([cell]) if one.rule == "standing queue"]


def test_the_use_of_phases_is_of_the_time_that_the_sentence_names(tmp_path: Path) -> None:
    """The second flow starts at 3 s and the line loses from 6 s: 0–3 s is not told."""
    flows = "  - {from: s1, to: d1, tcp: cubic}\n  - {from: s2, to: d2, tcp: cubic, start: 3 s}"
    forward = "{changes: [{at: 6 s, loss: 10 %}]}"
    cell = one_cell(ran(tmp_path, flows, forward=forward))
    assert [phase.loaded for phase in cell.phases] == [False, True, True]
    (words,) = [one.sentence for one in findings([cell]) if one.rule == "underused"]
    assert "over the time of load: use by phase 3–6 s " in words and "0–3 s" not in words


def test_udp_that_starts_later_counts_in_the_common_time(tmp_path: Path) -> None:
    tcp = "  - {name: tcp, from: s1, to: d1, tcp: cubic}"
    udp = "  - {name: udp, from: s2, to: d2, start: 2 s, udp: {rate: 6 Mbit/s}}"
    results = ran(tmp_path, f"{tcp}\n{udp}")
    rates, own = values(results, "joint_goodput_mbps"), values(results, "goodput_mbps")
    assert rates["udp"] == pytest.approx(own["udp"], rel=0.02)
    samples = results.samples.filter(flow="tcp").sort("time_ns")
    at = {
        second: samples.filter(pl.col("time_ns") <= second * 10**9)["delivered_bytes"][-1]
        for second in (2, 10)
    }
    assert rates["tcp"] == pytest.approx((at[10] - at[2]) * 8e-6 / 8, rel=0.01)
    assert values(results, "joint_share")["udp"] == pytest.approx(
        rates["udp"] / (rates["udp"] + rates["tcp"])
    )


def test_lost_datagrams_are_not_lost_fragments(tmp_path: Path) -> None:
    """12 fragments of 2 datagrams meet a queue of few packets: what arrives whole counts."""
    udp = "  - {name: udp, from: s1, to: d1, udp: UDP}"
    large = udp.replace("UDP", "{rate: 20 Mbit/s, datagram: 8 KiB}")
    results = ran(tmp_path, large, buffer="10 packets", duration="3 s")
    row = flow(results, "udp")
    sent, arrived = row["sent_packets"] / 6, row["delivered_bytes"] / 8192
    lost = values(results, "datagram_loss_ratio")["udp"]
    assert lost == pytest.approx(1 - arrived / sent)
    assert lost > 1 - row["received_packets"] / row["sent_packets"] + 0.05
    small = udp.replace("UDP", "{rate: 20 Mbit/s, datagram: 1 KiB}")
    results = ran(tmp_path, small, buffer="10 packets", duration="3 s")
    row = flow(results, "udp")
    # What is under way at the end is not lost.
    dropped = row["dropped_packets"] / row["sent_packets"]
    assert dropped < 1 - row["received_packets"] / row["sent_packets"]
    assert values(results, "datagram_loss_ratio")["udp"] == pytest.approx(dropped)
    results = ran(tmp_path, udp.replace("UDP", "5 Mbit/s"), duration="3 s")
    row = flow(results, "udp")
    assert row["received_packets"] < row["sent_packets"] and row["dropped_packets"] == 0
    assert values(results, "datagram_loss_ratio")["udp"] == 0


PAGE = """\
dumbbell: 1
name: page
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
pages:
  - name: page
    client: d1
    server: s1
    protocol: http/1.1
    objects: [{name: index, size: 30 KiB}]
flows: [{name: download, from: s2, to: d2, tcp: cubic}]
duration: 3 s
"""


def test_connections_that_a_page_never_opened_have_no_goodput(tmp_path: Path) -> None:
    file = tmp_path / "page.yaml"
    file.write_text(PAGE, encoding="utf-8")
    results = dumbbell.run(file)
    never = set(results.flows.filter(pl.col("start_ns") < 0)["flow"])
    assert len(never) == 5
    goodput = values(results, "goodput_mbps")
    assert {name for name, value in goodput.items() if math.isnan(value)} == never
    cell = one_cell(results)
    assert sum(line.count for line in cell.flows) == 2
    assert cell.page_connections == 1
    # They do not hide the shares of the others.
    share = values(results, "joint_share")
    assert not math.isnan(share["download"])
    (jain,) = METRICS["jain"].measure(results)["value"]
    assert not math.isnan(jain)


def test_the_goodput_of_all_flows_is_that_of_one_alone(tmp_path: Path) -> None:
    cell = one_cell(ran(tmp_path, "  - {from: s1, to: d1, tcp: cubic, start: 1 s}"))
    assert cell.goodput_mbps == pytest.approx(cell.flows[0].goodput_mbps.mean, rel=1e-12)


MULTIPATH = """\
dumbbell: 1
name: two paths
hosts: {phone: {}, server: {}}
routers: {wifi: {}, lte: {}}
links:
  - {between: [phone, wifi], rate: 30 Mbit/s, delay: 5 ms, buffer: 100 packets}
  - {between: [phone, lte], rate: 10 Mbit/s, delay: 30 ms, buffer: 300 packets}
  - {between: [wifi, server], rate: 1 Gbit/s, delay: 5 ms, buffer: 1000 packets}
  - {between: [lte, server], rate: 1 Gbit/s, delay: 5 ms, buffer: 1000 packets}
flows: [{name: upload, from: phone, to: server, start: 1 s, mptcp: cubic}]
duration: 4 s
"""


def test_a_subflow_does_not_stretch_the_time_of_its_connection(tmp_path: Path) -> None:
    file = tmp_path / "mptcp.yaml"
    file.write_text(MULTIPATH, encoding="utf-8")
    results = dumbbell.run(file)
    row = flow(results, "upload")
    goodput = row["delivered_bytes"] * 8e3 / (row["end_ns"] - row["established_ns"])
    assert one_cell(results).goodput_mbps == pytest.approx(goodput)
    (pipe,) = results.pipes.filter(pipe="phone-wifi/forward").iter_rows(named=True)
    carried = pipe["left_bytes"] * 8e3 / (row["end_ns"] - row["start_ns"])
    told = values(results, "link_throughput_mbps")["phone-wifi/forward"]
    assert told == pytest.approx(carried)


def test_delays_of_phases_are_those_of_the_metric(tmp_path: Path) -> None:
    """After an outage the sender waits for its time-out: samples without a packet count."""
    changes = "{at: 2 s, rate: 5 Mbit/s}, {at: 4 s, state: down}, {at: 7 s, state: up}"
    flows = "  - {name: tcp, from: s1, to: d1, tcp: cubic}"
    results = ran(tmp_path, flows, forward=f"{{changes: [{changes}]}}")
    run, text = results.runs.select("run", "scenario").row(0)
    parts = phases(results, {run: results.flows.to_dicts()}, read_scenario(text))
    name = "bottleneck/forward"
    queues = results.queues.filter(pipe=name)
    for phase, mbps in zip(parts, (10, 5, 0, 5), strict=True):
        if mbps == 0:  # No packet waits at a link that is down: unknown, not 0.
            assert name not in phase.delay_p50_ms and name not in phase.delay_p95_ms
            continue
        begin_ns, end_ns = phase.begin_s * 1e9, phase.end_s * 1e9
        inside = (pl.col("time_ns") > begin_ns) & (pl.col("time_ns") <= end_ns)
        sojourn, queued = pl.col("sojourn_mean_ns").fill_nan(None), pl.col("queued_bytes")
        known = pl.coalesce(sojourn / 1e6, queued * 8e-3 / mbps)
        delays = queues.filter(inside).select(known.alias("ms"))["ms"]
        assert phase.delay_p95_ms[name] == pytest.approx(delays.quantile(0.95, "linear"))
        assert phase.delay_p50_ms[name] == pytest.approx(delays.median())
