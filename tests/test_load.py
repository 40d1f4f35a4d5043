"""Measures of latency under load, on runs whose answer is known."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.table import Table

import dumbbell
from dumbbell.experiment import load_text
from dumbbell.figures import plot
from dumbbell.metrics import METRICS
from dumbbell.summary import load as load_summary
from dumbbell.summary.cells import cells
from dumbbell.summary.contrasts import quantities

LINE = """\
dumbbell: 1
name: line
hosts: {client: , server: }
routers: {modem: }
links:
  - between: [client, modem]
    forward: {queue: {htb: {rate: $up, queue: $queue}}}
    backward: {queue: {htb: {rate: 4 Mbit/s, queue: $queue}}}
  - {between: [modem, server], delay: 15 ms}
workload: {rrul_be: {client: client, server: server, up: 2, down: 2, voice: true,
           before: 3 s, length: 20 s}}
sampling: {interval: 100 ms, keep: [samples, queues, probes]}
duration: 28 s
factors:
  up: [1 Mbit/s]
  queue:
    - {label: drop-tail, value: {pfifo: {limit: 100 packets}}}
    - {label: codel, value: codel}
    - {label: fq_codel, value: fq_codel}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Results:
    file = tmp_path_factory.mktemp("line") / "line.yaml"
    file.write_text(LINE, encoding="utf-8")
    return dumbbell.run(file)


def of(results: dumbbell.Results, metric: str, **where: str) -> dict[str, float]:
    frame = METRICS[metric].measure(results)
    for column, level in where.items():
        frame = frame.filter(pl.col(column) == level)
    return dict(frame.select("queue", "value").iter_rows())


def test_an_idle_line_takes_propagation_and_two_packets(results: dumbbell.Results) -> None:
    # 30 ms and, up and down, nothing: HTB lets a short packet go at once.
    for value in of(results, "latency_idle_ms", flow="icmp").values():
        assert 30.0 <= value < 31.0


FULL = """\
dumbbell: 1
name: full
template:
  dumbbell:
    pairs: 1
    rtt: 20 ms
    forward: {rate: 1 Mbit/s, buffer: $buffer, framing: $framing}
    backward: {rate: 10 Mbit/s, buffer: 100 packets}
flows: [{name: u, from: s1, to: d1, udp: {rate: 2 Mbit/s, datagram: 958 bytes}}]
sampling: {keep: [probes]}
duration: 20 s
factors:
  buffer: [10 packets, 100 packets]
  framing: [none, bridged-llcsnap]
"""


def test_drop_tail_tends_to_buffer_over_rate(tmp_path: Path) -> None:
    """Bufferbloat as a law: a full buffer takes its length over the rate, here 8 ms a frame of
    1000 bytes, and 9.328 ms where it travels in 22 cells (1018 bytes with LLC/SNAP and AAL5)."""
    file = tmp_path / "full.yaml"
    file.write_text(FULL, encoding="utf-8")
    results = dumbbell.run(file)
    late = results.probes.filter((pl.col("time_ns") > 5e9) & (pl.col("delay_ns") > 0))
    for framing, frame_ns in (("none", 8_000_000), ("bridged-llcsnap", 22 * 53 * 8000)):
        for packets in (10, 100):
            rows = late.filter(
                (pl.col("framing") == framing) & (pl.col("buffer") == f"{packets} packets")
            )
            # The buffer, what is left of the packet on the wire, and the packet itself.
            longest = rows["delay_ns"].max()
            shortest = rows["delay_ns"].min()
            assert isinstance(longest, int)
            assert isinstance(shortest, int)
            assert longest <= 10_000_000 + (packets + 1) * frame_ns
            assert shortest >= 10_000_000 + packets * frame_ns


def test_disciplines_shorten_the_queue(results: dumbbell.Results) -> None:
    found = of(results, "latency_p95_ms", flow="icmp")
    assert found["fq_codel"] < found["codel"] < 0.5 * found["drop-tail"]


def test_nothing_leaves_faster_than_the_line(results: dumbbell.Results) -> None:
    for way, rate in (("client-modem/forward", 1), ("client-modem/backward", 4)):
        used = of(results, "utilisation", pipe=way)
        assert all(0.5 < value <= 1.01 for value in used.values()), used
        carried = of(results, "upload_mbps" if rate == 1 else "download_mbps")
        assert all(0 < carried[name] < used[name] * rate for name in carried)


def test_round_trips_per_minute_are_the_inverse_of_latency(results: dumbbell.Results) -> None:
    trips = METRICS["latency_ms"].measure(results).filter(pl.col("kind") == "ping")
    mean_ms = dict(trips.group_by("queue").agg(pl.col("value").mean()).iter_rows())
    for name, value in of(results, "rpm").items():
        assert value == pytest.approx(60_000 / mean_ms[name])


def test_speech_needs_a_short_queue(results: dumbbell.Results) -> None:
    heard = of(results, "voice_mos", flow="voice_up")
    assert heard["drop-tail"] < 2 < 4.2 < heard["fq_codel"]
    assert of(results, "voice_r", flow="voice_up")["fq_codel"] <= 93.2


def test_probes_and_flows_tell_the_same(results: dumbbell.Results) -> None:
    answered = results.probes.filter(
        (pl.col("queue") == "codel") & (pl.col("flow") == "icmp") & (pl.col("delay_ns") >= 0)
    )
    flow = results.flows.filter((pl.col("queue") == "codel") & (pl.col("flow") == "icmp"))
    assert answered["delay_ns"].mean() == pytest.approx(flow["rtt_mean_ns"][0], rel=1e-9)
    assert answered["delay_ns"].min() == flow["rtt_min_ns"][0]


def test_queues_tell_the_state_of_their_discipline(results: dumbbell.Results) -> None:
    rows = results.queues.filter(pl.col("pipe") == "client-modem/forward")
    codel = rows.filter((pl.col("queue") == "codel") & (pl.col("sojourn_min_ns") >= 0))
    assert set(codel["qdisc"]) == {"htb"}
    assert codel.filter(pl.col("dropping") == 1).height > 10
    ordered = (codel["sojourn_min_ns"] <= codel["sojourn_mean_ns"]) & (
        codel["sojourn_mean_ns"] <= codel["sojourn_p99_ns"] + 1
    )
    assert ordered.all()
    fair = rows.filter(pl.col("queue") == "fq_codel")
    assert fair["old_flows"].max() in range(2, 12)
    last = codel.row(-1, named=True)
    assert last["dropped_packets"] == last["dropped_aqm_packets"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cdf", "rrul", "sojourn"])
def test_figures_of_load(results: dumbbell.Results, kind: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"where": {"queue": "codel"}}
    if kind == "cdf":
        options = {"flow": "icmp", "by": "queue"}
    figure = plot(results, kind, **options)
    named = {"cdf": "fq_codel", "rrul": "Upload (Mbit/s)", "sojourn": "CoDel's count"}[kind]
    text = figure.save(tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert named in json.dumps(figure.spec)


def flows_of(workload: str) -> list[str]:
    text = LINE.partition("workload:")[0] + f"workload: {workload}\nduration: 70 s\n"
    text = text.replace("$up", "1 Mbit/s").replace("$queue", "codel")
    cell = load_text(text, Path("w.yaml")).cells[0]
    return [flow["name"] for flow in json.loads(cell.scenario)["flows"]]


def test_workloads_are_flows() -> None:
    ends = "client: client, server: server"
    rrul = flows_of(f"{{rrul: {{{ends}, up: 1, down: 2}}}}")
    assert rrul == ["up1", "down1", "down2", "icmp", "udp_be", "udp_bk", "udp_ef"]
    assert len(flows_of(f"{{tcp_nup: {{{ends}}}}}")) == 13
    assert flows_of(f"{{tcp_ndown: {{{ends}, streams: 1}}}}") == ["down1", "icmp"]
    fair = flows_of("{rtt_fair: {client: client, servers: [server]}}")
    assert fair == ["up1", "down1", "icmp1"]


def test_a_cell_under_load_in_a_row(results: dumbbell.Results) -> None:
    rows = {row["queue"]: row for row in load_summary.rows(results)}
    assert list(rows) == ["drop-tail", "codel", "fq_codel"]
    assert rows["codel"]["loaded_ms"] > rows["codel"]["idle_ms"] >= 30
    heard = METRICS["voice_mos"].measure(results).filter(pl.col("queue") == "codel")["value"]
    # The mean as everywhere; the worst call is named so.
    assert rows["codel"]["voice_mos"] == pytest.approx(heard.mean())
    assert rows["codel"]["voice_mos_worst"] == heard.min() < heard.max()
    shown = load_summary.table(results)
    assert shown is not None
    (drawn,) = [one for one in shown.renderables if isinstance(one, Table)]
    assert drawn.row_count == 3


def test_speech_quality_is_one_number_in_sentences_and_tables(results: dumbbell.Results) -> None:
    every = cells(results)
    told = {one.words: one.values for one in quantities(every, results)}
    table = [row["voice_mos"] for row in load_summary.rows(results)]
    assert told["speech quality (MOS, 1–4.5)"] == pytest.approx(table)


def test_the_rtt_of_pings_is_of_pings_alone(tmp_path: Path) -> None:
    """One-way delays of a call beside them are half of it, and are not in its mean."""
    file = Path(__file__).parent / "metamorphic" / "files" / "call.yaml"
    found = dumbbell.run(file, set={"queue": "fq_codel"})
    round_trips = METRICS["latency_ms"].measure(found)
    assert round_trips["flow"].to_list() == ["ping"]
    # Phone and peer are 5 + 10 + 10 ms apart.
    assert METRICS["latency_p50_ms"].measure(found)["value"][0] >= 50
    one_way = METRICS["one_way_delay_ms"].measure(found)
    assert sorted(one_way["flow"]) == ["speech", "video"]
    assert all(20 <= value < 50 for value in one_way["value"])


def test_a_short_flow_beside_a_long_one_does_not_count_with_its_whole_life(tmp_path: Path) -> None:
    """The time of load is that of the short flow. A line of 10 Mbit/s carries no more in it."""
    file = tmp_path / "unequal.yaml"
    file.write_text(
        """\
dumbbell: 1
name: unequal
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}
flows:
  - {from: s1, to: d1, tcp: cubic}
  - {from: d1, to: s1, ping: 100 ms}
  - {from: s2, to: d2, tcp: {congestion_control: cubic, bytes: 500 KiB}, start: 5 s}
duration: 10 s
""",
        encoding="utf-8",
    )
    values = METRICS["download_mbps"].measure(dumbbell.run(file))["value"].to_list()
    assert len(values) == 1 and 6 < values[0] < 10 * 1448 / 1514


def test_a_policer_is_what_a_link_can_carry(tmp_path: Path) -> None:
    file = tmp_path / "policed.yaml"
    file.write_text(
        """\
dumbbell: 1
name: policed
template:
  dumbbell:
    pairs: 1
    rate: 50 Mbit/s
    rtt: 20 ms
    buffer: 100 packets
    forward: {policer: {rate: 10 Mbit/s, burst: 200 KiB}}
flows: [{from: s1, to: d1, tcp: bbr}]
duration: 10 s
""",
        encoding="utf-8",
    )
    found = METRICS["utilisation"].measure(dumbbell.run(file))
    (used,) = found.filter(found["pipe"] == "bottleneck/forward")["value"].to_list()
    assert 0.9 < used <= 1.05


def test_the_use_of_a_line_of_cells_is_not_known(tmp_path: Path) -> None:
    """CAKE counts cells of 53 bytes: a full line is not underused."""
    file = tmp_path / "cells.yaml"
    file.write_text(
        """\
dumbbell: 1
name: cells
template:
  dumbbell:
    pairs: 1
    rtt: 40 ms
    forward: {queue: {cake: {bandwidth: 20 Mbit/s, overhead: 44 bytes, atm: atm}}}
flows: [{from: s1, to: d1, tcp: cubic}]
duration: 5 s
""",
        encoding="utf-8",
    )
    results = dumbbell.run(file)
    for metric in ("utilisation", "link_use"):
        found = METRICS[metric].measure(results)
        values = found.filter(found["pipe"] == "bottleneck/forward")["value"].to_list()
        assert len(values) == 1 and math.isnan(values[0]), metric
