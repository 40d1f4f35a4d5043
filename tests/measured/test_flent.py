"""Flent's files: read in each version, and written so that Flent gets the same numbers."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.export import flent as writer
from dumbbell.export.run import OneRun
from dumbbell.measured import flent
from dumbbell.measured.source import unpacked
from dumbbell.measured.values import Measured, MeasuredError
from dumbbell.metrics import METRICS
from dumbbell.results import Results
from dumbbell.store import Store
from dumbbell.store.importing import Chosen, add_files

FLENT = Path(sys.executable).with_name("flent")
File = dict[str, Any]


def file(version: int, **metadata: Any) -> File:
    """Two seconds of 8 Mbit/s, with pings and windows, as a version writes them."""
    t0 = 1_500_000_000.0
    raw: File = {
        "TCP upload": [
            {"t": t0 + 1, "dur": 1.0, "val": 8.0},
            {"t": t0 + 1.5, "tcp_cwnd": 12, "tcp_rtt": 20.5, "tcp_rtt_var": 2.0},
            {"t": t0 + 2, "dur": 1.0, "val": 16.0},
        ],
        "Ping (ms) ICMP": [
            {"t": t0, "seq": 0.0, "val": 20.0},
            {"t": t0 + 1, "seq": 1.0, "val": 22},
        ],
        # Before version 4: transactions per second of netperf.
        "Ping (ms) UDP": [
            {"t": t0, "val": 50.0 if version < 4 else 20.0},
            {"t": t0 + 1, "lost": True} if version == 4 else {"t": t0 + 1, "val": 25.0},
        ],
        "qdisc_stats": [{"t": t0, "dropped": 3}],
    }
    results = {
        "TCP upload": [8.0, 16.0, None],
        "Ping (ms) ICMP": [20.0, 22.0, None],
        "Ping (ms) UDP": [20.0, 40.0, None],
        "TCP upload sum": [1e9, 1e9, 1e9],
    }
    meta = {name: {"UNITS": "ms" if "ms" in name else "Mbits/s"} for name in raw}
    found = {
        "version": version,
        "metadata": {
            "NAME": "tcp_1up", "TITLE": "a title", "STEP_SIZE": 1.0, "SERIES_META": meta,
            "T0": "2017-07-14T02:40:00.000000" + "Z" * (version > 2), **metadata,
        },
        "x_values": [0.0, 1.0, 2.0],
        "results": results,
    }  # fmt: skip
    if version > 1:
        found["raw_values"] = raw
    return found


def read(content: File) -> Measured:
    return flent.read(json.dumps(content).encode())


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_each_version(version: int) -> None:
    found = read(file(version))
    flows = {str(one["flow"]): one for one in found.flows}
    assert set(flows) == {"TCP upload", "Ping (ms) ICMP", "Ping (ms) UDP"}
    assert flows["TCP upload"]["delivered_bytes"] == 3_000_000
    assert (flows["TCP upload"]["start_ns"], flows["TCP upload"]["end_ns"]) == (0, 2_000_000_000)
    assert flows["Ping (ms) ICMP"]["rtt_mean_ns"] == 21e6
    # 1 / 50 and 1 / 25 s; in version 4 the second is lost.
    assert flows["Ping (ms) UDP"]["rtt_mean_ns"] == (20e6 if version == 4 else 30e6)
    if version > 1:
        row = next(one for one in found.samples if "cwnd_packets" in one)
        assert (row["cwnd_packets"], row["srtt_ns"], row["rttvar_ns"]) == (
            12,
            20_500_000,
            2_000_000,
        )
        assert row["delivered_bytes"] == 2_000_000  # half of the second interval
        assert found.notes == ["series that are not read: qdisc_stats"]
    assert found.about["title"] == "a title"


def test_newer_and_foreign_files() -> None:
    with pytest.raises(MeasuredError, match="version: 5 is newer than 4"):
        read(file(5))
    with pytest.raises(MeasuredError, match="not a data file of Flent"):
        read({"version": 4, "metadata": {}})
    content = json.dumps(file(4)).encode()
    assert flent.looks(content)
    assert unpacked(gzip.compress(content)) == content


def test_a_mean_that_is_not_that_of_the_points_is_said() -> None:
    content = file(4)
    content["metadata"]["SERIES_META"]["TCP upload"]["MEAN_VALUE"] = 11.0
    said = "means of Flent and of its points (Mbit/s): TCP upload 11 and 12"
    assert said in read(content).notes


def test_pages_of_flent_are_transfers() -> None:
    content = file(3)
    content["results"]["HTTP latency"] = [None, 250.0, None]
    content["raw_values"]["HTTP latency"] = [
        {"t": 1_500_000_001.0, "val": 0.25}, {"t": 1_500_000_002.0, "val": 0.5},
    ]  # fmt: skip
    own = read(content).transfers
    assert [int(one["end_ns"]) - int(one["start_ns"]) for one in own] == [250_000_000, 500_000_000]


TWO_WAYS = """\
dumbbell: 1
name: rrul
hosts: {home: , server: }
links:
  - between: [home, server]
    delay: 10 ms
    forward: {rate: 2 Mbit/s, buffer: 30 packets}
    backward: {rate: 5 Mbit/s, buffer: 30 packets}
workload: {rrul_be: {client: home, server: server}}
sampling: {interval: 200 ms, keep: [samples, probes]}
duration: 12 s
"""
ONE_WAY = """\
dumbbell: 1
name: up
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows:
  - {name: "f{i}", from: s1, to: d1, tcp: cubic, count: $n}
  - {name: p, from: s1, to: d1, ping: 100 ms}
factors: {n: [1, 3]}
sampling: {interval: 200 ms, keep: [samples, probes]}
duration: 5 s
"""


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Results]]:
    folder = tmp_path_factory.mktemp("flent")
    found = {}
    for name, text in (("rrul", TWO_WAYS), ("up", ONE_WAY)):
        path = folder / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        found[name] = folder / name, dumbbell.run(path, store=folder / name, workers=1)
    return found


def exported(store: Path, folder: Path) -> list[Path]:
    words = ["store", "export", str(store), "-o", str(folder), "--format", "flent"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return sorted(folder.iterdir())


def numbers(content: File) -> dict[str, float]:
    """Our flow → what its series have as their mean, by points alone."""
    return {
        meta["DUMBBELL_FLOW"]: sum(own) / len(own)
        for name, meta in content["metadata"]["SERIES_META"].items()
        if (own := [one for one in content["results"][name] if one is not None])
        and "DUMBBELL_FLOW" in meta
    }


@pytest.mark.slow
def test_points_have_the_mean_of_the_run(
    stores: dict[str, tuple[Path, Results]], tmp_path: Path
) -> None:
    store, results = stores["rrul"]
    (path,) = exported(store, tmp_path)
    content = json.loads(gzip.decompress(path.read_bytes()))
    assert content["metadata"]["NAME"] == "rrul_be" and content["version"] == 4
    goodput = METRICS["goodput_mbps"].measure(results)
    own = dict(goodput.filter(goodput["kind"] == "tcp").select("flow", "value").iter_rows())
    assert len(own) == 8
    means = numbers(content)
    assert {name: means[name] for name in own} == pytest.approx(own, rel=1e-9)


@pytest.mark.slow
def test_what_is_written_is_read(stores: dict[str, tuple[Path, Results]], tmp_path: Path) -> None:
    store, results = stores["rrul"]
    (path,) = exported(store, tmp_path / "out")
    add_files([path], tmp_path / "s", Chosen())
    with Store(tmp_path / "s", write=False) as opened:
        found = opened.results()
    for name in ("goodput_mbps", "ping_rtt_ms", "retransmissions"):
        before = METRICS[name].measure(results).sort("flow").drop_nans("value")
        after = METRICS[name].measure(found).sort("flow").drop_nans("value")
        assert before["flow"].to_list() == after["flow"].to_list()
        assert after["value"].to_list() == pytest.approx(
            before["value"].to_list(), rel=1e-7
        )  # of whole ns
    probes = [one.probes.select("flow", "time_ns", "delay_ns", "kind") for one in (results, found)]
    assert probes[0].sort("flow", "time_ns").equals(probes[1].sort("flow", "time_ns"))
    windows = ["time_ns", "flow", "cwnd_packets", "srtt_ns", "rttvar_ns"]
    rows = [
        one.samples.filter(one.samples["cwnd_packets"] >= 0).select(windows).sort("flow", "time_ns")
        for one in (results, found)
    ]
    assert rows[0].equals(rows[1])
    # Written again, it is the same file but for its title.
    again = json.loads(gzip.decompress(writer.encode(OneRun("rrul, 0", found))[""]))
    first = json.loads(gzip.decompress(path.read_bytes()))
    assert again["raw_values"] == first["raw_values"]


@pytest.mark.slow
@pytest.mark.skipif(not FLENT.exists(), reason="flent is not installed")
@pytest.mark.parametrize("name", ["rrul", "up"])
def test_flent_has_our_numbers(
    stores: dict[str, tuple[Path, Results]], tmp_path: Path, name: str
) -> None:
    store, results = stores[name]
    files = exported(store, tmp_path)
    ours = METRICS["goodput_mbps"].measure(results).drop_nans("value")
    pings = METRICS["ping_rtt_ms"].measure(results).drop_nans("value")
    for place, path in enumerate(files):
        runs = set(results.runs["run"].to_list()[place : place + 1])
        expected = [
            value
            for frame in (ours, pings)
            for run, value in frame.filter(frame["kind"] != "udp").select("run", "value").rows()
            if run in runs
        ]
        done = subprocess.run(
            [FLENT, "-i", path, "-f", "summary"], capture_output=True, text=True, check=False,
            env={"MPLBACKEND": "Agg", "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said = {
            one[1].strip(): float(one[2])
            for one in re.finditer(r"^ (.+?) +: +([\d.]+) ", done.stdout, re.MULTILINE)
        }
        own = [value for key, value in said.items() if not re.search("avg|sum|totals|fair", key)]
        assert sorted(own) == pytest.approx(sorted(expected), abs=0.005)
    names = [json.loads(gzip.decompress(one.read_bytes()))["metadata"]["NAME"] for one in files]
    assert names == (["rrul_be"] if name == "rrul" else ["tcp_1up", "tcp_nup"])


def test_what_flent_cannot_have_is_said(tmp_path: Path) -> None:
    path = tmp_path / "u.yaml"
    text = ONE_WAY.replace("tcp: cubic, count: $n", "udp: 1 Mbit/s").replace(
        "factors: {n: [1, 3]}\n", ""
    )
    path.write_text(text.replace("f{i}", "f"), encoding="utf-8")
    dumbbell.run(path, store=tmp_path / "s", workers=1)
    words = ["store", "export", str(tmp_path / "s"), "-o", str(tmp_path), "--format", "flent"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2 and "no TCP flow: no test of Flent" in done.output, done.output
    done = CliRunner().invoke(app, [*words, "--table", "flows"])
    assert done.exit_code == 2 and "--table: not with --format flent" in done.output
