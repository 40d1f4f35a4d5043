"""What a store holds: listed, exported, and asked in SQL."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

import dumbbell
from benchmarks.stores import CELLS, build
from dumbbell import console
from dumbbell.cli import app
from dumbbell.errors import DumbbellError, StoreError
from dumbbell.execution import execute
from dumbbell.store import Store
from dumbbell.store.contents import contents
from dumbbell.store.query import query
from dumbbell.store.tables import SMALL
from tests.helpers import FakeEngine, loaded
from tests.running.test_merge import TEXT, made, named


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 200 runs in two segments, with samples and queues."""
    folder = tmp_path_factory.mktemp("stores") / "synthetic"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.stores.SEGMENT_RUNS", 150)
        build(folder, 2 * CELLS)
    return folder


def test_a_store_is_listed(tmp_path: Path) -> None:
    store = made(tmp_path / "s", "1/2")
    made(store, text=named("other"), set={"cc": "reno"})
    found = contents(store)
    first, second = found.experiments
    assert (first.name, first.cells, first.done, first.planned) == ("two flows", 4, 4, 8)
    assert (second.name, second.cells, second.done, second.planned) == ("other", 2, 4, 4)
    assert (found.runs, found.unneeded, found.damaged) == (8, 0, [])
    assert first.version == second.version == "1"
    assert abs(first.updated_ns / 1e9 - datetime.now().timestamp()) < 60
    size = sum(path.stat().st_size for path in store.glob("runs/*"))
    size += sum(path.stat().st_size for path in store.glob("segments/*/*.parquet"))
    assert found.size == pytest.approx(size, abs=2)
    assert first.size + second.size == pytest.approx(size, abs=2)
    made(store, engine=FakeEngine("2"))
    again = contents(store)
    assert [one.version for one in again.experiments] == ["1", "2"]
    assert (again.runs, again.unneeded) == (16, 4)
    shown = call("store", "ls", store)
    assert shown.exit_code == 0, shown.output
    assert " other cc=reno" in shown.stdout
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["two", "flows", "fake", "2", "4", "8", "8"] in [line[1:8] for line in lines]
    assert "16 runs, 4 of no experiment" in " ".join(shown.stdout.split())


def test_runs_in_a_journal_are_listed_and_asked(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        execute(loaded(TEXT), FakeEngine(), store)
        found = contents(tmp_path)
        assert found.experiments[0].done == 8
        assert found.experiments[0].version == "1"
        assert query(tmp_path, "select count(*) from flows").item() == 16
        assert query(tmp_path, "select count(*) from samples").item() == 24


def test_damage_is_listed(tmp_path: Path) -> None:
    store = made(tmp_path / "s")
    next(store.glob("segments/*/manifest.json")).write_text("{")
    shown = call("store", "ls", store)
    assert shown.exit_code == 0
    assert "cannot be read; see `dumbbell store verify" in " ".join(shown.stdout.split())
    (store / "store.json").write_text('{"format": 2}')
    assert "newer Dumbbell" in call("store", "ls", store).stderr
    assert call("store", "ls", tmp_path).exit_code == 2


@pytest.mark.slow
def test_every_table_is_a_view_with_factors(synthetic: Path) -> None:
    results = dumbbell.load_results(synthetic)
    for name in ("runs", *SMALL, "samples", "queues", "drops"):
        expected = getattr(results, name)
        found = query(synthetic, f"select * from {name}")
        assert found.columns == expected.columns, name
        keys = expected.columns
        assert found.sort(keys).equals(expected.sort(keys)), name


def test_questions(synthetic: Path) -> None:
    sql = "select cc, rtt, count(*) as n, avg(repeat) as mean from flows group by all order by all"
    found = query(synthetic, sql)
    assert found.height == 20
    assert set(found["n"]) == {10} and set(found["mean"]) == {0.5}
    sql = "select count(*) from samples s join runs r using (run) where r.cc = 'bbr'"
    assert (
        query(synthetic, sql).item()
        == 50 * query(synthetic, "select count(*) / 200 from samples").item()
    )
    assert query(synthetic, "show tables")["name"].to_list() == sorted(
        ["connections", "drops", "flows", "hops", "packets", "pipes", "probes", "program_files",
         "programs", "queues", "runs", "samples", "sockets", "transfers"]
    )  # fmt: skip
    assert "cc" in query(synthetic, "describe flows")["column_name"].to_list()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select goodput from flows", 'Referenced column "goodput" not found'),
        ("select * from flow", "no table 'flow'; did you mean flows?"),
        ("selec", "syntax error"),
        ("", "a query is one statement that reads"),
        ("select 1; select 2", "a query is one statement that reads"),
        ("copy flows to 'x.csv'", "a query is one statement that reads"),
        ("create table x as from flows", "a query is one statement that reads"),
        ("drop view flows", "a query is one statement that reads"),
        ("insert into hidden.design select * from hidden.design", "one statement that reads"),
        ("select * from read_csv('/etc/passwd')", "disabled"),
    ],
)
def test_what_does_not_only_read_the_store_is_refused(sql: str, said: str, synthetic: Path) -> None:
    result = call("query", synthetic, sql)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", ["it's", "s[1]*", 'a "b" c'])
def test_folders_with_strange_names(name: str, tmp_path: Path) -> None:
    store = made(tmp_path / name)
    expected = dumbbell.load_results(store).flows
    found = query(store, "select * from flows")
    assert found.columns == expected.columns
    assert found.sort(found.columns).equals(expected.sort(expected.columns))
    assert query(store, "select count(*) from samples").item() == 24


def test_a_run_made_twice_is_read_once(tmp_path: Path) -> None:
    store = tmp_path / "s"
    with Store(store, write=True) as one, Store(store, write=True) as other:
        for opened in (one, other):
            execute(loaded(TEXT), FakeEngine(), opened)
    assert len(list((store / "segments").iterdir())) == 2
    assert query(store, "select count(*) from flows").item() == 16
    assert contents(store).runs == 8


def test_experiments_are_chosen(tmp_path: Path) -> None:
    store = made(tmp_path / "s")
    made(store, text=named("other"), repeats=1)
    assert query(store, "select count(*) from flows").item() == 8
    assert query(store, "select count(*) from flows", "two flows").item() == 16
    with pytest.raises(StoreError, match="no experiment 'othre'; did you mean other"):
        query(store, "select 1", "othre")


@pytest.mark.parametrize("what", ["segments/*/flows.parquet", "runs/*.samples.parquet"])
def test_damage_is_never_read(what: str, tmp_path: Path) -> None:
    store = made(tmp_path / "s")
    path = next(store.glob(what))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    name = "flows" if "flows" in what else "samples"
    with pytest.raises(StoreError, match="altered: its checksum is not the one recorded"):
        query(store, f"select count(*) from {name}")


def test_output_of_a_query(synthetic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "select cc, sum(delivered_bytes) as sum from flows group by cc order by cc"
    shown = call("query", synthetic, sql)
    assert shown.exit_code == 0, shown.output
    lines = [line.split() for line in shown.stdout.splitlines() if line.strip()]
    assert lines[0] == ["cc", "sum"] and [line[0] for line in lines[2:]] == [
        "bbr", "cubic", "reno", "westwood"
    ]  # fmt: skip
    rows = json.loads(call("query", synthetic, sql, "--json").stdout)
    assert [row["cc"] for row in rows] == ["bbr", "cubic", "reno", "westwood"]
    csv = call("query", synthetic, sql, "--csv").stdout.splitlines()
    assert csv[0] == "cc,sum" and csv[1] == f"bbr,{rows[0]['sum']}"
    assert "choose one" in call("query", synthetic, sql, "--csv", "--json").stderr
    monkeypatch.setattr(console.out, "width", 100)  # another test may have chosen one
    wide = call("query", synthetic, "select * from flows")
    assert all(len(line) <= 100 for line in wide.stdout.splitlines())
    assert (
        "160 of 200 rows and " in wide.stderr and "--csv or --json prints everything" in wide.stderr
    )
    assert len(call("query", synthetic, "select * from flows", "--csv").stdout.splitlines()) == 201


def test_without_duckdb(synthetic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(DumbbellError, match=r"pip install 'dumbbell-lab\[query\]'"):
        query(synthetic, "select 1")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_tables_are_exported(form: str, synthetic: Path, tmp_path: Path) -> None:
    result = call("store", "export", synthetic, "-o", tmp_path, "--format", form)
    assert result.exit_code == 0, result.output
    names = {path.stem for path in tmp_path.iterdir()}
    assert names == {"runs", "flows", "pipes", "samples", "queues"}
    results = dumbbell.load_results(synthetic)
    for name in names:
        path = tmp_path / f"{name}.{form}"
        expected = getattr(results, name)
        if form == "parquet":
            assert pl.read_parquet(path).equals(expected), name
        else:
            found = pl.read_csv(path, schema_overrides=expected.schema)
            assert found.columns == expected.columns and found.height == expected.height
        assert f"{path}: {expected.height} rows" in " ".join(result.stdout.split())


def test_exports_are_checked(synthetic: Path, tmp_path: Path) -> None:
    chosen = call("store", "export", synthetic, "-o", tmp_path, "--table", "flows")
    assert [path.name for path in tmp_path.iterdir()] == ["flows.parquet"], chosen.output
    for arguments, said in (
        (["--table", "flow"], "no table 'flow'; did you mean flows?"),
        (["--format", "xls"], "no such format; there are parquet, csv, flent, iperf3, qlog"),
        (["--experiment", "none"], "no experiment 'none'"),
        (["-o", "/proc/none"], "cannot be written"),
    ):
        result = call("store", "export", synthetic, "-o", tmp_path, *arguments)
        assert result.exit_code == 2
        assert said in result.stderr
