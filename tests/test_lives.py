"""A sender that is done keeps its last window: no drawing goes on after the end of its flow."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.explore.series import Lines
from dumbbell.figures import plot
from dumbbell.lives import while_alive
from dumbbell.results import Results
from dumbbell.show.chosen import choose

TEXT = """\
dumbbell: 1
name: short flow
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows:
  - {name: short, from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 1 MB}}
  - {name: long, from: s2, to: d2, tcp: cubic}
duration: 5 s
sampling: {interval: 100 ms, keep: [samples, queues]}
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lives")
    (folder / "e.yaml").write_text(TEXT, encoding="utf-8")
    dumbbell.run(folder / "e.yaml", store=folder / "store")
    return folder / "store"


@pytest.fixture(scope="module")
def results(store: Path) -> Results:
    return dumbbell.load_results(store)


def end_s(results: Results) -> float:
    """End of the short flow."""
    found = results.flows.filter(pl.col("flow") == "short")["end_ns"][0] / 1e9
    assert 0.8 < found < 3  # 1 MB in 10 Mbit/s, shared
    return float(found)


def test_rows_end_with_their_flow(results: Results) -> None:
    found = while_alive(results.samples, results.flows)
    last = dict(found.group_by("flow").agg(pl.col("time_ns").max() / 1e9).iter_rows())
    assert last["short"] <= end_s(results) < results.samples["time_ns"].max() / 1e9  # type: ignore[operator]
    assert last["long"] == 5
    unknown = results.flows.with_columns(end_ns=pl.lit(-1, pl.Int64))
    assert while_alive(results.samples, unknown).equals(results.samples)
    assert while_alive(results.samples, unknown.clear()).equals(results.samples)


def test_windows_on_the_terminal_end_with_their_flow(store: Path, results: Results) -> None:
    drawn = choose(store, None, None).samples.filter(pl.col("flow") == "short")
    assert drawn["time_ns"].max() / 1e9 <= end_s(results)  # type: ignore[operator]


def test_windows_of_a_figure_end_with_their_flow(results: Results) -> None:
    text = plot(results, "window").spec["data"]["values"]
    rows = pl.read_csv(text.encode())
    drawn = rows.filter((pl.col("flow") == "short") & pl.col("time").is_not_null())
    assert drawn["time"].max() <= end_s(results) + 0.005  # type: ignore[operator]


def test_lines_of_the_explorer_end_with_their_flow(store: Path, results: Results) -> None:
    class Stored:
        """What lines read of an experiment."""

        def __init__(self) -> None:
            self.results = results

        def rows(self, table: str, runs: list[str], columns: list[str]) -> pl.DataFrame:
            return results.of_runs(table, runs, columns)

    run = results.runs["run"][0]
    found = {one.name: one for one in Lines(Stored()).of([run], "cwnd")}  # type: ignore[arg-type]
    assert found["short"].times[-1] <= end_s(results)
    assert found["long"].times[-1] == 5
