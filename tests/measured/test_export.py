"""Files of other formats, written from runs and read again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.cli.store import FORMATS as NAMED
from dumbbell.export.formats import FORMATS, LATEX
from dumbbell.export.latex import escaped, table
from dumbbell.measured.formats import format_named, read_as
from dumbbell.metrics import METRICS
from dumbbell.results import Results
from dumbbell.store import Store
from dumbbell.store.importing import Chosen, add_files

EXPERIMENT = """\
dumbbell: 1
name: up & down
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
taps: [{name: t, at: r1, link: bottleneck}]
flows:
  - {name: one, from: s1, to: d1, tcp: cubic}
  - {name: two, from: s1, to: d1, tcp: cubic, start: 1 s}
  - {name: back, from: d1, to: s1, tcp: cubic}
sampling: {interval: 100 ms, keep: [samples], packets: {from: 0 s, to: 4 s}}
duration: 4 s
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Results]:
    folder = tmp_path_factory.mktemp("export")
    path = folder / "one.yaml"
    path.write_text(EXPERIMENT, encoding="utf-8")
    return folder / "s", dumbbell.run(path, store=folder / "s", workers=1)


def exported(store: Path, folder: Path, form: str) -> list[Path]:
    words = ["store", "export", str(store), "-o", str(folder), "--format", form]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return sorted(folder.iterdir())


def imported(files: list[Path], store: Path) -> Results:
    done = add_files(files, store, Chosen())
    assert not done.refused and done.runs == len(files)
    with Store(store, write=False) as opened:
        return opened.results()


def values(results: Results, metric: str) -> dict[str, float]:
    found = METRICS[metric].measure(results).drop_nans("value")
    return dict(found.select("flow", "value").iter_rows())


def test_the_verb_names_every_format() -> None:
    assert ("parquet", "csv", *FORMATS, LATEX) == NAMED


def test_a_report_of_iperf3(run: tuple[Path, Results], tmp_path: Path) -> None:
    store, results = run
    files = exported(store, tmp_path / "out", "iperf3")
    found = imported(files, tmp_path / "s")
    names = {"one": "tcp-1", "two": "tcp-2", "back": "tcp-back-1"}
    for metric in ("goodput_mbps", "retransmissions", "cwnd_max_packets", "srtt_mean_ms"):
        before = {names[flow]: value for flow, value in values(results, metric).items()}
        assert values(found, metric) == pytest.approx(before, rel=1e-9), metric
    report = json.loads(files[0].read_text(encoding="utf-8"))
    total = sum(values(results, "goodput_mbps")[flow] for flow in ("one", "two"))
    # Over the time from the first begin to the last end.
    assert report["end"]["sum_received"]["bits_per_second"] < 1e6 * total
    own = found.samples.filter(found.samples["flow"] == "tcp-1").sort("time_ns")
    kept = results.samples.filter(results.samples["flow"] == "one").sort("time_ns")
    totals = {*kept["delivered_bytes"], *results.flows["delivered_bytes"]}
    assert set(own["delivered_bytes"]) <= totals


def test_directions_of_a_report_are_those_of_its_end(
    run: tuple[Path, Results], tmp_path: Path
) -> None:
    (path,) = exported(run[0], tmp_path / "iperf3", "iperf3")
    report = json.loads(path.read_bytes())
    ends = {one["receiver"]["socket"]: one["receiver"] for one in report["end"]["streams"]}
    for interval in report["intervals"]:
        for one in interval["streams"]:
            assert one["sender"] == ends[one["socket"]]["sender"]
    # The intervals have bytes as received, and sums are over the time of their streams.
    assert read_as(format_named("iperf3"), path.read_bytes()).notes == []


def test_a_flow_that_stops_early_keeps_its_goodput_in_flent(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("to: s1, tcp: cubic", "to: s1, tcp: cubic, stop: 2 s")
    path = tmp_path / "one.yaml"
    path.write_text(text, encoding="utf-8")
    results = dumbbell.run(path, store=tmp_path / "s", workers=1)
    (file,) = exported(tmp_path / "s", tmp_path / "flent", "flent")
    again = values(imported([file], tmp_path / "again"), "goodput_mbps")
    assert again == pytest.approx(values(results, "goodput_mbps"), rel=1e-6)


def test_logs_of_tcp(run: tuple[Path, Results], tmp_path: Path) -> None:
    store, results = run
    files = exported(store, tmp_path / "out", "qlog")
    assert len(files) == 3
    for path in files:
        records = [json.loads(one) for one in path.read_bytes().split(b"\x1e") if one]
        assert records[0]["serialization_format"] == "application/qlog+json-seq"
        kinds = {one["name"] for one in records[1:]}
        assert kinds == {"recovery:metrics_updated", "recovery:congestion_state_updated"}
        times = [one["time"] for one in records[1:]]
        assert times == sorted(times)
    found = imported(files, tmp_path / "s")
    assert set(found.flows["flow"]) == {"one", "two", "back"}
    for flow in ("one", "two", "back"):
        before = results.samples.filter(results.samples["flow"] == flow)
        after = found.samples.filter(found.samples["flow"] == flow)
        for column in ("cwnd_packets", "srtt_ns", "rttvar_ns", "delivered_bytes"):
            # An event has what changed; a value that is not there is that before.
            known = {
                time: value
                for time, value in after.select("time_ns", column).iter_rows()
                if value >= 0
            }
            last = -1
            for time, value in before.select("time_ns", column).iter_rows():
                last = known.get(time, last)
                assert last == value, (flow, column, time)


def test_graphs_of_xplot(run: tuple[Path, Results], tmp_path: Path) -> None:
    store, results = run
    files = exported(store, tmp_path, "xplot")
    assert [one.stem.rsplit("-", 1)[1] for one in files] == ["back_t", "one_t", "two_t"]
    for path in files:
        flow = path.stem.rsplit("-", 1)[1].removesuffix("_t")
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[0] == "timeval double" and lines[-1] == "go"
        row = results.flows.filter(results.flows["flow"] == flow).row(0, named=True)
        assert sum(one.startswith("uarrow") for one in lines) == row["tap_data_packets"]
        assert lines.count("R") == row["tap_retransmissions"] > 0
        commands = r"(uarrow|darrow|atext) [\d.]+ \d+|line [\d.]+ \d+ [\d.]+ \d+|[a-z]+|R"
        assert all(re.fullmatch(commands, one) for one in lines[6:])


def test_a_table_for_latex(run: tuple[Path, Results], tmp_path: Path) -> None:
    store, results = run
    (path,) = exported(store, tmp_path, "latex")
    text = path.read_text(encoding="utf-8")
    assert text == table(results)
    lines = text.splitlines()
    assert lines[0].startswith(r"% up \& down: ")
    assert [one for one in lines if one.startswith("\\")] == [
        r"\begin{tabular}{lrrrr}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    goodput = values(results, "goodput_mbps")
    row = next(one for one in lines if one.startswith("one &")).removesuffix(r" \\").split(" & ")
    assert float(row[1].strip("$")) == pytest.approx(goodput["one"], rel=1e-2)
    assert len(row) == 5


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a_b & 5 %", r"a\_b \& 5 \%"),
        ("\\x{}^~#$", r"\textbackslash{}x\{\}\textasciicircum{}\textasciitilde{}\#\$"),
        ("a→b\n", r"a$\to$b "),
    ],
)
def test_characters_of_latex(text: str, printed: str) -> None:
    assert escaped(text) == printed


def test_what_is_not_kept_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    text = re.sub(r"(?m)^sampling.*$", "sampling: {keep: []}", EXPERIMENT)
    path.write_text(text, encoding="utf-8")
    dumbbell.run(path, store=tmp_path / "s", workers=1)
    for form, said in (("qlog", "no samples of a connection"), ("xplot", "no packets of TCP")):
        words = ["store", "export", str(tmp_path / "s"), "-o", str(tmp_path), "--format", form]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2 and said in done.output, done.output


def test_flows_of_two_pairs_go_the_same_way(tmp_path: Path) -> None:
    """Only a flow that swaps the ends of the first goes back."""
    text = (
        EXPERIMENT.replace("{dumbbell: {rate", "{dumbbell: {pairs: 2, rate")
        .replace("{name: two, from: s1, to: d1", "{name: two, from: s2, to: d2")
        .replace("  - {name: back, from: d1, to: s1, tcp: cubic}\n", "")
    )
    path = tmp_path / "two.yaml"
    path.write_text(text, encoding="utf-8")
    dumbbell.run(path, store=tmp_path / "s", workers=1)
    (file,) = exported(tmp_path / "s", tmp_path / "out", "iperf3")
    report = json.loads(file.read_text(encoding="utf-8"))
    assert [one["receiver"]["sender"] for one in report["end"]["streams"]] == [True, True]
    assert "sum_received_bidir_reverse" not in report["end"]
