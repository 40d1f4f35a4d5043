"""Answers of the server: lists, lines, runs, packets, explanations, edited experiments."""

from __future__ import annotations

import io
import json
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dumbbell
from dumbbell.explore.series import Line, packed, reduced
from dumbbell.explore.shelf import Shelf
from dumbbell.store import Store
from tests.explore.server import Running, running
from tests.explore.stores import EXPERIMENT, NAME, small_store


def lines_of(explorer: Running, **asked: str) -> tuple[dict[str, Any], Any, Any]:
    """Header, times and values of an answer."""
    return unpacked(explorer.ask("/api/series", **asked).body)


def unpacked(body: bytes) -> tuple[dict[str, Any], Any, Any]:
    length = int.from_bytes(body[:4], "little")
    assert (length + 4) % 8 == 0
    header = json.loads(body[4 : 4 + length])
    count = header["count"]
    times = np.frombuffer(body, "<f8", count, 4 + length)
    values = np.frombuffer(body, "<f4", count * len(header["lines"]), 4 + length + 8 * count)
    return header, times, values.reshape(len(header["lines"]), count)


def test_the_state_names_the_experiments(explorer: Running) -> None:
    found = explorer.json("state")
    (one,) = found["experiments"]
    assert (one["name"], one["planned"], one["finished"]) == (NAME, 8, 8)
    assert found["banner"] == found["notes"] == [] and not found["study"]


def test_runs_and_cells_are_listed(explorer: Running) -> None:
    found = explorer.json("list")
    assert found["total"] == found["all"] == 8
    assert found["columns"][:5] == ["run", "rtt", "cc", "repeat", "seed"]
    assert [row[1:4] for row in found["rows"]][:3] == [
        ["10 ms", "reno", 0], ["10 ms", "reno", 1], ["10 ms", "cubic", 0],
    ]  # fmt: skip
    cells = explorer.json("list", by="cells", metrics="goodput_mbps")
    assert [row[1:4] for row in cells["rows"]] == [
        [rtt, cc, 2] for rtt in ("10 ms", "50 ms") for cc in ("reno", "cubic")
    ]
    goodput = found["columns"].index("goodput_mbps")
    mean = sum(row[goodput] for row in found["rows"][:2]) / 2
    assert cells["rows"][0][-1] == pytest.approx(mean)


def test_lists_are_filtered_sorted_and_paged(explorer: Running) -> None:
    ticked = explorer.json("list", **{"f.cc": "cubic"})
    filtered = explorer.json("list", filter="cc = cubic")
    assert ticked["total"] == 4 and ticked["rows"] == filtered["rows"]
    largest = explorer.json("list", sort="goodput_mbps", down="1")
    place = largest["columns"].index("goodput_mbps")
    values = [row[place] for row in largest["rows"]]
    assert values == sorted(values, reverse=True)
    by_rtt = explorer.json("list", sort="rtt", down="1")["rows"]
    assert [row[1] for row in by_rtt] == ["50 ms"] * 4 + ["10 ms"] * 4
    page = explorer.json("list", start="3", count="2", sort="goodput_mbps", down="1")
    assert page["rows"] == largest["rows"][3:5]
    # A metric that is not shown can be filtered by.
    assert explorer.json("list", filter="timeouts >= 0 and retransmissions < 1e9")["total"] == 8


@pytest.mark.parametrize(
    ("path", "asked", "words"),
    [
        ("list", {"filter": "SELECT 1"}, "filter: not understood"),
        ("list", {"filter": "ccc = cubic"}, "did you mean cc?"),
        ("list", {"sort": "goodput"}, "no column 'goodput' to sort by"),
        ("list", {"metrics": "goodput_mbs"}, "did you mean goodput_mbps?"),
        ("list", {"metrics": ",".join(["jain"] * 20)}, "20 metrics"),
        ("list", {"by": "tables"}, "by runs or by cells"),
        ("list", {"start": "-1"}, "start: should be a whole number"),
        ("list", {"f.x": "1"}, "no factor 'x'"),
        ("series", {"quantity": "cwnd"}, "no run is chosen"),
        ("packets", {"table": "flows"}, "packets are in"),
        ("figure", {"kind": "nothing"}, "cannot be drawn"),
        ("figure", {"format": "exe"}, "format: should be"),
        ("download", {"format": "xlsx"}, "format: should be csv or parquet"),
        ("study", {}, "belong to no study"),
    ],
    ids=str,
)
def test_wrong_questions_get_one_sentence(
    explorer: Running, path: str, asked: dict[str, str], words: str
) -> None:
    if path == "packets":
        asked = {**asked, "run": explorer.json("list")["rows"][0][0]}
    found = explorer.ask(f"/api/{path}", **asked)
    assert found.status == 400 and words in found.json()["error"]
    assert "\n" not in found.json()["error"]


def test_rows_are_saved(explorer: Running) -> None:
    csv = explorer.ask("/api/download", filter="cc = cubic")
    assert "attachment" in csv.headers["content-disposition"]
    frame = pl.read_csv(csv.body)
    assert frame.height == 4 and set(frame["cc"]) == {"cubic"}
    runs = explorer.json("list")["rows"]
    two = ",".join(row[0] for row in runs[:2])
    parquet = explorer.ask("/api/download", format="parquet", runs=two)
    assert pl.read_parquet(io.BytesIO(parquet.body))["run"].to_list() == two.split(",")


def test_lines_have_every_smallest_and_largest_value(explorer: Running) -> None:
    run = explorer.json("list")["rows"][0][0]
    header, times, values = lines_of(explorer, runs=run, quantity="cwnd", pixels="50")
    assert header["lines"][0] == {"run": run, "name": "a"} and header["count"] == 100
    assert header["algorithms"] == {"a": "reno", "<b>b</b>": "bbr"}
    _, whole_times, whole = lines_of(explorer, runs=run, quantity="cwnd", pixels="4000")
    assert np.nanmax(values[0]) == np.nanmax(whole[0])
    assert np.nanmin(values[0]) == np.nanmin(whole[0])
    window = {"from": "1.0", "to": "1.5"}
    zoomed, some, _ = lines_of(explorer, runs=run, quantity="queue", pixels="200", **window)
    assert zoomed["window"] == [1.0, 1.5] and 1.0 <= some[0] < some[-1] <= 1.5
    assert np.all(np.diff(times) > 0) and np.all(np.diff(whole_times) > 0)


def test_a_reduced_line_is_the_line() -> None:
    times = np.arange(1000, dtype=np.float64)
    values = np.sin(times / 7)
    line = Line("r", "a", times, values)
    edges = np.linspace(0, 1000, 11)
    found = reduced(line, edges)
    parts = values.reshape(10, 100)
    assert np.array_equal(found[0::2], parts.min(axis=1))
    assert np.array_equal(found[1::2], parts.max(axis=1))
    # Gaps stay gaps; a zoom between two values is what lies between them.
    sparse = Line("r", "a", np.array([0.0, 900.0]), np.array([0.0, 9.0]))
    assert np.isnan(reduced(sparse, edges)[4])
    header, _, inner = unpacked(packed([sparse], (100.0, 200.0), 16, {}))
    assert header["points"] == 2 and inner[0][0] == 1.0 and inner[0][-1] == 2.0


def test_a_run_is_described(explorer: Running) -> None:
    run = explorer.json("list")["rows"][0][0]
    found = explorer.json("run-facts", run=run)
    assert found["words"] == "rtt 10 ms, cc reno, repeat 0"
    assert [row[0] for row in found["flows"]["rows"]] == ["a", "<b>b</b>"]
    assert found["sentences"] and found["marks"] and len(found["same"]) == 2
    assert found["tables"] == ["samples", "queues", "packets", "drops"]
    packets = explorer.json("packets", run=run, table="packets", **{"from": "0.1", "to": "0.2"})
    assert packets["total"] > 10 and all(0.1 <= row[0] <= 0.2 for row in packets["rows"])


@pytest.mark.slow
def test_an_incident_is_explained(explorer: Running) -> None:
    run = explorer.json("list")["rows"][0][0]
    mark = next(one for one in explorer.json("run-facts", run=run)["marks"] if one["flow"] == "a")
    found = explorer.json("explain", run=run, flow="a", at=str(mark["time_s"]))
    steps = [link["step"] for link in found["links"]]
    assert steps[0] == "incident" and "cause" in steps and found["flow"] == "a"
    nothing = explorer.ask("/api/explain", run=run, flow="nobody", at="1")
    assert nothing.status == 400 and "no such flow" in nothing.json()["error"]


@pytest.mark.slow
def test_a_run_moves(explorer: Running) -> None:
    run = explorer.json("list")["rows"][0][0]
    found = explorer.ask("/api/animation", run=run)
    assert found.status == 200 and found.headers["content-encoding"] == "gzip"
    assert found.headers["content-security-policy"].startswith("sandbox allow-scripts")


def test_an_edited_experiment_is_run(explorer: Running) -> None:
    found = explorer.post(EXPERIMENT.replace("duration: 3 s", "duration: 2 s")).json()
    assert found["error"] is None and found["cells"] == 4 and found["sentences"]
    run = found["runs"][0]["run"]
    header, _, values = lines_of(explorer, experiment="edited", runs=run, quantity="cwnd")
    assert header["whole"][1] == pytest.approx(2.0, abs=0.05) and np.nanmax(values) > 2
    assert explorer.json("run-facts", experiment="edited", run=run)["flows"]["rows"]
    again = explorer.ask("/api/explain", experiment="edited", run=run, flow="a", at="1")
    assert again.status == 400 and "of the store" in again.json()["error"]
    assert explorer.post(EXPERIMENT, run=False).json() == {"error": None, "cells": 4}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("buffer: 20 packets", "buffer: 20 pockets", 4, "pockets"),
        ("tcp: bbr", "tcp: brb", 7, "did you mean bbr?"),
        ("duration: 3 s", "duration: 3 x", 11, "3 x"),
        ("duration: 3 s", "duration: [", None, ""),
        ("duration: 3 s", "duration: 3000 s", None, "more than the 20 s"),
        ("repeats: 2", "repeats: 2\nprograms: {}", 16, "files and programs are not used"),
        ("rate: 10 Mbit/s", "trace: {file: /etc/passwd}", 4, "files and programs"),
        ("rate: 10 Mbit/s", '"tra\\x63e": {"f\\x69le": /etc/passwd}', 4, "files and programs"),
        ("rtt: [10 ms, 50 ms]", f"rtt: [{', '.join(f'{n} ms' for n in range(1, 31))}]", None,
         "60 cells; at most 32"),
    ],
)  # fmt: skip
def test_a_wrong_text_gets_its_line(
    explorer: Running, old: str, new: str, line: int | None, words: str
) -> None:
    error = explorer.post(EXPERIMENT.replace(old, new)).json()["error"]
    assert words in error["words"] and "passwd" not in error["words"]
    if line is not None:
        assert error["line"] == line


def test_a_newer_text_cancels_the_one_before(explorer: Running) -> None:
    slow = EXPERIMENT.replace("duration: 3 s", "duration: 60 s")
    answers = []
    thread = threading.Thread(target=lambda: answers.append(explorer.post(slow)))
    thread.start()
    while True:  # until the first is under way, the second may come before it
        found = explorer.post(EXPERIMENT.replace("3 s", "2 s"))
        if found.status == 200:
            break
    thread.join()
    assert {one.status for one in answers} <= {200, 409}
    assert found.json()["error"] is None


# A store that changes


def test_a_store_that_is_written_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(EXPERIMENT.replace("repeats: 2", "repeats: 1"), encoding="utf-8")
    dumbbell.run(file, store=tmp_path / "store")
    shelf = Shelf(tmp_path / "store")
    assert shelf.experiment(None).results.runs.height == 4
    before = shelf.stamp
    shelf.refresh(at_once=True)
    assert shelf.stamp == before
    dumbbell.run(file, store=tmp_path / "store", repeats=2)
    shelf.refresh(at_once=True)
    assert shelf.stamp > before and shelf.experiment(None).results.runs.height == 8


def test_an_unfinished_experiment_says_so(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    with Store(store, write=False) as opened:
        (record,) = opened.experiments()
    for path in (store / "segments").iterdir():
        shutil.rmtree(path)
    with running(store) as explorer:
        found = explorer.json("state")
        assert found["experiments"][0]["finished"] == 0
        assert "8 of 8 runs are not finished and not shown" in found["notes"][0]
        assert explorer.json("list")["rows"] == [] and record.id == found["experiments"][0]["id"]


def test_a_store_that_vanishes_leaves_the_last_picture(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    with running(store) as explorer:
        run = explorer.json("list")["rows"][0][0]
        assert lines_of(explorer, runs=run, quantity="cwnd")[0]["lines"]
        shutil.rmtree(store)
        while not (banner := explorer.json("state")["banner"]):
            pass
        assert "the store is gone" in banner[0] and "last picture" in banner[0]
        assert explorer.json("list")["total"] == 8
        assert lines_of(explorer, runs=run, quantity="cwnd")[0]["lines"]  # it was read already
        other = explorer.ask("/api/series", runs=run, quantity="queue")
        assert other.status == 409 and "error" in other.json()


def test_damage_is_said_and_the_rest_shown(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    with running(store) as explorer:
        run, other = (row[0] for row in explorer.json("list")["rows"][:2])
        file = store / "runs" / f"{run}.samples.parquet"
        file.write_bytes(file.read_bytes()[:-100] + bytes(100))
        found = explorer.ask("/api/series", runs=run, quantity="cwnd")
        assert found.status == 409 and "damaged" in found.json()["error"]
        assert lines_of(explorer, runs=other, quantity="cwnd")[0]["lines"]
        assert explorer.json("list")["total"] == 8
        for table in (store / "segments").glob("*/flows.parquet"):
            table.write_bytes(b"nothing")
        for manifest in (store / "segments").glob("*"):
            manifest.touch()
        (store / "segments" / "new").mkdir()
        while not (notes := explorer.json("state")["notes"]):
            pass
        assert "damaged and not shown" in notes[0]


def test_a_store_of_a_newer_version_leaves_the_last_picture(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    shelf = Shelf(store)
    (store / "store.json").write_text('{"format": 99}', encoding="utf-8")
    shelf.refresh(at_once=True)
    assert "written by a newer Dumbbell" in shelf.banner[0] and "last picture" in shelf.banner[0]
    assert shelf.experiment(None).results.runs.height == 8
    (store / "store.json").write_text('{"format": 1}', encoding="utf-8")
    shelf.refresh(at_once=True)
    assert shelf.banner == []


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dumbbell.DumbbellError, match="not a store"):
        Shelf(tmp_path)
    with pytest.raises(dumbbell.DumbbellError, match="there is no such folder"):
        Shelf(tmp_path / "nothing")
