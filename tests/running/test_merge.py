"""Merged stores hold what an undisturbed sweep has; what does not fit together is refused."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import dumbbell
from dumbbell.cli import app
from dumbbell.engines import Monitor, Run, RunResult
from dumbbell.engines.netns import NetnsEngine
from dumbbell.errors import StoreError
from dumbbell.execution import execute
from dumbbell.execution.shard import Shard
from dumbbell.store import Store
from dumbbell.store.digest import digests, of_all
from dumbbell.store.merge import merge
from dumbbell.store.merge_source import IN_REAL_TIME
from dumbbell.store.verify import examine
from tests.helpers import ROOT, FakeEngine, loaded
from tests.running.test_store import VARIED

#: 8 runs, each with a table over time of its own.
TEXT = VARIED + "sampling: {keep: [samples]}\n"


def named(name: str) -> str:
    """Another experiment, with other runs."""
    return TEXT.replace("two flows", name).replace("10 Mbit/s", f"{10 + len(name)} Mbit/s")


class Other(FakeEngine):
    """An engine whose results are its own."""

    _numbers = count()

    def __init__(self, name: str = "fake") -> None:
        super().__init__()
        self.name = name
        self._number = next(self._numbers)

    def execute(self, run: Run, monitor: Monitor) -> RunResult:
        return replace(super().execute(run, monitor), digest=f"{self._number:064x}")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def made(
    folder: Path,
    shard: str = "1/1",
    engine: FakeEngine | None = None,
    text: str = TEXT,
    **options: Any,
) -> Path:
    """A store with a shard of an experiment."""
    number, of = map(int, shard.split("/"))
    with Store(folder, write=True) as store:
        part = Shard(number, of)
        execute(loaded(text, **options), engine or FakeEngine(), store, workers=1, shard=part)
    return folder


def of_store(folder: Path) -> str:
    return of_all(digests(folder))


def parts(folder: Path, of: int, engine: FakeEngine | None = None) -> list[Path]:
    return [made(folder / f"p{k}", f"{k}/{of}", engine) for k in range(1, of + 1)]


@pytest.mark.parametrize("of", [1, 3, 11])
def test_shards_together_are_the_sweep(tmp_path: Path, of: int) -> None:
    whole = made(tmp_path / "whole")
    done = merge(parts(tmp_path, of), tmp_path / "all")
    assert (done.runs, done.undone, done.experiments) == (8, 0, 1)
    assert sum(added for _, added, _ in done.sources) == 8
    assert of_store(tmp_path / "all") == of_store(whole)
    one, other = dumbbell.load_results(whole), dumbbell.load_results(tmp_path / "all")
    for table in ("flows", "pipes", "samples", "transfers", "runs"):
        assert (
            getattr(one, table)
            .drop("wall_s", strict=False)
            .equals(getattr(other, table).drop("wall_s", strict=False))
        )
    found = examine(tmp_path / "all")
    assert not found.damages and not found.leftovers and not found.undone
    engine = FakeEngine()
    made(tmp_path / "all", engine=engine)
    assert engine.executed == []


def test_a_shard_merged_twice_is_harmless(tmp_path: Path) -> None:
    first, second = parts(tmp_path, 2)
    into = tmp_path / "all"
    assert merge([first, first], into).sources == [(first, 4, 0)]
    assert merge([first], into).sources == [(first, 0, 4)]
    again = merge([first, second], into)
    assert again.sources == [(first, 0, 4), (second, 4, 0)]
    assert again.runs == 8
    assert len(list((into / "segments").iterdir())) == 2
    found = examine(into)
    assert not found.damages and not found.leftovers


def test_a_store_that_is_there_is_added_to(tmp_path: Path) -> None:
    into = made(tmp_path / "all", "1/4")
    made(into, text=named("other"))
    done = merge([made(tmp_path / "second", "2/4")], into)
    assert (done.runs, done.undone, done.experiments) == (12, 4, 2)
    # A segment of which some runs are there already.
    whole = made(tmp_path / "whole")
    assert merge([whole], into).sources == [(whole, 4, 4)]
    made(whole, text=named("other"))
    assert of_store(into) == of_store(whole)
    assert dumbbell.load_results(into).experiment.name == "other"
    assert not examine(into).damages


def test_experiments_come_in_the_order_they_were_run(tmp_path: Path) -> None:
    store = made(tmp_path / "a")
    made(store, text=named("later"))
    into = made(tmp_path / "all", text=named("earlier"))
    merge([store], into)
    with Store(into, write=False) as opened:
        names = [record.info.name for record in opened.experiments()]
    assert names == ["earlier", "two flows", "later"]


def test_runs_in_a_journal_are_merged(tmp_path: Path) -> None:
    """Of a writer that lives, and of one that died: its store stays as it is."""
    store = tmp_path / "a"
    opened = Store(store, write=True)
    execute(loaded(TEXT), FakeEngine(), opened, workers=1)
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*")}
    assert merge([store], tmp_path / "alive").runs == 8
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*")} == before
    opened._journal.close()  # type: ignore[union-attr]
    assert merge([store], tmp_path / "dead").runs == 8
    assert list((store / "journal").iterdir())
    assert of_store(tmp_path / "alive") == of_store(tmp_path / "dead") == of_store(store)


def test_without_links_files_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    stores = parts(tmp_path, 2)
    monkeypatch.setattr(os, "link", refuse)
    merge(stores, tmp_path / "all")
    assert of_store(tmp_path / "all") == of_store(made(tmp_path / "whole"))
    file = next((tmp_path / "all" / "runs").iterdir())
    assert file.stat().st_nlink == 1
    assert not examine(tmp_path / "all").damages


def test_damage_of_the_merged_store_is_repaired_by_merging(tmp_path: Path) -> None:
    stores = parts(tmp_path, 2)
    into = tmp_path / "all"
    merge(stores, into)
    for path in (*(into / "runs").iterdir(), next(into.glob("segments/*/flows.parquet"))):
        path.unlink()
        path.write_bytes(b"other")
    done = merge(stores, into)
    assert [added for _, added, _ in done.sources] == [4, 4]
    assert of_store(into) == of_store(made(tmp_path / "whole"))
    assert all(examine(store).damages == [] for store in stores)


def altered(store: Path) -> None:
    path = next((store / "runs").iterdir())
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def newer(store: Path) -> None:
    (store / "store.json").write_text('{"format": 2}')


def no_experiment(store: Path) -> None:
    next((store / "experiments").iterdir()).unlink()


def unsealed(store: Path) -> None:
    """As versions before checksums wrote it."""
    for path in store.glob("segments/*/manifest.json"):
        found = json.loads(path.read_bytes())
        path.write_text(json.dumps({name: found[name] for name in ("format", "tables", "runs")}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (altered, "altered: its checksum is not the one recorded; `dumbbell store repair"),
        (newer, "p2: written by a newer Dumbbell (format 2; this one reads 1)"),
        (no_experiment, ".json: missing; `dumbbell run FILE` with its file writes it again"),
        (unsealed, "4 runs were made before checksums were kept and cannot be verified"),
    ],
)
def test_what_cannot_be_verified_is_refused(
    change: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    stores = parts(tmp_path, 2)
    change(stores[1])
    with pytest.raises(StoreError) as raised:
        merge(stores, tmp_path / "all")
    assert said in str(raised.value)
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"repeats": 3}, "experiment 'two flows' has repeats 2 and 3 (--repeats)"),
        ({"seed": 8}, "experiment 'two flows' has seed 7 and 8 (--seed)"),
        (
            {"engine": FakeEngine("2")},
            "experiment 'two flows' was run by two versions of the engine fake: 1 in",
        ),
        (
            {"text": TEXT.replace("10 Mbit/s", "20 Mbit/s")},
            "the file of experiment 'two flows' differs at line 3: `template: {dumbbell: {pairs",
        ),
        ({"text": TEXT + "# end"}, "differs at line 12: no line and `# end`"),
        ({"engine": Other()}, "has two digests: "),
    ],
)
def test_stores_that_do_not_fit_are_refused(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    first, second = made(tmp_path / "a"), made(tmp_path / "b", **options)
    for arguments in (([first, second], tmp_path / "new"), ([second], first)):
        with pytest.raises(StoreError) as raised:
            merge(*arguments)
        assert said in str(raised.value)
        assert str(first) in str(raised.value) and str(second) in str(raised.value)
    assert not (tmp_path / "new").exists()
    assert of_store(first) == of_store(made(tmp_path / "whole"))


def test_other_levels_are_another_experiment(tmp_path: Path) -> None:
    first = made(tmp_path / "a", set={"cc": "reno"})
    second = made(tmp_path / "b", set={"cc": "cubic"})
    done = merge([first, second], tmp_path / "all")
    assert (done.runs, done.experiments) == (8, 2)


OWN = """\
import dumbbell

@dumbbell.congestion_control("own")
class Own:
    def ssthresh(self, conn, window):
        return 10

    def cong_avoid(self, conn, window, acked):
        window.cwnd = min(window.cwnd + GROWN, 100)
"""
WITH_PLUGIN = """\
dumbbell: 1
name: with a plug-in
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms}}
plugins: {own: ./own.py}
flows: [{from: s1, to: d1, tcp: own}]
duration: 500 ms
"""


def test_shards_with_another_plugin_are_refused(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(WITH_PLUGIN, encoding="utf-8")
    stores = [tmp_path / "a", tmp_path / "b"]
    for store, grown in zip(stores, ("acked", "2 * acked"), strict=True):
        (tmp_path / "own.py").write_text(OWN.replace("GROWN", grown), encoding="utf-8")
        dumbbell.run(tmp_path / "e.yaml", store=store)
    with pytest.raises(StoreError, match=r"plan other .*: other contents of its plug-ins"):
        merge(stores, tmp_path / "all")


def test_plans_that_differ_without_a_run_are_refused(tmp_path: Path) -> None:
    first, second = made(tmp_path / "a"), made(tmp_path / "b", engine=FakeEngine("2"))
    for path in (second / "segments").iterdir():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    with pytest.raises(StoreError, match="plan other runs of experiment 'two flows'"):
        merge([first, second], tmp_path / "all")


def test_of_an_engine_in_real_time_the_first_run_is_kept(tmp_path: Path) -> None:
    assert [NetnsEngine.name] == list(IN_REAL_TIME)
    assert not NetnsEngine.repeatable
    first, second = (made(tmp_path / name, engine=Other("netns")) for name in ("a", "b"))
    assert of_store(first) != of_store(second)
    done = merge([first, second], tmp_path / "all")
    assert done.sources == [(first, 8, 0), (second, 0, 8)]
    assert of_store(tmp_path / "all") == of_store(first)


def test_claims_are_merged(tmp_path: Path) -> None:
    stores = parts(tmp_path, 3)
    for number, store in enumerate(stores):
        (store / "studies").mkdir()
        claims = {"shared": "1", f"own {number}": "2"}
        (store / "studies" / "x.json").write_text(json.dumps(claims))
    merge(stores, tmp_path / "all")
    found = json.loads((tmp_path / "all" / "studies" / "x.json").read_text())
    assert found == {"shared": "1", "own 0": "2", "own 1": "2", "own 2": "2"}
    (stores[1] / "studies" / "x.json").write_text('{"shared": "3"}')
    with pytest.raises(StoreError, match="claim shared of the study x is not the same in"):
        merge(stores, tmp_path / "all")
    (stores[1] / "studies" / "x.json").write_text("[3]")
    with pytest.raises(StoreError, match="damaged; it should hold the claims"):
        merge(stores, tmp_path / "all")


def test_the_verb(tmp_path: Path) -> None:
    first, second = parts(tmp_path, 2)
    into = tmp_path / "all"
    half = call("store", "merge", first, "-o", into)
    assert half.exit_code == 0, half.output
    assert half.stdout.splitlines() == [
        f"{first}: 4 runs added",
        f"{into}: 4 runs of 1 experiment, 4 not done yet",
    ]
    done = call("store", "merge", first, second, "-o", into)
    assert done.stdout.splitlines() == [
        f"{first}: 0 runs added, 4 duplicates",
        f"{second}: 4 runs added",
        f"{into}: 8 runs of 1 experiment",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none", "-o", "all"], "none: not a store of Dumbbell"),
        (["p1", "-o", "p1"], "p1: cannot be merged into itself: choose another -o"),
        (["p1", "-o", "other"], "other: a folder with other things in it, not a store"),
        (["p1", "-o", "/proc/none"], "/proc/none: cannot be written"),
        (["p1"], "Missing option '-o'"),
        (["-o", "all"], "Missing argument"),
    ],
)
def test_mistakes(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "p1")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter").write_text("dear")
    monkeypatch.chdir(tmp_path)
    result = call("store", "merge", *arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_a_full_disk_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = parts(tmp_path, 2)
    link, left = os.link, [6]

    def full(source: str, target: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        link(source, target)

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(StoreError, match="the disk is full; the same command goes on from there"):
        merge(stores, tmp_path / "all")
    monkeypatch.setattr(os, "link", link)
    assert merge(stores, tmp_path / "all").runs == 8
    assert not examine(tmp_path / "all").leftovers


@pytest.mark.slow
def test_a_merge_killed_at_any_step_is_completed_by_the_same_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.running.killed_merge", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    *dead, last = [json.loads(line) for line in done.stdout.splitlines()]
    whole = of_store(made(tmp_path / "whole"))
    assert last["status"] == 0 and set(last["told"]) >= {"os.link", "os.rename", "os.mkdir"}
    assert {line["status"] for line in dead} == {9}
    for line in (*dead, last):
        assert line["again"] == [0, {"digest": whole, "left": []}], line
        assert line["store"] is True
