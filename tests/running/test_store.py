"""The store loses no finished run, and says clearly why it cannot work."""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.engines import Monitor
from dumbbell.errors import StoreError
from dumbbell.execution import execute, plan
from dumbbell.store import Store
from dumbbell.store.journal import Entry, Journal, decode, encode, read
from dumbbell.store.tables import as_now, empty
from tests.helpers import BASE, ROOT, FakeEngine, loaded

VARIED = (
    BASE.replace("tcp: cubic", "tcp: $cc").replace("40 ms", '"${rtt}"')
    + "factors: {rtt: [10 ms, 50 ms], cc: [reno, cubic]}\nrepeats: 2\nseed: 7\n"
)


def add_all(store: Store, text: str = VARIED, count: int | None = None) -> list[str]:
    """Executes the first runs of an experiment one by one."""
    engine = FakeEngine()
    experiment = loaded(text)
    tasks = plan(experiment, engine)
    store.record(experiment.info, engine.name, {}, [task.planned for task in tasks])
    for task in tasks[:count]:
        store.add(task.run, engine.name, engine.version, engine.execute(task.run, Monitor()))
    return [task.run.id for task in tasks[:count]]


def test_results_have_the_place_of_each_run_in_the_design(tmp_path: Path) -> None:
    with Store(tmp_path / "s", write=True) as store:
        add_all(store)
        open_ = store.results()
    closed = dumbbell.load_results(tmp_path / "s")
    for results in (open_, closed):
        flows = results.flows
        assert flows.columns[:7] == ["run", "rtt", "cc", "repeat", "seed", "rtt_ms", "flow"]
        assert flows.select("rtt", "cc", "repeat", "seed", "flow").rows()[:5] == [
            ("10 ms", "reno", 0, 7, "flow1"),
            ("10 ms", "reno", 0, 7, "flow2"),
            ("10 ms", "reno", 1, 8, "flow1"),
            ("10 ms", "reno", 1, 8, "flow2"),
            ("10 ms", "cubic", 0, 7, "flow1"),
        ]
        assert flows.height == 16
        assert results.runs.columns == [
            "run", "rtt", "cc", "repeat", "seed", "rtt_ms", "engine", "engine_version", "digest",
            "wall_s", "packets", "events", "scenario",
        ]  # fmt: skip
        assert results.drops.height == 0
        assert results.drops.columns[:7] == [
            "run", "rtt", "cc", "repeat", "seed", "rtt_ms", "time_ns",
        ]  # fmt: skip
        assert results.experiment.factors == {"rtt": ["10 ms", "50 ms"], "cc": ["reno", "cubic"]}
        assert results.experiment.yaml == VARIED
    assert open_.flows.equals(closed.flows)


def test_tables_over_time_are_kept_where_asked_for(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        add_all(store, VARIED + "sampling: {keep: [samples], repeats: 1}\n")
        samples = store.results().samples
    assert samples.height == 4 * 3
    assert set(samples["repeat"]) == {0}


def test_two_experiments_in_one_store(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        add_all(store)
        add_all(store, VARIED.replace("two flows", "other").replace("reno", "bic"))
    assert dumbbell.load_results(tmp_path).experiment.name == "other"
    assert dumbbell.load_results(tmp_path, "two flows").flows.height == 16
    with pytest.raises(StoreError, match="no experiment 'two flow'; did you mean two flows"):
        dumbbell.load_results(tmp_path, "two flow")


def test_cells_with_one_scenario_share_a_run(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        runs = add_all(store, BASE.replace("5 s", "$t") + "factors: {t: [1 s, 1000 ms]}\n")
        flows = store.results().flows
    assert len(set(runs)) == 1
    assert flows["t"].to_list() == ["1 s", "1 s", "1000 ms", "1000 ms"]


def test_many_runs_become_several_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dumbbell.store.store.SEGMENT_RUNS", 3)
    with Store(tmp_path, write=True) as store:
        add_all(store)
        assert len(list((tmp_path / "segments").iterdir())) == 2
        assert store.results().flows.height == 16
    assert len(list((tmp_path / "segments").iterdir())) == 3
    assert not list((tmp_path / "journal").iterdir())


CHILD = """
import sys, time
from pathlib import Path
from dumbbell.store import Store
from tests.running.test_store import add_all
store = Store(Path(sys.argv[1]), write=True)
add_all(store, count=5)
sys.stdout.write("ready\\n"); sys.stdout.flush()
time.sleep(60)
"""


@pytest.mark.slow
def test_kill_loses_no_finished_run(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path / "s")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        # While the writer lives, others read what it has finished.
        assert dumbbell.load_results(tmp_path / "s").runs.height == 5
        child.send_signal(signal.SIGKILL)
    assert dumbbell.load_results(tmp_path / "s").runs.height == 5
    with Store(tmp_path / "s", write=True) as store:  # the next writer seals them
        assert [p.name for p in (tmp_path / "s" / "journal").iterdir()] == []
        assert len(list((tmp_path / "s" / "segments").glob("*/manifest.json"))) == 1
        assert store.results().runs.height == 5


def test_a_run_cut_short_by_a_power_failure_is_not_counted(tmp_path: Path) -> None:
    store = Store(tmp_path, write=True)
    add_all(store, count=3)
    (journal,) = (tmp_path / "journal").iterdir()
    for missing in (1, 20, 2000):
        data = journal.read_bytes()
        (tmp_path / "cut.log").write_bytes(data[:-missing])
        assert len(read(tmp_path / "cut.log")) == 2
    flipped = bytearray(journal.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    (tmp_path / "cut.log").write_bytes(flipped)
    assert len(read(tmp_path / "cut.log")) == 1


def test_a_segment_without_manifest_or_with_a_torn_table_does_not_count(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        runs = add_all(store, count=2)
    (segment,) = (tmp_path / "segments").iterdir()
    table = segment / "flows.parquet"
    table.write_bytes(table.read_bytes()[:-1])
    with Store(tmp_path, write=True) as store:
        assert runs[0] not in store
        add_all(store, count=2)
        assert store.results().runs.height == 2
    (segment / "manifest.json").unlink()
    assert dumbbell.load_results(tmp_path).runs.height == 2


def test_two_writers_at_once(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as first, Store(tmp_path, write=True) as second:
        add_all(first, count=2)
        add_all(second, BASE.replace("two flows", "other"))
        assert first.results("other").runs.height == 1
    assert dumbbell.load_results(tmp_path, "two flows").runs.height == 2


@pytest.mark.slow
def test_a_full_disk_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path, write=True)
    add_all(store, count=2)
    write = os.write

    def full(handle: int, data: Any) -> int:
        if len(data) > 100:
            return write(handle, data[:100])  # some of it still fits
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoreError) as raised:
            add_all(store, count=4)
    expected = f"{tmp_path}: the store cannot be written: the disk is full; finished runs are kept"
    assert str(raised.value) == expected
    assert dumbbell.load_results(tmp_path).runs.height == 2
    store.close()
    with Store(tmp_path, write=True) as again:
        add_all(again)
    assert dumbbell.load_results(tmp_path).runs.height == 8


def test_a_disk_that_is_full_when_the_segment_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path, write=True)
    add_all(store, count=3)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dumbbell.store.segments.write_plain", full)
        with pytest.raises(StoreError, match="the disk is full; finished runs are kept"):
            store.close()
    assert dumbbell.load_results(tmp_path).runs.height == 3


@pytest.mark.slow
def test_fsync_at_most_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path, write=True)
    add_all(store, count=1)
    synced: list[float] = []
    fsync = os.fsync

    def counted(handle: int) -> None:
        synced.append(time.monotonic())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", counted)
    experiment = loaded(VARIED.replace("two flows", "again"))
    engine = FakeEngine("2")
    for task in plan(experiment, engine):
        store.add(task.run, engine.name, engine.version, engine.execute(task.run, Monitor()))
    assert len(synced) <= 1
    time.sleep(1.0)
    store.tick()
    assert synced
    store.close()


def test_journal_frames() -> None:
    entries = [Entry({"run": str(i)}, {"flows": bytes(range(i))}) for i in range(5)]
    data = b"".join(encode(entry) for entry in entries)
    assert [entry for entry, _ in decode(data)] == entries
    assert [entry for entry, _ in decode(data + b"rubbish that is longer than a head")] == entries


def test_a_journal_is_adopted_once_its_writer_is_gone(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path)
    journal.append(Entry({"run": "a"}))
    assert Journal.adopt(journal.path) is None
    journal.close()
    adopted = Journal.adopt(journal.path)
    assert adopted is not None
    adopted.remove()
    assert Journal.adopt(journal.path) is None


def test_the_address_of_a_run(tmp_path: Path) -> None:
    engine = FakeEngine()
    first = plan(loaded(BASE), engine)[0].run.id
    assert plan(loaded(BASE.replace("two flows", "renamed")), engine)[0].run.id == first
    others = [
        plan(loaded(BASE.replace("40 ms", "41 ms")), engine)[0].run.id,
        plan(loaded(BASE, seed=2), engine)[0].run.id,
        plan(loaded(BASE), FakeEngine("2"))[0].run.id,
    ]
    assert len({first, *others}) == 4


def test_a_record_is_replaced_when_the_experiment_is_run_again(tmp_path: Path) -> None:
    engine = FakeEngine()
    with Store(tmp_path, write=True) as store:
        execute(loaded(VARIED), engine, store)
        execute(loaded(VARIED, repeats=3), engine, store)
        assert store.results().runs.height == 12
        assert len(store.experiments()) == 1
    assert len(engine.executed) == 12
    (path,) = (tmp_path / "experiments").iterdir()
    assert json.loads(path.read_text())["repeats"] == 3


def test_tables_of_an_older_version_are_read_with_what_they_lack_unknown() -> None:
    old = empty("pipes").drop("dropped_aqm_packets", "sojourn_mean_ns")
    row = {name: "x" if kind == pl.String() else 1 for name, kind in old.schema.items()}
    old = pl.DataFrame([row], schema=old.schema).with_columns(pl.lit(5).alias("gone"))
    now = as_now("pipes", old)
    assert now.schema == empty("pipes").schema
    (aqm,), (sojourn,) = now["dropped_aqm_packets"], now["sojourn_mean_ns"]
    assert aqm == -1
    assert math.isnan(sojourn)
    assert now["left_packets"][0] == 1


def test_a_run_s_provenance_is_printed(tmp_path: Path) -> None:
    file, store = tmp_path / "one.yaml", tmp_path / "store"
    file.write_text(
        "dumbbell: 1\nname: one\n"
        "template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}\n"
        "flows: [{from: s1, to: d1, tcp: $cc}]\nduration: 1 s\nfactors: {cc: [reno, cubic]}\n",
        encoding="utf-8",
    )
    runs = dumbbell.run(file, store=store).runs
    first = runs.row(0, named=True)
    shown = CliRunner().invoke(app, ["store", "show", str(store), first["run"][:10]])
    assert shown.exit_code == 0
    for words in (first["run"], "one, cc=reno, repeat 0", first["engine_version"], first["digest"]):
        assert words in shown.stdout
    scenario = CliRunner().invoke(app, ["store", "show", str(store), first["run"], "--scenario"])
    assert scenario.stdout.strip() == first["scenario"]
    for wrong, why in (("zz", "no run 'zz'"), ("", "no run ''")):
        refused = CliRunner().invoke(app, ["store", "show", str(store), wrong])
        assert refused.exit_code == 2 and why in refused.stderr
