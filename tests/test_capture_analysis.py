"""Analysis of connections: equal to what the engines count, and made into files and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.capture import CaptureError, packets, survey
from dumbbell.capture.classes import DEFAULT_CLASSES, SizeClass, classified, parse_classes
from dumbbell.capture.tables import frames
from dumbbell.cli import app
from dumbbell.errors import DumbbellError

#: Causes of retransmissions, as in the columns of connections.
KINDS = ("fast", "timeout", "probe", "path_mtu", "unreachable")
#: Loss behind the first tap; nothing is lost before it.
TEXT = """\
dumbbell: 1
name: c
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 30 ms, buffer: 25 packets}}
flows:
  - {name: f1, from: s1, to: d1, start: 10 ms, stop: 3 s, tcp: cubic}
  - {name: f2, from: s2, to: d2, start: 50 ms, tcp: {congestion_control: bbr, bytes: 600 KiB}}
  - {name: p, from: s1, to: d1, ping: {interval: 100 ms}}
taps: [{at: r1, link: s1-r1}, {at: r1, link: s2-r1}]
sampling: {capture: true}
duration: 4 s
"""


class Captured:
    """An experiment and its capture."""

    def __init__(self, engine: str, folder: Path) -> None:
        experiment = folder / "e.yaml"
        experiment.write_text(TEXT, encoding="utf-8")
        self.results = dumbbell.run(experiment, engine=engine, captures=folder)
        (self.file,) = folder.glob("*.pcapng")
        self.found = survey(self.file)


LINUX = pytest.param("linux", marks=pytest.mark.kernel)


@pytest.fixture(scope="module", params=["sim", LINUX])
def captured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    return Captured(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    return Captured("sim", tmp_path_factory.mktemp("simulated"))


def test_taps_and_captures_count_alike(captured: Captured) -> None:
    tables = frames(captured.found)
    flows = captured.results.flows.filter(pl.col("kind") == "tcp").sort("flow")
    rows = tables["flows"].sort("delivered_bytes", descending=True)
    assert flows.height == rows.height == 2
    for flow, row in zip(
        flows.sort("delivered_bytes", descending=True).iter_rows(named=True),
        rows.iter_rows(named=True),
        strict=True,
    ):
        for name in (
            "tap_data_packets",
            "tap_retransmissions",
            "tap_rtt_samples",
            "tap_rtt_min_ns",
            "tap_rtt_max_ns",
            "tap_acks",
            "tap_acks_with_sack",
            "tap_sack_blocks",
            "retransmitted_packets",
            "delivered_bytes",
        ):
            assert row[name] == flow[name], name
        assert row["tap_rtt_mean_ns"] == pytest.approx(flow["tap_rtt_mean_ns"], rel=1e-6)
        assert flow["tap_retransmissions"] > 0


def test_connections_are_described(captured: Captured) -> None:
    data = [row for row in captured.found["connections"] if row["data_packets"]]
    assert [row["interface"] for row in data] == [0, 1]
    for row in data:
        assert row["opened_it"] and row["closed"] == "both"
        assert row["handshake_rtt_ns"] >= 30e6
        assert row["rtt_min_ns"] >= 30e6
        assert row["turns"] == 1
        assert row["quick_acks"] >= 4
        assert row["in_flight_mean_bytes"] <= row["in_flight_max_bytes"]
        assert row["unique_bytes"] == row["acked_bytes"] <= row["payload_bytes"]
        # The path holds 25 packets in the queue and 25 besides; slow start sends twice as many.
        assert 25 * 1448 <= row["in_flight_max_bytes"] <= 2 * 50 * 1448
        rates = row["rates"]
        assert sum(rates["unique_bytes"]) == row["unique_bytes"]
        assert row["retransmitted_packets"] == sum(
            row[f"{kind}_retransmitted_packets"] for kind in KINDS
        )
    (ping,) = captured.found["pings"]
    assert ping["requests_odd"] == ping["requests_even"] == 20
    # Some find the queue full.
    assert 30 <= ping["rtt_samples"] <= 40
    assert ping["rtt_min_ns"] >= 30e6


def test_packets_say_what_they_were(simulated: Captured) -> None:
    found = packets(simulated.file)
    sizes = {len(column) for column in found.values() if isinstance(column, list)}
    assert len(sizes) == 1
    for row in (row for row in simulated.found["connections"] if row["data_packets"]):
        mine = [
            n
            for n, connection in enumerate(found["connection"])
            if connection == row["connection"] and found["side"][n] == 0
        ]
        again = [n for n in mine if found["what"][n] == "retransmitted"]
        assert len(again) == row["retransmitted_packets"]
        fast = [n for n in again if found["kind"][n] == "fast"]
        assert len(fast) == row["fast_retransmitted_packets"]
    few = packets(simulated.file, [0], 7)
    assert len(few["frame"]) == 7
    assert set(few["packets_of_connections"]) == {"0"}


def test_tables_are_written(simulated: Captured, tmp_path: Path) -> None:
    for kind in ("csv", "parquet"):
        folder = tmp_path / kind
        done = CliRunner().invoke(app, ["capture", str(simulated.file), f"--{kind}", str(folder)])
        assert done.exit_code == 0, done.output
        read = pl.read_csv if kind == "csv" else pl.read_parquet
        connections: Any = read(folder / f"connections.{kind}")
        assert connections.height == len(simulated.found["connections"])
        assert connections["connection"].to_list() == [0, 0, 1, 1]
        flows: Any = read(folder / f"flows.{kind}")
        assert flows["tap"].to_list() == ["r1:s1-r1", "r1:s2-r1"]


def test_json_and_csv_stand_alone_and_are_printed(simulated: Captured) -> None:
    for words in (["--json"], ["--json", str(simulated.file)]):
        arguments = (
            ["capture", *words] if len(words) > 1 else ["capture", str(simulated.file), *words]
        )
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout) == simulated.found
    done = CliRunner().invoke(app, ["capture", str(simulated.file), "--csv"])
    assert done.stdout.splitlines()[0].startswith("connection,interface,direction,from_address")
    assert len(done.stdout.splitlines()) == 5


def test_classes_are_the_users(simulated: Captured) -> None:
    words = ["--class", "tiny<10 kB", "middle < 1 MB", "whales", "--json"]
    done = CliRunner().invoke(app, ["capture", str(simulated.file), *words])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["classes"]
    assert [(row["class"], row["connections"]) for row in rows] == [
        ("tiny", 0),
        ("middle", 1),
        ("whales", 1),
    ]
    assert [row["to_bytes"] for row in rows] == [9999, 999_999, None]


def test_classes_take_every_connection_once() -> None:
    sizes = [0, 9_999, 10_000, 99_999, 100_000, 5_000_000]
    conversations = [
        {"protocol": "tcp", "bytes_a_to_b": size, "bytes_b_to_a": 0} for size in sizes
    ] + [{"protocol": "udp", "bytes_a_to_b": 5, "bytes_b_to_a": 5}]
    rows = classified(conversations, DEFAULT_CLASSES)
    assert [row["connections"] for row in rows] == [2, 2, 2]
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert parse_classes(["b<2 KiB", "a<1.5 kB"]) == (
        SizeClass("a", 1500),
        SizeClass("b", 2048),
        SizeClass("larger", None),
    )


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        (["small<10 parsecs"], "units are B, bytes, kB"),
        (["<10 kB"], "a class is written name<size"),
        (["a<1 kB", "b<1000"], "a and b have the same bound"),
        (["a<1 kB", "a<2 kB"], "a is there twice"),
        (["a", "b"], "a and b have the same bound"),
    ],
)
def test_classes_that_cannot_be(classes: list[str], said: str) -> None:
    with pytest.raises(DumbbellError, match=said):
        parse_classes(classes)


def test_a_page_needs_a_file_and_connections_that_are_there(
    simulated: Captured, tmp_path: Path
) -> None:
    page = str(tmp_path / "page.html")
    done = CliRunner().invoke(
        app, ["capture", str(simulated.file), "--html", page, "--connection", "9"]
    )
    assert done.exit_code == 2
    assert "--connection 9: there are 0, 1" in done.output
    with pytest.raises(CaptureError, match="No such file"):
        packets(tmp_path / "none.pcap")


@pytest.mark.slow
def test_mistakes_on_the_command_line_are_one_message(simulated: Captured, tmp_path: Path) -> None:
    capture, other = str(simulated.file), tmp_path / "other.pcapng"
    other.write_bytes(simulated.file.read_bytes())
    empty = tmp_path / "empty"
    empty.mkdir()
    near = simulated.file.with_name(simulated.file.name[:-1])
    for arguments, said in (
        ([str(near)], f"No such file or directory; did you mean {simulated.file}?"),
        (["--json", "typo.pcap"], "no capture is given: typo.pcap is the output of --json"),
        ([capture, "--json", "--csv"], "cannot both be printed"),
        ([capture, "--connection", "7"], "it needs --html"),
        (["--html", str(other), capture], "this would overwrite a capture"),
        ([capture, f"--json={capture}"], "this would overwrite a capture"),
        ([capture, "--class", "small<1 kB", "typo.pcap"], "typo.pcap: cannot be read"),
        ([capture, "--class", "small<" + "9" * 400], "a bound is at least a byte and below"),
        ([capture, "--html", str(tmp_path)], "cannot be written"),
        ([str(empty)], "no capture in this folder"),
    ):
        done = CliRunner().invoke(app, ["capture", *arguments])
        assert done.exit_code == 2, (arguments, done.output)
        assert said in " ".join(done.output.split()), (arguments, done.output)
        assert "Traceback" not in done.output
    assert other.read_bytes() == simulated.file.read_bytes()


@pytest.mark.slow
def test_captures_of_one_name_have_a_folder_each(simulated: Captured, tmp_path: Path) -> None:
    files = []
    for name in "xy":
        (tmp_path / name).mkdir()
        files.append(tmp_path / name / "a.pcapng")
        files[-1].write_bytes(simulated.file.read_bytes())
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["capture", *map(str, files), "--csv", str(out)])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in out.iterdir()) == ["a.pcapng", "a.pcapng-2"]
    # A table of which this capture has no rows does not stay from the one before.
    (out / "a.pcapng" / "problems.csv").write_text("old", encoding="utf-8")
    CliRunner().invoke(app, ["capture", str(files[0]), "--csv", str(out / "a.pcapng")])
    assert not (out / "a.pcapng" / "problems.csv").exists()


def test_what_a_file_says_is_no_markup(simulated: Captured) -> None:
    data = simulated.file.read_bytes().replace(b"r1:s1-r1", b"[/red]:a")
    hostile = simulated.file.with_name("hostile.pcapng")
    hostile.write_bytes(data)
    try:
        done = CliRunner().invoke(app, ["capture", str(hostile), "--class", "[/b]<10 kB"])
    finally:
        hostile.unlink()
    assert done.exit_code == 0, done.output
    assert "[/red]:a" in done.output
    assert "[/b]" in done.output
