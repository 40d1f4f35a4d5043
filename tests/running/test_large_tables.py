"""Tables over time are read when they are asked for, and no more of them than that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.errors import StoreError
from dumbbell.metrics import METRICS, summary
from dumbbell.report import write_report
from dumbbell.results import Results
from dumbbell.store import large
from dumbbell.store.index import Kept
from dumbbell.store.large import StoredTables

TEXT = """\
dumbbell: 1
name: load
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows:
  - {name: f, from: s1, to: d1, tcp: $cc, start: 500 ms}
  - {name: p, from: s1, to: d1, ping: {interval: 50 ms}}
sampling: {interval: 50 ms, keep: [samples, queues, drops, probes]}
duration: 3 s
factors: {cc: [reno, cubic]}
repeats: 3
"""
LARGE = ("samples", "queues", "drops", "probes")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    (folder / "load.yaml").write_text(TEXT, encoding="utf-8")
    dumbbell.run(folder / "load.yaml", store=folder / "store")
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Which table of which run is read."""
    seen: list[tuple[str, str]] = []
    honest = StoredTables._read

    def noted(self: StoredTables, name: str, runs: Sequence[str], columns: Any) -> pl.DataFrame:
        seen.extend((name, run) for run in runs)
        return honest(self, name, runs, columns)

    monkeypatch.setattr(StoredTables, "_read", noted)
    return seen


def test_what_a_run_prints_reads_only_what_it_needs(
    made: Path, read: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(*_: object) -> pl.DataFrame:
        raise AssertionError("a table of all runs was read")

    monkeypatch.setattr(StoredTables, "load", whole)
    arguments = ["run", str(made / "load.yaml"), "--store", str(made / "store")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "Under load" in done.output
    assert {name for name, _ in read} == {"probes", "queues", "samples"}
    assert len({run for name, run in read if name == "samples"}) == 1  # the one that is drawn


@pytest.mark.slow
def test_a_report_reads_one_repeat_of_what_it_draws(
    made: Path, read: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(*_: object) -> pl.DataFrame:
        raise AssertionError("a table of all runs was read")

    monkeypatch.setattr(StoredTables, "load", whole)
    write_report(made / "store", made / "report.html")
    assert len({run for name, run in read if name == "samples"}) == 2  # one of each cell
    assert len({run for name, run in read if name == "probes"}) == 6


@pytest.mark.slow
def test_results_are_the_same_however_they_are_read(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "_BATCH_BYTES", 6000)
    stored = dumbbell.load_results(made / "store")
    whole = dumbbell.load_results(made / "store").in_memory()
    assert type(whole) is Results
    where: dict[str, Any]
    several = 0
    for name in LARGE:
        parts = list(stored.parts(name))
        several += len(parts) > 1
        assert sum(part["run"].n_unique() for part in parts) == 6  # each run is in one part
        assert pl.concat(parts).equals(getattr(whole, name))
        for where, repeat in [
            ({}, None), ({"cc": "cubic"}, None), ({"flow": "f"}, 2), ({"cc": ["reno"]}, 1),
            ({"cc": "vegas"}, None),
        ]:  # fmt: skip
            if name == "queues" and "flow" in where:
                continue
            found = stored.of_repeat(name, where, repeat)
            assert found.equals(whole.of_repeat(name, where, repeat)), (name, where)
        with pytest.raises(ValueError, match="no factor 'rtt'"):
            stored.of_repeat(name, {"rtt": "1 ms"})
        some = [*stored.runs["run"][1:4], "unknown"]
        column = getattr(whole, name).columns[-1]
        found = stored.of_runs(name, some, [column])
        assert found.equals(whole.of_runs(name, some, [column])) and found["run"].n_unique() == 3
        assert stored.has(name)
        assert name not in stored.__dict__  # none of this has read the table
        assert next(stored.parts(name, ["cc"])).columns == ["run", "cc"]
    assert several > 0
    for metric in ("latency_ms", "latency_p99_ms", "utilisation", "rpm", "probe_loss_ratio"):
        assert summary(stored, METRICS[metric]).equals(summary(whole, METRICS[metric])), metric
    assert not stored.has("hops")
    assert stored.hops.is_empty()
    assert stored.hops.columns == whole.hops.columns
    assert repr(stored) == "<Results of load: 6 runs, 12 flows>"


def test_a_run_that_is_not_kept_is_in_memory(made: Path) -> None:
    results = dumbbell.run(made / "load.yaml", repeats=1)
    assert results.samples.height > 0
    assert results.samples.equals(
        dumbbell.load_results(made / "store").samples.filter(pl.col("repeat") == 0)
    )


def test_a_table_that_goes_while_it_is_wanted_is_named(made: Path) -> None:
    stored = dumbbell.run(made / "load.yaml", set={"cc": "bbr"}, repeats=1, store=made / "other")
    (path,) = (made / "other" / "runs").glob("*.samples.parquet")
    path.unlink()
    with pytest.raises(StoreError) as raised:
        _ = stored.samples
    assert str(raised.value) == f"{path}: cannot be read: missing"


def test_a_file_with_the_columns_of_an_older_version_is_read_with_others(made: Path) -> None:
    stored = dumbbell.load_results(made / "store")
    design = stored.runs.select("run", "cc", "repeat", "seed")
    older, *others = design["run"]
    place = made / "older"
    (place / "runs").mkdir(parents=True)
    for run in design["run"]:
        name = f"{run}.queues.parquet"
        frame = pl.read_parquet(made / "store" / "runs" / name)
        frame = frame.drop("drop_count") if run == older else frame
        frame.write_parquet(place / "runs" / name)
    tables = StoredTables(place, {run: Kept(run, None) for run in design["run"]}, design)
    found = pl.concat(tables.parts("queues", None))
    assert found.columns == stored.queues.columns
    assert set(found.filter(pl.col("run") == older)["drop_count"]) == {-1}
    same = pl.col("run").is_in(others)
    assert found.filter(same).equals(stored.queues.filter(same))
