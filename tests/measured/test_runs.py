"""Measured runs in a store: identity, tables, and what each verb does with them."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.catalogue import known_columns
from dumbbell.cli import app
from dumbbell.cli.import_ import FORMATS as NAMED
from dumbbell.measured.formats import FORMATS
from dumbbell.measured.values import TABLES
from dumbbell.metrics import METRICS
from dumbbell.results import Results
from dumbbell.store import Store
from dumbbell.store.importing import Chosen, add_files
from tests.measured.reports import encoded, tcp, udp
from tests.measured.samples import SAMPLES
from tests.measured.write_columns import MORE

SIZES = [[1_000_000, 2_000_000], [500_000, 250_000]]


def verb(*words: str | Path) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(one) for one in words])
    return found.exit_code, found.output


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a.json").write_bytes(encoded(tcp(SIZES, lost=1000)))
    (tmp_path / "b.json").write_bytes(encoded(tcp([[3_000_000, 1]])))
    (tmp_path / "u.json").write_bytes(encoded(udp(1000, 50, 5)))
    (tmp_path / "bare.csv").write_text("time_s,delivered_bytes\n1,1000000\n", encoding="utf-8")
    return tmp_path


def results(place: Path, *files: str, chosen: Chosen | None = None) -> Results:
    add_files([place / one for one in files], place / "s", chosen or Chosen())
    with Store(place / "s", write=False) as store:
        return store.results()


#: CSV with every column that is read, and with probes.
CSVS = [
    b"time_s,flow,congestion_control,"
    b"cwnd_packets,ssthresh_packets,in_flight_packets,lost_packets,retransmitted_packets,"
    b"delivered_bytes,acked_bytes,rwnd_bytes,srtt_ms,rttvar_ms,rtt_min_ms,rto_ms,pacing_mbps,"
    b"delivery_rate_mbps\n" + b"0.5,f,cubic" + b",1" * 14 + b"\n1,f,cubic" + b",2" * 14 + b"\n",
    b"time_s,ping_ms\n1,5\n2,6\n",
]


def test_the_catalogue_has_the_columns_that_formats_fill() -> None:
    """The origin `measured` of the page of tables."""
    files = [one.read(SAMPLES[name]) for name, one in FORMATS.items() if name != "csv"]
    files += [FORMATS["csv"].read(data) for data in CSVS]
    files += [FORMATS["iperf3"].read(data) for data in MORE["iperf3"]]
    filled: dict[str, set[str]] = {part: set() for part in TABLES}
    for file in files:
        for part in TABLES:
            filled[part] |= {key for row in getattr(file, part) for key in row}
    # Pages of Flent (`Series.add_transfer`).
    filled["transfers"] |= {"flow", "start_ns", "end_ns"}
    known = known_columns()["measured"]
    assert {part: sorted(known[part]) for part in TABLES} == {
        part: sorted(filled[part]) for part in TABLES
    }
    assert not any(columns for part, columns in known.items() if part not in TABLES)


def test_the_verb_names_every_format() -> None:
    assert tuple(FORMATS) == NAMED


def test_a_file_is_a_run_once(place: Path) -> None:
    first = results(place, "a.json", "b.json")
    assert first.runs["engine"].to_list() == ["measured:iperf3"] * 2
    assert first.experiment.factors == {"file": ["a", "b"]}
    (place / "copy.json").write_bytes((place / "a.json").read_bytes())
    done = add_files([place / "copy.json", place / "u.json"], place / "s", Chosen())
    assert (done.runs, done.known) == (1, [str(place / "copy.json")])
    with Store(place / "s", write=False) as store:
        again = store.results()
    assert again.experiment.factors == {"file": ["a", "b", "u"]}
    assert again.runs["run"].to_list()[:2] == first.runs["run"].to_list()
    assert again.runs["digest"].to_list()[:2] == first.runs["digest"].to_list()


def test_metrics_are_those_of_runs(place: Path) -> None:
    found = results(place, "a.json")
    goodput = dict(METRICS["goodput_mbps"].measure(found).select("flow", "value").iter_rows())
    assert goodput == {"tcp-1": pytest.approx(2.999e6 * 4e-6), "tcp-2": pytest.approx(2.996)}
    assert METRICS["srtt_mean_ms"].measure(found)["value"].to_list() == [21.0, 21.0]


def test_what_is_unknown_is_not_zero(place: Path) -> None:
    """Of a file that has bytes and times alone, no metric makes another number."""
    found = results(place, "bare.csv")
    known = {}
    for name, metric in METRICS.items():
        values = [one for one in metric.measure(found)["value"] if not math.isnan(one)]
        if values:
            known[name] = values
    # The share of the time in which flows are under way follows from their times alone, and the
    # one flow is as fair as can be.
    fair = {one: [1.0] for one in ("jain", "min_max_ratio", "product_fairness", "load_share")}
    assert known == {"goodput_mbps": [8.0], "total_goodput_mbps": [8.0], **fair}


def test_repeats_of_a_cell(place: Path) -> None:
    results(place, "a.json", "b.json", chosen=Chosen(levels={"cc": "cubic"}))
    found = results(place, "u.json", chosen=Chosen(levels={"cc": "none"}))
    assert found.experiment.factors == {"cc": ["cubic", "none"]}
    assert found.runs["repeat"].to_list() == [0, 1, 0]
    bare = place / "bare.csv"
    code, said = verb("import", bare, "--store", place / "s", "--set", "queue=fifo")
    assert code == 2 and "has the factors cc, and here are queue" in said, said


LAB = """\
dumbbell: 1
name: lab
template: {dumbbell: {rate: 12 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows: [{name: up, from: s1, to: d1, tcp: $cc}]
factors: {cc: [cubic]}
duration: 2 s
"""


def test_a_measurement_beside_runs(place: Path) -> None:
    (place / "lab.yaml").write_text(LAB, encoding="utf-8")
    run = dumbbell.run(place / "lab.yaml", store=place / "s")
    words = ("--store", place / "s", "--beside", "lab", "--flow", "tcp-1=up")
    code, said = verb("import", place / "a.json", *words, "--set", "cc=cubic")
    assert code == 0, said
    with Store(place / "s", write=False) as store:
        found = store.results()
    assert found.experiment.factors == {"origin": ["sim", "measured"], "cc": ["cubic"]}
    own = found.flows.filter(found.flows["flow"] == "up")
    assert own["origin"].to_list() == ["sim", "measured"]
    assert own["delivered_bytes"][0] == run.flows["delivered_bytes"][0]
    code, said = verb("contrast", place / "s", "--factor", "origin")
    assert code == 0 and "sim → measured" in said, said
    code, said = verb("import", place / "b.json", *words)
    assert code == 2 and "has the factors origin, cc" in said, said
    code, said = verb("store", "digest", place / "s")
    assert code == 0 and "origin=measured" in said, said


def test_the_verbs(place: Path) -> None:
    store = place / "s"
    code, said = verb("import", place / "a.json", place / "u.json", "--store", store)
    assert code == 0 and "2 runs added to experiment measured" in said, said
    code, said = verb("report", store, "-o", place / "r.html")
    assert code == 0, said
    page = (place / "r.html").read_text(encoding="utf-8")
    assert "Measured files" in page and "a.json" in page and ">Network<" not in page
    for kind in ("goodput", "window", "srtt_mean_ms"):
        code, said = verb("figure", kind, store, "-o", place / "f.svg")
        assert code == 0, said
    code, said = verb("show", store)
    assert code == 0, said
    code, said = verb("query", store, "select file, flow from flows order by all", "--csv")
    assert said.split() == ["file,flow", "a,tcp-1", "a,tcp-2", "u,udp-1"]
    code, said = verb("explain", store, "--flow", "tcp-1", "--at", "1s")
    assert code == 2 and "measured runs cannot be made again" in said, said
    for words in (("animate", store, "--set", "file=a"), ("qlog", store)):
        code, said = verb(*words, "-o", place / "x")
        assert code == 2 and "Traceback" not in said, said


def test_a_damaged_run_is_read_again(place: Path) -> None:
    store = place / "s"
    verb("import", place / "a.json", "--store", store)
    (file,) = (store / "runs").glob("*.samples.parquet")
    file.write_bytes(file.read_bytes()[:-1])
    code, said = verb("store", "repair", store)
    assert code == 1 and "dumbbell import FILE… --name measured --store" in said, said
    code, said = verb("import", place / "a.json", "--store", store)
    assert code == 0 and "1 run added" in said, said
    assert verb("store", "verify", store)[0] == 0


def test_a_bad_file_keeps_no_other_out(place: Path) -> None:
    (place / "cut.json").write_bytes((place / "a.json").read_bytes()[:700])
    (place / "other.txt").write_text("what", encoding="utf-8")
    files = [place / one for one in ("cut.json", "other.txt", "none.json", "a.json")]
    code, said = verb("import", *files, "--store", place / "s")
    assert code == 2
    assert f"{place / 'cut.json'}: line " in said and "not JSON, or cut off" in said
    assert f"{place / 'other.txt'}: none of the known formats" in said
    assert f"{place / 'none.json'}: No such file" in said
    assert "1 run added" in said
    code, said = verb("import", place / "a.json", "--as", "iperf")
    assert code == 2 and "did you mean iperf3?" in said


def calls_of_import(place: Path, reports: int) -> int:
    """Calls of functions that adding so many reports makes: its work, on any machine."""
    place.mkdir()
    report = tcp([[1_000_000] * 10])
    files = [place / f"f{number}.json" for number in range(reports)]
    for number, file in enumerate(files):
        report["start"]["cookie"] = str(number)
        file.write_bytes(encoded(report))
    calls = 0

    def count(_frame: object, event: str, _detail: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        done = add_files(files, place / "s", Chosen())
    finally:
        sys.setprofile(before)
    assert done.runs == reports
    return calls


def test_the_work_of_an_import_grows_with_its_reports_and_no_faster(tmp_path: Path) -> None:
    calls_of_import(tmp_path / "warm", 1)
    few, many = (calls_of_import(tmp_path / str(reports), reports) for reports in (50, 200))
    assert many < 4.2 * few
    assert many < 200 * 20_000
