"""Event traces: written from runs, read from ns-2 and ns-3, counted again by awk."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.animation.page import page as animated
from dumbbell.animation.sources import scene_of_trace
from dumbbell.cli import app
from dumbbell.errors import DumbbellError
from dumbbell.results import Results
from dumbbell.trace import Trace, read_hops, read_trace
from dumbbell.trace.page import page
from dumbbell.trace.write import write_traces

#: A line of ns-2.
GOOD = "+ 1 0 1 tcp 1000 ------- 1 0.0 1.0 0 0\n"
TRACES = Path(__file__).parent / "traces"
NS_EXAMPLES = Path("/usr/share/doc/ns2/examples/tcl/ex")

#: Queues of every kind, spraying, loss, pings, fragments: what a trace must bear.
EXPERIMENT = """\
dumbbell: 1
name: many
hosts: {s1: {}, s2: {}, d1: {}, d2: {}}
routers: {r1: {}, r2: {}, r3: {}}
links:
  - {between: [s1, r1], delay: 1 ms}
  - {between: [s2, r1], delay: 2 ms, loss: 0.3 %}
  - {between: [r1, r2], name: first, rate: 6 Mbit/s, delay: 10 ms, buffer: 15 packets}
  - between: [r2, r3]
    name: second
    forward: {rate: 5 Mbit/s, delay: 5 ms, queue: {fq_codel: {limit: 100 packets, target: 5 ms}}}
    backward: {rate: 1 Mbit/s, delay: 5 ms, buffer: 50 packets}
  - {between: [r3, d1], delay: 1 ms}
  - {between: [r3, d2], delay: 1 ms}
flows:
  - {name: bulk, from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 1 MB}}
  - {name: reno, from: s2, to: d2, start: 200 ms, tcp: {congestion_control: reno, bytes: 500 KB}}
  - {name: voice, from: s2, to: d1, start: 1.234 ms, udp: {rate: 0.3 Mbit/s, datagram: 400 bytes}}
  - {name: probe, from: s1, to: d2, start: 2.345 ms, ping: {interval: 50 ms}}
sampling: {interval: 50 ms, keep: [samples, queues, drops], hops: {to: 8 s}}
duration: 8 s
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    file = tmp_path_factory.mktemp("many") / "many.yaml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    return dumbbell.run(file)


@pytest.fixture(scope="module")
def path(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (written,) = write_traces(results, tmp_path_factory.mktemp("traces"))
    return written


@pytest.fixture(scope="module")
def trace(path: Path) -> Trace:
    return read_trace(path)


def awk(path: Path, program: str) -> list[float]:
    """The numbers that awk prints."""
    done = subprocess.run(["awk", program, str(path)], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def plain(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(gzip.decompress((TRACES / f"{name}.gz").read_bytes()))
    return path


# From a run to a trace and back


@pytest.mark.slow
def test_hops_come_back_as_they_were(results: Results, path: Path) -> None:
    again = read_hops(path).tables["hops"]
    same = [
        "offered_ns",
        "leaves_ns",
        "ended_ns",
        "pipe",
        "flow",
        "direction",
        "packet_number",
        "kind",
        "frame_bytes",
        "seq_bytes",
        "payload_bytes",
    ]
    # Packets of a flow are numbered by sending; a trace meets them at their first link.
    order = ["offered_ns", "pipe", "flow", "direction", "packet_number"]
    ours = results.hops.sort(order)
    assert again.sort(order).select(same).equals(ours.select(same))
    tcp = ours["kind"].is_in(["tcp", "ack"])
    assert again.sort(order).filter(tcp)["tcp_flags"].equals(ours.filter(tcp)["tcp_flags"])
    assert again.sort(order).filter(tcp)["ack_bytes"].equals(ours.filter(tcp)["ack_bytes"])
    was_dropped = ours["dropped"] != ""
    assert (again.sort(order)["dropped"] != "").equals(was_dropped)
    assert was_dropped.sum() > 20
    # A trace knows that bytes were sent again, not why.
    assert ((again.sort(order)["cause"] != "") == (ours["cause"] != "")).all()


def test_tables_of_the_trace_equal_the_runs(results: Results, trace: Trace) -> None:
    ours = results.flows.sort("flow")
    theirs = trace.tables["flows"].sort("flow")
    columns = [
        "flow",
        "from_host",
        "to_host",
        "start_ns",
        "last_delivery_ns",
        "delivered_bytes",
        "sent_packets",
        "sent_bytes",
        "received_packets",
        "received_bytes",
        "dropped_packets",
    ]
    voice = pl.col("flow") != "probe"  # A ping delivers what it gets back.
    assert theirs.filter(voice).select(columns).equals(ours.filter(voice).select(columns))
    again = theirs.filter(pl.col("kind") == "tcp").select("flow", "retransmitted_packets")
    assert again.equals(
        ours.filter(pl.col("kind") == "tcp").select("flow", "retransmitted_packets")
    )
    counts = ["pipe", "arrived_packets", "arrived_bytes", "left_packets", "left_bytes"]
    pipes = trace.tables["pipes"].sort("pipe")
    known = results.pipes.filter(pl.col("pipe").is_in(pipes["pipe"].to_list())).sort("pipe")
    assert pipes.select(counts).equals(known.select(counts))
    limits = pipes.join(known, on="pipe").filter(pl.col("sojourn_mean_ns").is_not_nan())
    waits = limits["sojourn_mean_ns"] - limits["sojourn_mean_ns_right"]
    assert waits.abs().max() <= 1, "to the nanosecond"
    assert (limits["queue_max_packets"] == limits["queue_max_packets_right"]).all()


def test_queues_and_drops_over_time_equal_the_runs(results: Results, trace: Trace) -> None:
    times = trace.tables["queues"].filter(pl.col("time_ns") % 50_000_000 == 0)
    # A packet that comes at the nanosecond of a sample is after it in one, before it in the other.
    ties = results.hops.select(pl.col("offered_ns").alias("time_ns"), "pipe")
    joined = times.join(results.queues, on=["time_ns", "pipe"])
    joined = joined.join(ties, on=["time_ns", "pipe"], how="anti")
    assert joined.height > 100
    for column in ("queued_packets", "queued_bytes", "dropped_packets"):
        assert (joined[column] == joined[f"{column}_right"]).all(), column
    drops = trace.tables["drops"].sort("time_ns", "pipe", "seq_bytes")
    ours = results.drops.sort("time_ns", "pipe", "seq_bytes")
    assert drops.select("time_ns", "pipe", "flow").equals(ours.select("time_ns", "pipe", "flow"))


@pytest.mark.slow
def test_the_usual_awk_one_liners_count_the_same(results: Results, path: Path) -> None:
    scenario = json.loads(results.runs["scenario"][0])
    node = {one["name"]: number for number, one in enumerate(scenario["nodes"])}
    flow = {one["name"]: number for number, one in enumerate(scenario["flows"], start=1)}
    rows = {row["flow"]: row for row in results.flows.iter_rows(named=True)}
    arrived = f'$1=="r" && $4=={node["d1"]} && $8=={flow["bulk"]} {{s+=$6}} END {{print s}}'
    assert awk(path, arrived) == [rows["bulk"]["received_bytes"]]
    sent = f'$1=="+" && $3=={node["s2"]} && $8=={flow["reno"]} {{n++}} END {{print n}}'
    assert awk(path, sent) == [rows["reno"]["sent_packets"]]
    lost = '$1=="d" {n++} END {print n}'
    assert awk(path, lost) == [results.drops.height]
    # Mean delay by packet id, and the longest queue, as every course teaches them.
    delay = (
        f'$8=={flow["voice"]} && $1=="+" && $3=={node["s2"]} {{t[$12]=$2}} '
        f'$8=={flow["voice"]} && $1=="r" && $4=={node["d1"]} {{s+=$2-t[$12]; n++}} '
        'END {printf "%.9f", s/n}'
    )
    streams = read_trace(path).about["streams"]
    voice = next(one for one in streams if one["flow"] == "voice")
    assert awk(path, delay)[0] == pytest.approx(voice["delay"]["mean_ns"] / 1e9, abs=2e-9)
    pair = f"$3=={node['r1']} && $4=={node['r2']}"
    longest = (
        f'$1=="+" && {pair} {{q++}} ($1=="-" || $1=="d") && {pair} {{q--}} '
        "{if (q>m) m=q} END {print m}"
    )
    first = results.pipes.filter(pl.col("pipe") == "first/forward").row(0, named=True)
    # awk counts the packet that comes and is dropped, or leaves at once, as queued.
    assert awk(path, longest)[0] - first["queue_max_packets"] in (0, 1)


@pytest.mark.slow
def test_a_trace_can_be_written_by_the_command(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(EXPERIMENT.replace("duration: 8 s", "duration: 1 s"), encoding="utf-8")
    command = ["run", str(file), "--store", str(tmp_path / "s"), "--traces", str(tmp_path / "t")]
    assert CliRunner().invoke(app, command).exit_code == 0
    found = CliRunner().invoke(app, ["trace", str(tmp_path / "t" / "many-0.tr")])
    assert found.exit_code == 0 and "r1 → r2" in found.stdout, found.output
    bare = file.with_name("bare.yaml")
    bare.write_text(file.read_text().replace(", hops: {to: 8 s}", ""), encoding="utf-8")
    refused = CliRunner().invoke(app, ["run", str(bare), "--traces", str(tmp_path / "t")])
    assert refused.exit_code == 2
    assert "keeps no packet events" in refused.stderr


# ns-2 and ns-3


@pytest.mark.parametrize("name", ["tcpecn.tr", "simple-rtg.tr"])
def test_ns_2_traces_are_read_without_loss(name: str, tmp_path: Path) -> None:
    check_ns_2(plain(name, tmp_path))


@pytest.mark.peers("ns")
@pytest.mark.skipif(not NS_EXAMPLES.is_dir(), reason="no examples of ns-2 are installed")
@pytest.mark.parametrize("script", ["simple", "tcpecn", "simple-rtg", "example", "fq"])
def test_ns_2_examples_run_here_are_read_without_loss(script: str, tmp_path: Path) -> None:
    source = (NS_EXAMPLES / f"{script}.tcl").read_text()
    # The desktop programs that they open are left out.
    program = re.sub(r"^(\s*)exec\b", r"\1#exec", source, flags=re.MULTILINE)
    (tmp_path / "run.tcl").write_text(program)
    run = subprocess.run(
        ["ns", "run.tcl"], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert (tmp_path / "out.tr").exists(), run.stderr
    check_ns_2(tmp_path / "out.tr")


def check_ns_2(path: Path) -> None:
    trace = read_trace(path)
    # fq.tcl traces its links twice: each line stands there once more.
    once = path.with_suffix(".once")
    once.write_text(subprocess.run(["uniq", str(path)], capture_output=True, text=True).stdout)
    again = len(path.read_text().splitlines()) - len(once.read_text().splitlines())
    assert sum(problem["lines"] for problem in trace.about["problems"]) == again
    path = once
    assert awk(path, "$1 ~ /^[+rd-]$/ {n++} END {print n}") == [trace.about["events"]]
    assert awk(path, '$1=="d" {n++} END {print n+0}') == [trace.about["dropped_packets"]]
    pipes = {row["pipe"]: row for row in trace.tables["pipes"].iter_rows(named=True)}
    for link in trace.about["links"]:
        row = pipes[link["pipe"]]
        pair = f"$3=={link['from']} && $4=={link['to']}"
        counted = awk(
            path,
            f'$1=="+" && {pair} {{a++; b+=$6}} $1=="r" && {pair} {{r++; s+=$6}} '
            "END {print a+0, b+0, r+0, s+0}",
        )
        assert counted == [
            row["arrived_packets"],
            row["arrived_bytes"],
            row["left_packets"],
            row["left_bytes"],
        ]
    hops = read_hops(path).tables["hops"]
    assert hops.height == sum(row["arrived_packets"] for row in pipes.values())
    assert hops.filter(pl.col("dropped") != "").height == trace.about["dropped_packets"]
    scene = scene_of_trace(path)
    assert scene.hops.height == hops.height
    assert len(animated(scene)) > 100_000
    for row in trace.tables["flows"].iter_rows(named=True):
        assert row["delivered_bytes"] <= row["received_bytes"] <= row["sent_bytes"]


def test_rates_of_links_are_found(tmp_path: Path) -> None:
    """tcpecn.tcl: 10 Mbit/s to the router, 1.5 Mbit/s and 15 ms behind it."""
    trace = read_trace(plain("tcpecn.tr", tmp_path))
    rates = dict(trace.tables["pipes"].select("pipe", "rate_bps").rows())
    assert rates["2-3/forward"] == pytest.approx(1.5e6, rel=1e-3)
    assert rates["0-2/forward"] == pytest.approx(10e6, rel=1e-3)
    assert sum(one["retransmitted_packets"] for one in trace.about["streams"]) > 0


def test_a_link_that_fails_is_told(tmp_path: Path) -> None:
    remarks = read_trace(plain("simple-rtg.tr", tmp_path)).about["remarks"]
    assert {"time_ns": 2_500_000_000, "text": "link-down 1 0"} in remarks


def test_ns_3_traces_are_read(tmp_path: Path) -> None:
    path = plain("ns3.tr", tmp_path)
    trace = read_trace(path)
    assert trace.about["format"] == "ns-3"
    assert trace.about["problems"] == []
    assert awk(path, "END {print NR}") == [trace.about["events"]]
    arrived = trace.tables["pipes"]["arrived_packets"].sum()
    assert awk(path, '$1=="+" {n++} END {print n}') == [arrived]
    assert [flow["flow"] for flow in trace.about["flows"]] == [
        "tcp 10.1.1.1:49153→10.2.1.1:9",
        "udp 10.1.2.1:49153→10.2.2.1:10",
    ]
    ends = {(link["from"], link["to"]) for link in trace.about["links"]}
    assert ends == {
        ("0", "1"),
        ("1", "0"),
        ("2", "0"),
        ("0", "2"),
        ("3", "0"),
        ("1", "4"),
        ("4", "1"),
        ("1", "5"),
    }
    rates = dict(trace.tables["pipes"].select("pipe", "rate_bps").rows())
    assert rates["0-1/forward"] == pytest.approx(2e6, rel=0.01)
    (udp,) = (one for one in trace.about["streams"] if one["flow"].startswith("udp"))
    assert udp["delay"]["min_ns"] >= 14_000_000, "2 + 10 + 2 ms of propagation"


def test_compressed_and_standard_input_are_read(tmp_path: Path) -> None:
    whole = read_trace(plain("tcpecn.tr", tmp_path))
    packed = read_trace(TRACES / "tcpecn.tr.gz")
    assert packed.about == whole.about


def test_wireless_traces_of_ns_2_are_read(tmp_path: Path) -> None:
    """A transfer over two hops; one packet of three is given up by routing."""
    path, lines = tmp_path / "w.tr", []
    for number in range(3):
        rest = f"{number} tcp 1040 [0 0 0 0] ------- [0:0 2:0 32 1] [{number} 0] 0 0"
        lines.append(f"s {number}.000000000 _0_ AGT  --- {rest}")
        lines.append(f"f {number}.100000000 _1_ RTR  --- {rest}")
        end = "D {}.2 _1_ RTR  CBK" if number == 1 else "r {}.2 _2_ AGT  ---"
        lines.append(f"{end.format(number)} {rest}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    trace = read_trace(path)
    (flow,) = trace.tables["flows"].to_dicts()
    assert (flow["sent_packets"], flow["received_packets"], flow["dropped_packets"]) == (3, 2, 1)
    assert (flow["from_host"], flow["to_host"]) == ("0", "2")
    (problem,) = trace.about["problems"]
    assert (problem["lines"], "an event of routing (RTR)" in problem["message"]) == (3, True)
    assert CliRunner().invoke(app, ["trace", str(path)]).exit_code == 0


# Bad input


def test_names_that_are_none_are_refused(path: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.json"
    names.write_text("[]", encoding="utf-8")
    with pytest.raises(DumbbellError, match="no names of a trace"):
        read_trace(path, names=names)
    other = tmp_path / "some.tr"
    other.write_text(GOOD, encoding="utf-8")
    other.with_name("some.tr.json").write_text('{"mine": 1}', encoding="utf-8")
    assert read_trace(other).names is None, "a file that happens to be called so is left alone"


def test_a_trace_is_not_written_over(path: Path) -> None:
    otherwise = path.parent / "." / ".." / path.parent.name / path.name
    for command in (
        ["trace", str(path), "--json", str(otherwise)],
        ["trace", str(path), "--html", str(path)],
        ["animate", str(path), "-o", str(otherwise)],
    ):
        found = CliRunner().invoke(app, command)
        assert found.exit_code == 2 and "would be lost" in found.stderr, found.output


@pytest.mark.slow
def test_outputs(path: Path, trace: Trace, tmp_path: Path) -> None:
    for command in (["trace", str(path), "--json"], ["trace", "--json", str(path)]):
        found = json.loads(CliRunner().invoke(app, command).stdout)
    assert found["events"] == trace.about["events"]
    assert {row["flow"] for row in found["tables"]["flows"]} == {"bulk", "reno", "voice", "probe"}
    target = tmp_path / "out"
    options = ["--parquet", str(target), "--html", str(tmp_path / "page.html")]
    assert CliRunner().invoke(app, ["trace", str(path), *options]).exit_code == 0
    assert pl.read_parquet(target / "flows.parquet").equals(trace.tables["flows"])
    text = page(trace)
    assert "Packets waiting" in text and "first/forward" in text
