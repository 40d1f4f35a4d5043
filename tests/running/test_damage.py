"""Damaged and lost files of a store are reported by name, and their runs are rerun."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.engines import RunResult
from dumbbell.errors import EngineError, StoreError, StoreWarning
from dumbbell.execution import execute
from dumbbell.execution.repair import repair
from dumbbell.report import write_report
from dumbbell.results import Results
from dumbbell.store import Store
from dumbbell.store.leftovers import collect
from dumbbell.store.verify import examine
from tests.helpers import FakeEngine, loaded
from tests.running.test_store import VARIED, add_all

TEXT = """\
dumbbell: 1
name: small
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 30 packets, loss: 0.5 %}}
flows: [{name: f, from: s1, to: d1, tcp: $cc}]
taps: [{name: t, at: r1, link: bottleneck}]
sampling: {interval: 100 ms, keep: [samples, queues], capture: true}
duration: 1 s
factors: {cc: [reno, cubic]}
"""
TABLES = ("flows", "pipes", "samples", "queues", "transfers")


def flip(path: Path) -> None:
    """Turns over a bit in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def delete(path: Path) -> None:
    path.unlink()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment file and its store."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.yaml").write_text(TEXT, encoding="utf-8")
    dumbbell.run(folder / "small.yaml", store=folder / "store")
    return folder


@contextmanager
def copied(made: Path) -> Iterator[Path]:
    """A copy of the store, which is altered."""
    store = made / "copy"
    shutil.copytree(made / "store", store)
    try:
        yield store
    finally:
        shutil.rmtree(store)


def same(one: Results, other: Results) -> bool:
    digests = one.runs["digest"].equals(other.runs["digest"])
    return digests and all(getattr(one, name).equals(getattr(other, name)) for name in TABLES)


def files(store: Path) -> list[Path]:
    return sorted(path for path in store.rglob("*") if path.is_file())


def named(store: Path, path: Path) -> bool:
    return path in [damage.path for damage in examine(store).damages]


@pytest.mark.slow
@pytest.mark.parametrize("alter", [flip, truncate, delete])
def test_every_file_that_is_altered_is_named_and_repaired(
    made: Path, alter: Callable[[Path], None]
) -> None:
    whole = dumbbell.load_results(made / "store")
    names = [path.relative_to(made / "store") for path in files(made / "store")]
    # Mark, experiment, five tables and their manifest, of two runs two tables and a capture.
    assert len(names) == 1 + 1 + 6 + 2 * 3
    for name in names:
        with copied(made) as store:
            alter(store / name)
            assert named(store, store / name), name
            # Of two runs one may be left to show: then the damage is a warning, here an error.
            with pytest.raises((StoreError, StoreWarning), match=re.escape(f"{store / name}: ")):
                write_report(store, made / "report.html")
            with pytest.raises(StoreError) as raised:
                dumbbell.load_results(store)
            assert str(raised.value).startswith(f"{store / name}: "), raised.value
            assert "` repairs it" in str(raised.value) or "store repair" in str(raised.value)
            if name.name == "store.json" and alter is not delete:
                with pytest.raises(StoreError, match=r"store repair .* writes it again"):
                    dumbbell.run(made / "small.yaml", store=store)
                repair(store)
            again = dumbbell.run(made / "small.yaml", store=store)
            assert same(again, whole), name
            assert examine(store).damages == []
            assert same(dumbbell.load_results(store), whole)
            collect(store, dry=False)
            assert examine(store).leftovers == []


@pytest.mark.slow
@pytest.mark.parametrize("alter", [flip, truncate, delete])
def test_repair_needs_nothing_but_the_store(made: Path, alter: Callable[[Path], None]) -> None:
    whole = dumbbell.load_results(made / "store")
    for name in [path.relative_to(made / "store") for path in files(made / "store")]:
        if name.parts[0] == "experiments":
            continue  # that is what it is made from
        with copied(made) as store:
            alter(store / name)
            found, failed = repair(store)
            assert (found.damages, found.leftovers, failed) == ([], [], []), name
            assert same(dumbbell.load_results(store), whole)


@pytest.mark.slow
def test_no_flipped_bit_goes_unnoticed(made: Path) -> None:
    draw = random.Random(1)
    with copied(made) as store:
        for path in files(store):
            data = path.read_bytes()
            for _ in range(20 if path.name != "store.json" else 0):
                altered = bytearray(data)
                altered[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
                path.write_bytes(altered)
                assert named(store, path), path
            path.write_bytes(data)
        assert examine(store).damages == []


def test_what_was_lost_is_not_said_to_be_there(made: Path) -> None:
    with copied(made) as store:
        shutil.rmtree(store / "runs")
        done = CliRunner().invoke(
            app, ["run", str(made / "small.yaml"), "--store", str(store)], env={"COLUMNS": "200"}
        )
        assert done.exit_code == 0, done.output
        assert "in the store already" not in done.output
        assert "missing (and 5 more): 2 runs are rerun" in done.output
        assert dumbbell.load_results(store).samples.height > 0


@pytest.mark.slow
def test_a_run_made_again_with_another_digest_is_refused(tmp_path: Path) -> None:
    text = VARIED + "sampling: {keep: [samples]}\n"
    with Store(tmp_path, write=True) as store:
        runs = add_all(store, text)
    delete(tmp_path / "runs" / f"{runs[2]}.samples.parquet")
    engine = FakeEngine()
    honest = engine.execute
    engine.execute = lambda run, monitor: replaced(honest(run, monitor))  # type: ignore[method-assign]
    with Store(tmp_path, write=True) as store:
        with pytest.raises(EngineError, match=r"its digest is 00; recorded was [0-9a-f]{64}"):
            execute(loaded(text), engine, store)
        assert runs[2] not in store
        engine.repeatable = False  # type: ignore[misc]
        execute(loaded(text), engine, store)
        assert store.results().runs.height == 8
    assert len(engine.executed) == 2


def replaced(result: RunResult) -> RunResult:
    return replace(result, digest="00")


@pytest.mark.slow
def test_verbs(made: Path) -> None:
    def told(*arguments: object) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["store", *map(str, arguments)])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    with copied(made) as store:
        assert told("verify", store) == (
            0,
            f"{store}: 1 experiment, 2 runs, nothing found damaged\n",
        )
        assert told("gc", store) == (0, "nothing to remove\n")
        status, text = told("digest", store)
        lines = text.splitlines()
        assert status == 0
        assert [line.split("  ")[1] for line in lines] == [
            "small: sim, cc=reno, repeat 0, seed 1",
            "small: sim, cc=cubic, repeat 0, seed 1",
            f"{store}: all 2 runs",
        ]
        assert told("digest", store, made / "store")[0] == 0
        (store / "runs" / ("0" * 32 + ".samples.parquet")).write_bytes(b"x" * 2048)
        (store / ".store.json.12-0123abcd.tmp").write_bytes(b"")
        status, text = told("gc", "--dry-run", store)
        assert status == 0
        assert text.splitlines()[-1] == "2 kB would be removed"
        assert told("gc", store)[1].splitlines()[-1] == "2 kB removed"
        assert len(files(store)) == len(files(made / "store"))
        altered = next((store / "runs").glob("*.samples.parquet"))
        flip(altered)
        status, text = told("verify", store)
        assert status == 1
        assert text.splitlines() == [
            f"{altered}: altered: its checksum is not the one recorded (1 run)",
            f"{store}: 1 file damaged, 1 run lost, 1 whole; "
            f"`dumbbell store repair {store}` reruns damaged runs",
        ]
        assert told("digest", store)[0] == 2
        assert told("repair", store)[0] == 0
        other = made / "other"
        dumbbell.run(made / "small.yaml", set={"cc": "reno"}, seed=2, store=other)
        status, text = told("digest", store, other)
        assert status == 1
        assert "small: sim, cc=reno, repeat 0, seed 1" in text
        assert text.splitlines()[-1] == "3 runs differ"


def test_a_store_without_checksums_is_read_and_said_to_have_none(tmp_path: Path) -> None:
    """As they were made before: manifests and experiments without seals, files not noted."""
    text = VARIED + "sampling: {keep: [samples]}\n"
    with Store(tmp_path, write=True) as store:
        add_all(store, text)
    for path, gone in [
        *(
            (one, ("hashes", "files", "experiments", "check"))
            for one in tmp_path.glob("segments/*/*.json")
        ),
        *((one, ("file", "order", "check")) for one in tmp_path.glob("experiments/*.json")),
    ]:
        fields = json.loads(path.read_bytes())
        path.write_text(json.dumps({k: v for k, v in fields.items() if k not in gone}))
    found = examine(tmp_path)
    assert (found.damages, found.leftovers) == ([], [])
    assert len(found.unchecked) == len(found.runs) == 8
    assert dumbbell.load_results(tmp_path).samples.height == 24
    engine = FakeEngine()
    with Store(tmp_path, write=True) as store:
        execute(loaded(text), engine, store)
    assert engine.executed == []


def test_nothing_of_a_living_writer_is_left_behind(made: Path, tmp_path: Path) -> None:
    """What it has written and not yet noted, and what it is about to complete."""
    with Store(tmp_path, write=True) as store:
        add_all(store, VARIED + "sampling: {keep: [samples]}\n", count=2)
        (journal,) = (tmp_path / "journal").iterdir()
        mine = tmp_path / "runs" / ("1" * 32 + ".samples.parquet")
        unfinished = tmp_path / "runs" / f".{'2' * 32}.pcapng.{journal.stem}.tmp"
        for path in (mine, unfinished):
            path.write_bytes(b"x")
        assert examine(tmp_path).leftovers == []
        collect(tmp_path, dry=False)
        assert mine.exists() and unfinished.exists()
    assert {one.path for one in examine(tmp_path).leftovers} == {mine, unfinished}
    collect(tmp_path, dry=False)
    assert not mine.exists() and not unfinished.exists()
    assert examine(tmp_path).damages == []


def test_a_damaged_journal_is_named_and_its_runs_are_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path, write=True)
    runs = add_all(store)
    journal = store._journal
    assert journal is not None
    journal.close()  # as when its process is gone
    flip(journal.path)
    found = examine(tmp_path)
    assert [damage.path for damage in found.damages] == [journal.path]
    assert "are no finished run: cut short when its writer died, or altered" in str(
        found.damages[0]
    )
    engine = FakeEngine()
    with Store(tmp_path, write=True) as again:
        execute(loaded(VARIED), engine, again)
    assert engine.executed
    assert set(engine.executed) < set(runs)
    assert examine(tmp_path).damages == []
    assert dumbbell.load_results(tmp_path).runs.height == 8


def test_runs_of_another_version_are_not_repaired_by_this_one(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with copied(made) as store:
        next((store / "runs").glob("*.samples.parquet")).unlink()
        monkeypatch.setattr("dumbbell.engines.SimEngine.version", "another")
        found, failed = repair(store)
        assert len(found.damages) == 1
        assert failed == [
            "small: 1 damaged runs are of another version of the engine sim: "
            f"`dumbbell run {made / 'small.yaml'} --store {store}` makes those of this version"
        ]
        dumbbell.run(made / "small.yaml", store=store)
        assert examine(store).damages == []


def test_what_no_experiment_needs_is_no_damage(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of another version, left in the store: damaged, they are only in the way."""
    with copied(made) as store:
        monkeypatch.setattr("dumbbell.engines.SimEngine.version", "another")
        dumbbell.run(made / "small.yaml", store=store)
        old = min((store / "segments").iterdir())
        flip(old / "flows.parquet")
        found = examine(store)
        assert found.damages == []
        assert [one.path for one in found.leftovers] == [old]
        collect(store, dry=False)
        assert not old.exists()
        assert dumbbell.load_results(store).runs.height == 2
