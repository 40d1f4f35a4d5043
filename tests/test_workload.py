"""Workloads from captures: whose connections become how many of which size."""

from __future__ import annotations

import gzip
import json
import random
import re
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.capture import survey
from dumbbell.cli import app
from dumbbell.experiment import load
from dumbbell.workload.derive import derive, rounded, shares
from tests.segments import pcap, transfer

PAGE = """\
dumbbell: 1
name: page
template: {dumbbell: {rate: 5 Mbit/s, rtt: 6 ms, buffer: 1000 packets}}
flows:
  - {name: "l{i}", count: 6, from: s1, to: d1, start_jitter: 4 s,
     tcp: {congestion_control: cubic, bytes: 134000 bytes}}
  - {name: "m{i}", count: 38, from: s1, to: d1, start: 1 s, start_jitter: 3 s,
     tcp: {congestion_control: cubic, bytes: 27000 bytes}}
  - {name: "k{i}", count: 133, from: s1, to: d1, start_jitter: 4 s,
     tcp: {congestion_control: cubic, bytes: 4200 bytes}}
taps: [{at: d1, link: r2-d1}]
sampling: {capture: true}
duration: 30 s
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Study 2's Table 1 as a capture: 6, 38 and 133 connections."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "e.yaml").write_text(PAGE, encoding="utf-8")
    dumbbell.run(folder / "e.yaml", captures=folder)
    (path,) = folder.glob("*.pcapng")
    return path


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["workload", "from-capture", *map(str, arguments)])


def test_table_1_becomes_a_workload_in_its_proportions(page: Path, tmp_path: Path) -> None:
    out = tmp_path / "w.yaml"
    done = run(page, "-o", out, "--connections", "17", "--rate", "2.5 Mbit/s", "--rtt", "50 ms")
    assert done.exit_code == 0, done.output
    # 17 connections in the proportion 6 : 38 : 133 are 0.58, 3.65 and 12.77. Largest remainders
    # give 0, 4 and 13, and the large class its one from the medium one, the furthest above.
    for share in ("3.39", "21.47", "75.14", "5.88", "17.65", "76.47"):
        assert share in done.output
    experiment = load(out)
    scenario = json.loads(experiment.cells[0].scenario)
    flows = scenario["flows"]
    assert Counter(flow["group"] for flow in flows) == {"large": 1, "medium": 3, "small": 13}
    text = out.read_text(encoding="utf-8")
    assert re.findall(r"bytes: (\d+) bytes", text) == ["134000", "27000", "4000"]
    assert set(experiment.cells[0].rtt_ns.values()) == {50_000_000}


def test_what_is_written_runs(page: Path, tmp_path: Path) -> None:
    out = tmp_path / "w.yaml"
    done = run(page, "-o", out)
    assert done.exit_code == 0
    assert "177 connections as captured, of the sizes of their classes" in done.output
    assert CliRunner().invoke(app, ["validate", str(out)]).exit_code == 0
    results = dumbbell.run(out, repeats=1)
    delivered = results.flows.group_by("group").agg(bytes="delivered_bytes")
    sizes = {row["group"]: set(row["bytes"]) for row in delivered.to_dicts()}
    assert sizes == {"large": {134_000}, "medium": {27_000}, "small": {4_000}}
    assert results.flows.height == 177


def test_few_connections_stay_what_they_are(tmp_path: Path) -> None:
    frames = transfer(1001, 5300) + transfer(1002, 50_000, at=1) + transfer(1003, 7100, at=2.5)
    path, out = pcap(sorted(frames), tmp_path / "c.pcap"), tmp_path / "w.yaml"
    done = run(path, "-o", out)
    assert done.exit_code == 0, done.output
    assert "3 connections as captured, each of its size; --connections N scales them" in done.output
    flows = json.loads(load(out).cells[0].scenario)["flows"]
    found = [(flow["name"], flow["group"]) for flow in flows]
    assert found == [("small-1", "small"), ("medium-1", "medium"), ("small-2", "small")]
    results = dumbbell.run(out, repeats=1)
    assert sorted(results.flows["delivered_bytes"]) == [5300, 7100, 50_000]
    starts = [group.start_ns for group in derive(survey(path)).groups]
    assert starts == [0, 1_000_000_000, 2_500_000_000]


def test_of_very_many_connections_a_thousand_are_taken_and_it_is_said(tmp_path: Path) -> None:
    frames = sorted(one for port in range(1000, 2100) for one in transfer(port, 1000))
    found = derive(survey(pcap(frames, tmp_path / "c.pcap")))
    assert [row.derived for row in found.classes] == [1000, 0, 0]
    assert (
        found.notes[0] == "1000 connections for 1100 captured; --connections N takes another number"
    )


def test_the_rate_is_that_of_the_busiest_tenth_of_a_second_of_a_long_capture(
    tmp_path: Path,
) -> None:
    # 300 kB within 0.1 s, an hour after a small transfer, and an hour before another.
    frames = transfer(1000, 1000) + transfer(1001, 300_000, at=3600) + transfer(1002, 1000, at=7200)
    found = derive(survey(pcap(frames, tmp_path / "c.pcap")))
    carried = sum(len(data) for time, data in frames if 3600 <= time < 3600.1)
    assert found.rate_bps == pytest.approx(80 * carried, rel=0.01)
    (said,) = (note for note in found.notes if note.startswith("rate "))
    assert said.endswith(
        "If that time did not fill the line, the line's rate is higher: set --rate"
    )


def test_starts_are_spread_as_in_the_capture(tmp_path: Path) -> None:
    frames = transfer(1001, 5000) + transfer(1002, 50_000, at=1) + transfer(1003, 50_000, at=2.5)
    found = derive(survey(pcap(sorted(frames), tmp_path / "c.pcap")), size="mean")
    medium, small = found.groups
    assert (small.start_ns, small.spread_ns) == (0, 0)
    assert (medium.start_ns, medium.spread_ns) == (1_000_000_000, 1_500_000_000)


def test_sizes_are_mean_or_median_of_the_heavier_direction(tmp_path: Path) -> None:
    sizes = (1000, 2000, 9000)
    frames = [one for port, size in enumerate(sizes, 1000) for one in transfer(port, size)]
    found = survey(pcap(frames, tmp_path / "c.pcap"))
    assert [group.payload_bytes for group in derive(found, size="mean").groups] == [4000]
    assert [group.payload_bytes for group in derive(found, size="median").groups] == [2000]
    assert derive(found).classes[0].captured_bytes == 12_000
    assert derive(found).rtt_ns == 20_000_000


def test_uploads_are_groups_of_their_own(tmp_path: Path) -> None:
    frames = [*transfer(1000, 4000), *transfer(1001, 4000), *transfer(1002, 200, up=900)]
    path, out = pcap(sorted(frames), tmp_path / "c.pcap"), tmp_path / "w.yaml"
    assert run(path, "-o", out, "--connections", "3").exit_code == 0
    flows = json.loads(load(out).cells[0].scenario)["flows"]
    ends = Counter((flow["group"], flow["from"], flow["to"]) for flow in flows)
    assert ends == {("small", "server", "client"): 2, ("small-up", "client", "server"): 1}


@pytest.mark.parametrize(
    ("weights", "total", "parts"),
    [
        ([6, 38, 133], 17, [1, 3, 13]),
        ([6, 38, 133], 177, [6, 38, 133]),
        ([1, 1, 1], 3, [1, 1, 1]),
        ([0, 5, 0], 7, [0, 7, 0]),
        ([1000, 1, 1], 3, [1, 1, 1]),
        ([1, 1], 3, [2, 1]),
    ],
)
def test_largest_remainders_with_one_of_each(
    weights: list[int], total: int, parts: list[int]
) -> None:
    assert shares(weights, total, least=1) == parts


def test_shares_add_up_and_stay_near() -> None:
    draw = random.Random(1)
    for _ in range(500):
        weights = [draw.randrange(0, 1000) for _ in range(draw.randrange(1, 8))]
        if not any(weights):
            continue
        total = draw.randrange(len(weights), 100)
        parts = shares(weights, total)
        assert sum(parts) == total
        exact = [weight * total / sum(weights) for weight in weights]
        assert all(abs(p - e) < 1 for p, e in zip(parts, exact, strict=True))
        parts = shares(weights, total, least=1)
        assert sum(parts) == total
        assert all((p > 0) == (w > 0) for p, w in zip(parts, weights, strict=True))


def test_rounding() -> None:
    assert [rounded(size) for size in (1, 149, 999, 1499, 20_700)] == [100, 100, 1000, 1000, 21_000]


def test_no_handshake_is_said_and_an_rtt_assumed(tmp_path: Path) -> None:
    path = pcap(transfer(1000, 30_000, opened=False), tmp_path / "c.pcap")
    done = run(path, "-o", tmp_path / "w.yaml")
    assert done.exit_code == 0, done.output
    assert "RTT unknown: no handshake in the capture; 50 ms assumed, set --rtt" in done.output
    assert "the end with the lower port is the server" in done.output
    assert "delay: 25 ms" in (tmp_path / "w.yaml").read_text(encoding="utf-8")


def test_of_one_sided_traffic_acknowledged_bytes_count(tmp_path: Path) -> None:
    frames = [
        one for one in transfer(1000, 30_000) if struct.unpack_from(">H", one[1], 20)[0] == 1000
    ]
    path = pcap(frames, tmp_path / "c.pcap")
    done = run(path, "-o", tmp_path / "w.yaml")
    assert done.exit_code == 0, done.output
    assert "acknowledged that the capture does not show" in done.output
    (group,) = derive(survey(path)).groups
    assert (group.payload_bytes, group.is_upload) == (30_000, False)


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ([], "no TCP connection with payload among its 0 packets"),
        ([(0.0, bytes(60))], "no TCP connection with payload among its 1 packet"),
        (transfer(1000, 0), "1 connection without payload"),
    ],
)
def test_nothing_to_derive_from(
    frames: list[tuple[float, bytes]], said: str, tmp_path: Path
) -> None:
    done = run(pcap(frames, tmp_path / "c.pcap"), "-o", tmp_path / "w.yaml")
    assert done.exit_code == 2
    assert said in done.output.replace("\n", " ")
    assert not (tmp_path / "w.yaml").exists()


def test_a_capture_cut_off_gives_what_it_holds(page: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcapng.gz"
    whole = gzip.compress(page.read_bytes())
    cut.write_bytes(whole[: len(whole) // 2])
    done = run(cut, "-o", tmp_path / "w.yaml")
    assert done.exit_code == 0, done.output
    assert "breaks off" in done.output
    load(tmp_path / "w.yaml")


def test_one_seen_at_two_interfaces_counts_once(tmp_path: Path) -> None:
    text = PAGE.replace("{at: d1", "{at: s1, link: s1-r1}, {at: d1")
    (tmp_path / "e.yaml").write_text(text, encoding="utf-8")
    dumbbell.run(tmp_path / "e.yaml", captures=tmp_path)
    (path,) = tmp_path.glob("*.pcapng")
    found = derive(survey(path))
    assert [row.captured for row in found.classes] == [133, 38, 6]
    assert any("177 connections seen at a second interface" in note for note in found.notes)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--connections", "2"], "3 classes occur, and one of each is needed"),
        (["--rate", "fast"], "--rate fast: "),
        (["--rate", "0 Mbit/s"], "above 0 is needed"),
        (["--rtt", "5"], "--rtt 5: "),
        (["--rate", "1 bit/s"], "more than a day"),
        (["--buffer", "[]"], "buffer"),
        (["--congestion-control", "bbr9"], "unknown congestion control"),
        (["--class", "a<b"], "--class"),
        (["--size", "mode"], "--size"),
    ],
)
def test_wrong_options_are_one_message(
    arguments: list[str], said: str, page: Path, tmp_path: Path
) -> None:
    done = run(page, "-o", tmp_path / "w.yaml", *arguments)
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.output.split())
    assert "Traceback" not in done.output
    assert not (tmp_path / "w.yaml").exists()


def test_classes_of_ones_own_with_names_that_yaml_would_read(page: Path, tmp_path: Path) -> None:
    names = ["null<5 kB", "{i}: $x #<50 kB", "-"]
    options = [word for name in names for word in ("--class", name)]
    done = run(page, "-o", tmp_path / "w.yaml", "--connections", "17", *options)
    assert done.exit_code == 0, done.output
    flows = json.loads(load(tmp_path / "w.yaml").cells[0].scenario)["flows"]
    assert Counter(flow["group"] for flow in flows) == {"class": 1, "i-x": 3, "null": 13}


def test_nothing_is_lost_where_it_is_written(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "c.pcapng"
    copy.write_bytes(page.read_bytes())
    done = run(copy, "-o", copy)
    assert done.exit_code == 2
    assert copy.read_bytes() == page.read_bytes()
    monkeypatch.chdir(tmp_path)
    assert run(copy).exit_code == 0
    done = run(copy)
    assert done.exit_code == 2
    assert "workload.yaml exists already" in done.output


def test_it_can_be_printed(page: Path) -> None:
    done = run(page, "-o", "-")
    assert done.exit_code == 0
    assert done.stdout.startswith("# From the capture")
    assert "captured" in done.stderr


@pytest.mark.slow
def test_hostile_files_end_in_a_workload_or_a_message(page: Path, tmp_path: Path) -> None:
    """Bytes changed anywhere: stamps of other centuries, sequence numbers that jump, lies."""
    draw = random.Random(7)
    whole = page.read_bytes()[:60_000]
    for number in range(60):
        data = bytearray(whole)
        for _ in range(draw.choice((1, 30, 600))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        path = tmp_path / f"{number}.pcapng"
        path.write_bytes(data)
        out = tmp_path / f"{number}.yaml"
        done = run(path, "-o", out)
        assert done.exit_code in (0, 2), (number, done.exception)
        assert done.exception is None or isinstance(done.exception, SystemExit), number
        if done.exit_code == 0:
            load(out)
