"""Which columns each engine fills is what the catalogue says: neither more nor less."""

from __future__ import annotations

import io
import math
from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.catalogue import known_columns
from dumbbell.engines import Monitor, Run, engine_named
from dumbbell.experiment import load_text
from dumbbell.metrics import METRICS
from dumbbell.metrics.engines import known_on
from dumbbell.metrics.unmeasured import unmeasured
from dumbbell.trace import read_hops, read_trace
from tests.helpers import ROOT

#: Everything at once: all kinds of traffic, CoDel, PIE, RED and FQ-CoDel, scripted loss.
MIXED = """\
dumbbell: 1
name: mixed
hosts: {a: {tcp_ecn: 1}, b: {}, c: {}, d: {tcp_ecn: 1}}
routers: {r: {}, q: {}}
links:
  - {name: a1, between: [a, r], delay: 1 ms}
  - {name: a2, between: [a, r], netem: {delay: 6 ms, jitter: 6 ms, limit: 1000 packets}}
  - {name: c, between: [c, r], delay: 1 ms,
     forward: {rate: 5 Mbit/s, queue: {pie: {limit: 100 packets}}}}
  - {name: line, between: [r, q], delay: 5 ms, rate: 8 Mbit/s,
     forward: {queue: {codel: {limit: 100 packets, ecn: true}}},
     backward: {queue: {fq_codel: {limit: 200 packets}}}}
  - {name: b, between: [q, b], delay: 1 ms,
     forward: {loss: {scripted: [{flow: cubic, nth: [20, 21, 60]}]}}}
  - {name: d, between: [q, d], delay: 1 ms,
     forward: {rate: 2 Mbit/s, queue: {red: {min: 5 KiB, max: 20 KiB, limit: 100 KiB}}}}
taps: [{name: t, at: r, link: line}]
flows:
  - {name: cubic, group: g, from: a, to: b, tcp: {congestion_control: cubic, bytes: 1 MiB}}
  - {name: bbr, from: c, to: b, tcp: bbr}
  - {name: ecn, from: a, to: d, tcp: reno}
  - {name: m, from: a, to: b, mptcp: {congestion_control: cubic, bytes: 500 KiB}}
  - {name: voice, from: a, to: b, voice: g711}
  - {name: udp, from: c, to: d, udp: 500 kbit/s}
  - {name: ping, from: b, to: a, ping: 100 ms}
pages:
  - {name: page, client: b, server: a,
     objects: [{name: index, size: 20 KiB}, {name: image, size: 10 KiB, after: index}]}
sampling: {interval: 50 ms, keep: [samples, queues, drops, probes],
           packets: {from: 0 s, to: 300 ms}}
duration: 4 s
"""
#: One flow alone, whose drops a kernel can tell, and its hops.
SINGLE = """\
dumbbell: 1
name: single
template: {dumbbell: {rate: 4 Mbit/s, rtt: 20 ms, buffer: 5 packets}}
flows: [{name: f, from: s1, to: d1, tcp: cubic}]
sampling: {hops: {from: 0 s, to: 2 s}}
duration: 2 s
"""


PROGRAM = """\
dumbbell: 1
name: program
template: {dumbbell: {rate: 4 Mbit/s, rtt: 20 ms, buffer: 5 packets}}
programs:
  - {name: good, on: s1, run: [sh, -c, "echo said; echo and more >&2; echo kept > file"]}
  - {name: killed, on: s1, run: [sleep, "10"]}
  - {name: server, on: d1, run: [python3, -c, "import socket\\n\
s = socket.create_server(('', 5000))\\nc, _ = s.accept()\\nwhile c.recv(65536): pass\\n"]}
  - {name: client, on: s1, start: 50 ms, run: [python3, -c, "import socket\\n\
c = socket.create_connection(('{d1}', 5000))\\nc.sendall(bytes(100_000))\\n"]}
duration: 300 ms
"""


def known(frame: pl.DataFrame) -> set[str]:
    """The columns that some row knows."""
    found = set()
    for name, column in zip(frame.columns, frame.iter_columns(), strict=True):
        if column.dtype == pl.String:
            there = column != ""
        elif column.dtype == pl.Float64:
            there = column.is_not_nan()
        else:
            there = column != -1
        if there.any():
            found.add(name)
    return found


def tables(engine: str, text: str) -> dict[str, pl.DataFrame]:
    """The tables of one run."""
    cell = load_text(text, Path("one.yaml")).cells[0]
    result = engine_named(engine).execute(Run("one", cell.scenario, 1, cell.duration_ns), Monitor())
    return {name: pl.read_ipc_stream(io.BytesIO(data)) for name, data in result.tables.items()}


def compare(origin: str, found: dict[str, set[str]]) -> None:
    """Every table has the known columns of the catalogue, and no others."""
    for name, columns in known_columns()[origin].items():
        there = found.get(name, set())
        assert sorted(there - columns) == [], (
            f"{origin} fills these of {name}, which it cannot know"
        )
        assert sorted(columns - there) == [], f"{origin} leaves these of {name} unknown"


@pytest.mark.parametrize("engine", ["sim", pytest.param("linux", marks=pytest.mark.kernel)])
def test_an_engine_knows_what_the_catalogue_says(engine: str) -> None:
    texts = (MIXED, SINGLE) if engine == "sim" else (MIXED, SINGLE, PROGRAM)
    runs = [tables(engine, text) for text in texts]
    names = {name for run in runs for name in run}
    found = {name: [known(run[name]) for run in runs if name in run] for name in names}
    compare(engine, {name: set().union(*columns) for name, columns in found.items()})


#: Short flows, for metrics of arrivals.
ARRIVALS = """\
dumbbell: 1
name: arrivals
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 20 packets}}
arrivals: [{name: a, from: s1, to: d1, per_second: 30, size: 30 kB, tcp: cubic}]
duration: 2 s
"""


@pytest.mark.kernel
def test_a_metric_is_known_on_the_engines_that_it_names(tmp_path: Path) -> None:
    """Of the metrics that the simulator has for these experiments."""
    known_to: dict[str, set[str]] = {"sim": set(), "linux": set()}
    for text in (MIXED, SINGLE, ARRIVALS):
        path = tmp_path / "one.yaml"
        path.write_text(text, encoding="utf-8")
        for engine, names in known_to.items():
            run = dumbbell.run(path, engine=engine)
            for name, metric in METRICS.items():
                values = metric.computed(run)["value"].drop_nans()
                # A flow that retransmits nothing has no spurious retransmission.
                if engine == "linux" and name == "spurious_share":
                    assert not (values > 0).any()
                elif not values.is_empty():
                    names.add(name)
    assert len(known_to["sim"]) > 80
    here = {name for name in known_to["sim"] if "linux" in known_on(name)}
    assert known_to["linux"] == here


@pytest.mark.kernel
def test_what_an_engine_does_not_know_is_said(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(SINGLE, encoding="utf-8")
    run = dumbbell.run(path, engine="linux")
    said = unmeasured(METRICS["timeouts"], run)
    assert said.endswith(": the engine linux does not know it (docs/metrics.md)")


#: Metrics with a second definition where a column is unknown, as their formula says.
OTHERWISE_DEFINED = {
    *((f"queue_delay_p{percent}_ms", "queues.sojourn_mean_ns") for percent in (10, 50, 95)),
    *((name, "flows.srtt_mean_ns") for name in ("rtt_ms", "tcp_rtt_ms")),
    ("datagram_loss_ratio", "flows.dropped_packets"),
}


@pytest.mark.slow
def test_an_unknown_column_makes_no_number(tmp_path: Path) -> None:
    """Without a column, a metric is what it was before, or unknown; never another number."""
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED, encoding="utf-8")
    run = dumbbell.run(path, workers=1)
    was = {name: metric.measure(run) for name, metric in METRICS.items()}
    for table, column in columns_that_may_be_unknown(run):
        frame: pl.DataFrame = getattr(run, table)
        nothing = pl.lit(
            float("nan") if frame[column].dtype == pl.Float64 else -1, frame[column].dtype
        )
        hidden = run.with_tables(**{table: frame.with_columns(nothing.alias(column))})
        for name, metric in METRICS.items():
            if (name, f"{table}.{column}") in OTHERWISE_DEFINED:
                continue
            pairs = zip(was[name]["value"], metric.measure(hidden)["value"], strict=True)
            for before, after in pairs:
                assert math.isnan(after) or before == after, f"{name} without {table}.{column}"


def columns_that_may_be_unknown(run: dumbbell.Results) -> list[tuple[str, str]]:
    """Numbers of all tables but times, which say "never" and not "unknown"."""
    found = []
    for table in known_columns()["sim"]:
        frame: pl.DataFrame = getattr(run, table)
        for name, kind in frame.schema.items():
            moment = name.endswith("_ns") and kind == pl.Int64 and "rtt" not in name
            if kind.is_numeric() and name not in ("repeat", "seed") and not moment:
                found.append((table, name))
    return found


def test_a_trace_knows_what_the_catalogue_says() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests" / "traces").glob("*.gz")):
        for trace in (read_trace(path), read_hops(path)):
            for name, frame in trace.tables.items():
                found.setdefault(name, set()).update(known(frame))
    compare("trace", found)


@pytest.mark.parametrize("engine", ["sim", pytest.param("linux", marks=pytest.mark.kernel)])
def test_udp_and_ping_have_no_columns_of_tcp(engine: str) -> None:
    run = tables(engine, MIXED)
    for kind in ("udp", "ping"):
        flows = run["flows"].filter(pl.col("kind") == kind)
        of_tcp = (
            "retransmitted",
            "timeouts",
            "recoveries",
            "undos",
            "cwnd",
            "in_flight",
            "srtt",
            "tap",
        )
        assert [name for name in known(flows) if name.startswith(of_tcp)] == []
        samples = run["samples"].join(flows.select("flow"), on="flow", how="semi")
        assert known(samples) <= {"run", "time_ns", "flow", "delivered_bytes"}
    (ping,) = run["flows"].filter(pl.col("kind") == "ping").to_dicts()
    assert ping["sent_bytes"] == (14 + 20 + 8 + 56) * ping["sent_packets"] > 0
    assert "cwnd_packets" in known(run["samples"].filter(pl.col("flow") == "cubic"))
