"""Stores at a URL: nothing is lost, nothing half uploaded is seen, messages name the URL."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli.app import app
from dumbbell.errors import DumbbellError, EngineError, StoreError, StoreWarning
from dumbbell.execution import execute
from dumbbell.execution.elsewhere import opened_executor
from dumbbell.execution.repair import repair
from dumbbell.execution.shard import shard_of
from dumbbell.files.urls import store_path, url_of
from dumbbell.store import Store, objects, remote
from dumbbell.store import store as stores
from dumbbell.store.digest import digests, of_all
from dumbbell.store.reconcile import reconciled
from dumbbell.store.records import Record, record_id
from dumbbell.store.verify import examine
from tests.helpers import BASE, ROOT, FakeEngine, loaded
from tests.running.test_store import VARIED

URL = "memory://lab/sweep"
TEXT = VARIED + "sampling: {keep: [samples]}\n"

Machine = Callable[[], None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Goes to another machine: one with an empty cache."""
    numbers = itertools.count()
    for name, value in (("PATIENCE_S", 0.5), ("FIRST_PAUSE_S", 0.01), ("LONGEST_PAUSE_S", 0.02)):
        monkeypatch.setattr(objects, name, value)
    monkeypatch.setattr(remote, "FRESH_S", 0.0)

    def another() -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache{next(numbers)}"))

    another()
    return another


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield
    MemoryFileSystem.store.clear()


def filled(place: str | Path = URL, text: str = TEXT, **options: Any) -> None:
    with Store(store_path(place), write=True) as store:
        execute(loaded(text, **options), FakeEngine(), store, workers=1)


def digest(place: str | Path = URL) -> str:
    return of_all(digests(store_path(place)))


def there(pattern: str) -> list[str]:
    """Objects whose names contain a text."""
    return sorted(name for name in MemoryFileSystem.store if pattern in name)


def cut(name: str) -> None:
    """Truncates an object."""
    data = MemoryFileSystem.store[name].getvalue()
    MemoryFileSystem().pipe_file(name, data[: len(data) // 2])


class Refusal:
    """A method of the object store that fails; counts its calls.

    Attributes:
        fails: Returns true if the call of this number (from 1) fails.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, method: str, error: Exception) -> None:
        self.calls = 0
        self.fails: Callable[[int], bool] = lambda number: True
        before = getattr(MemoryFileSystem, method)

        def refusing(*args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.fails(self.calls):
                raise error
            return before(*args, **options)

        monkeypatch.setattr(MemoryFileSystem, method, refusing)


def test_another_machine_finds_everything(machine: Machine, tmp_path: Path) -> None:
    filled()
    filled(tmp_path / "local")
    machine()
    assert digest() == digest(tmp_path / "local")
    results = dumbbell.load_results(URL)
    assert results.samples.equals(dumbbell.load_results(tmp_path / "local").samples)
    found = examine(store_path(URL))
    assert not found.damages and not found.leftovers and len(found.runs) == 8


def test_finished_runs_are_not_made_again(machine: Machine) -> None:
    filled()
    machine()
    engine = FakeEngine()
    with Store(store_path(URL), write=True) as store:
        execute(loaded(TEXT, repeats=3), engine, store, workers=1)
    assert len(engine.executed) == 4
    machine()
    assert dumbbell.load_results(URL).runs.height == 12


KILLED = """
import os, sys
from tests.running.test_remote_store import *
with Store(store_path(sys.argv[1]), write=True) as store:
    execute(loaded(TEXT), FakeEngine(), store, workers=1)
    os._exit(9)
"""


def test_runs_of_a_killed_writer_are_uploaded(machine: Machine, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/remote"
    done = subprocess.run([sys.executable, "-c", KILLED, url], cwd=ROOT, check=False)
    assert done.returncode == 9
    assert not list((tmp_path / "remote").glob("segments/*"))
    filled(tmp_path / "local")
    assert digest(url) == digest(tmp_path / "local")  # the next command, which only reads
    machine()
    assert digest(url) == digest(tmp_path / "local")
    assert not list((tmp_path / "remote").rglob("*.tmp"))


@pytest.mark.parametrize("method", ["put_file", "get_file", "find", "cat_file"])
def test_a_store_that_refuses_is_asked_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, method: str, tmp_path: Path
) -> None:
    filled(tmp_path / "local")
    refusal = Refusal(monkeypatch, method, OSError("SlowDown"))
    refusal.fails = lambda number: number <= 3
    with pytest.warns(StoreWarning, match=rf"{URL}: refuses \(SlowDown\); asked again for 0.5 s"):
        filled()
        machine()
        assert digest() == digest(tmp_path / "local")
    assert refusal.calls > 3


def test_what_a_store_refused_is_uploaded_by_the_next_command(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    filled(tmp_path / "local")
    refusal = Refusal(monkeypatch, "put_file", OSError("SlowDown"))
    message = (
        "memory://lab/sweep: cannot be written: refused for 0.5 s: SlowDown; nothing is lost: "
        "finished runs are kept on this machine, and the next command with this URL uploads them"
    )
    with pytest.warns(StoreWarning), pytest.raises(StoreError) as raised:
        filled()
    assert str(raised.value) == message
    with pytest.warns(StoreWarning, match="cannot be written: SlowDown; nothing is lost"):
        assert digest() == digest(tmp_path / "local")  # reads what is here, and says so
    assert not there("manifest")
    refusal.fails = lambda number: False
    dumbbell.load_results(URL)
    machine()
    assert digest() == digest(tmp_path / "local")


@pytest.mark.parametrize(
    ("error", "words"),
    [(PermissionError("AccessDenied"), "no permission: AccessDenied"), (ValueError("so"), "so")],
)
def test_a_refusal_for_good_is_not_asked_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    refusal = Refusal(monkeypatch, "pipe_file", error)
    engine = FakeEngine()
    with (
        pytest.raises(StoreError, match=f"^{URL}: cannot be written: {words}; nothing is lost"),
        Store(store_path(URL), write=True) as store,
    ):
        execute(loaded(TEXT), engine, store, workers=1)
    assert not engine.executed  # before any run
    assert refusal.calls <= 2  # before runs, and as the store is closed


def test_nothing_half_uploaded_is_seen(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upload ends after each object in turn; another machine finds a store without damage."""
    monkeypatch.setattr(objects, "_THREADS", 1)
    refusal = Refusal(monkeypatch, "put_file", PermissionError("no"))
    seen = set()
    for last in range(0, 16):
        MemoryFileSystem.store.clear()
        refusal.calls = 0
        refusal.fails = lambda number, last=last: number > last  # type: ignore[misc]
        machine()
        whole = True
        try:
            filled()
        except StoreError:
            whole = False
        machine()
        found = examine(store_path(URL))
        assert not found.damages
        assert len(found.runs) == (8 if whole else 0)
        seen.add(whole)
    assert seen == {True, False}


def test_sealed_segments_are_uploaded_meanwhile(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "SEGMENT_RUNS", 2)
    with Store(store_path(URL), write=True) as store:
        execute(loaded(TEXT), FakeEngine(), store, workers=1)
        assert store.remote is not None and store.remote._thread is not None
        store.remote._thread.join()
        assert there("manifest")
    assert len(there("manifest")) == 4


@pytest.mark.parametrize("which", [".samples.parquet", "/flows.parquet"])
def test_a_truncated_object_is_named(machine: Machine, which: str) -> None:
    filled()
    name = there(which)[0]
    cut(name)
    machine()
    found = examine(store_path(URL))
    path = name.removeprefix("/lab/sweep/")
    with pytest.raises(StoreError, match=rf"^{URL}/{path}: \d+ bytes long, was written with \d+"):
        dumbbell.load_results(URL)
    assert [str(one.path.relative_to(store_path(URL))) for one in found.damages] == [path]


def test_a_table_truncated_on_its_way_is_fetched_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled()
    whole = digest()
    before = MemoryFileSystem.get_file
    cuts = set()

    def get(self: MemoryFileSystem, source: str, to: str, **options: Any) -> None:
        before(self, source, to, **options)
        if source.endswith((".samples.parquet", "flows.parquet")) and source not in cuts:
            cuts.add(source)
            Path(to).write_bytes(Path(to).read_bytes()[:-7])

    monkeypatch.setattr(MemoryFileSystem, "get_file", get)
    machine()
    assert digest() == whole
    assert len(cuts) == 9


def test_a_machine_with_a_sound_copy_mends_the_remote_one(machine: Machine) -> None:
    filled()
    whole = digest()
    cut(there("/flows.parquet")[0])
    assert digest() == whole
    machine()
    assert digest() == whole


def test_repair_mends_the_remote_copy(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(BASE.replace("100 s", "6 s"))
    dumbbell.run(file, store=URL)
    whole = digest()
    (damaged,) = there("/flows.parquet")
    cut(damaged)
    cut(there(".samples.parquet")[0])
    machine()
    left, failed = repair(store_path(URL))
    assert not left.damages and not failed
    assert damaged not in there("/flows.parquet")  # or it would be fetched again
    machine()
    assert digest() == whole
    assert not examine(store_path(URL)).damages


def test_two_machines_write_one_store(machine: Machine, tmp_path: Path) -> None:
    filled(tmp_path / "local")
    opened = []
    for half in (1, 2):  # both fetch before either uploads
        store = Store(store_path(URL), write=True)
        execute(loaded(TEXT), FakeEngine(), store, workers=1, shard=shard_of((half, 2)))
        opened.append(store)
        machine()
    for store in opened:
        store.close()
    assert digest() == digest(tmp_path / "local")


def test_records_that_two_machines_changed() -> None:
    def record(order: int) -> bytes:
        info = loaded(TEXT).info
        return Record(record_id(info, {}, "sim"), info, "sim", {}, 5, (), order).encoded()

    name = f"experiments/{record_id(loaded(TEXT).info, {}, 'sim')}.json"
    old, new = record(1), record(2)
    assert reconciled(name, old, new) == reconciled(name, new, old) == new
    assert reconciled(name, old, new[:-9]) == reconciled(name, old[:-9], old) == old
    assert reconciled(name, None, new[:-9]) == new[:-9]
    mine, theirs = b'{"a": "1", "b": "1"}', b'{"b": "2", "c": "3"}'
    joined = {"a": "1", "b": "2", "c": "3"}
    assert json.loads(reconciled("studies/s.json", mine, theirs)) == joined
    assert reconciled("studies/s.json", mine, theirs[:-3]) == mine


def said(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, done.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "e.yaml"
    path.write_text(
        BASE.replace("100 s", "6 s").replace("cubic", "$cc") + "factors: {cc: [reno]}\n"
    )
    return path


def test_verbs_of_the_store_take_a_url_and_name_it(machine: Machine, file: Path) -> None:
    code, text = said("run", str(file), "--store", URL)
    assert code == 0 and f"Runs are kept in {URL}. Windows and queues" in text
    for arguments in (["verify", URL], ["ls", URL], ["digest", URL, URL], ["gc", URL]):
        machine()
        code, text = said("store", *arguments)
        assert code == 0 and (URL in text or arguments[0] == "gc"), text
        assert str(store_path(URL)) not in text
    code, text = said("store", "merge", URL, "-o", "memory://lab/all")
    assert code == 0 and "memory://lab/all: 1 run of 1 experiment" in text
    machine()
    assert digest("memory://lab/all") == digest()


@pytest.mark.slow
def test_every_verb_takes_a_url(machine: Machine, file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text().replace("[reno]", "[reno, cubic]") + "repeats: 2\n")
    baseline = ["--baseline", str(tmp_path / "b.json"), "--update"]
    code, text = said("check", str(file), "--store", URL, *baseline)
    assert code == 0, text
    for arguments in (
        ["show", URL],
        ["report", URL, "-o", str(tmp_path / "r.html")],
        ["figure", "window", URL, "-o", str(tmp_path / "f.json")],
        ["contrast", URL, "--factor", "cc"],
        ["run", str(file), "--dry-run", "--store", URL],
        ["query", URL, "select count(*) from runs", "--csv"],
        ["store", "export", URL, "-o", str(tmp_path / "tables")],
    ):
        machine()
        code, text = said(*arguments)
        assert code == 0, text
        assert str(store_path(URL)) not in text


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("memry://lab/x", "there is no protocol memry; did you mean memory?; allowed: s3, file"),
        ("memory:/lab/x", "a URL has two slashes, as memory://bucket/sweep"),
        ("memory://lab/none", "not a store of Dumbbell"),
    ],
)
def test_a_wrong_url_has_one_message(machine: Machine, url: str, words: str) -> None:
    with pytest.raises(StoreError) as raised:
        dumbbell.load_results(url)
    assert str(raised.value).startswith(f"{url}: {words}")
    code, text = said("store", "verify", url)
    assert code == 2 and words[:20] in text and "Traceback" not in text


def test_a_place_with_other_things_is_refused(machine: Machine) -> None:
    MemoryFileSystem().pipe_file("/lab/sweep/photos/a.jpg", b"a")
    with pytest.raises(StoreError, match=r"other things are there \(photos\), not a store"):
        filled()
    assert not there("store.json")


def test_the_packages_that_a_url_needs(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    wanted = r"^s3://b/p: .*s3fs.*pip install 'dumbbell-lab\[remote\]'"
    with pytest.raises(StoreError, match=wanted):
        dumbbell.load_results("s3://b/p")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(StoreError, match=r"needs fsspec: pip install 'dumbbell-lab\[remote\]'"):
        dumbbell.load_results("memory://lab/other")


def test_workers_share_no_url(machine: Machine, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    file = tmp_path / "e.yaml"
    file.write_text(BASE.replace("100 s", "6 s"))
    with (
        ThreadPoolExecutor(1) as pool,
        opened_executor(pool, None, shared=True),
        pytest.raises(EngineError, match=f"^{URL}: workers share a folder, no URL"),
    ):
        dumbbell.run(file, store=URL)


def test_a_folder_stays_a_folder(tmp_path: Path) -> None:
    assert store_path("store") == Path("store")
    assert store_path(tmp_path) == tmp_path
    assert url_of(tmp_path) is None
    with pytest.raises(DumbbellError, match="s3:/b/p: a URL has two slashes"):
        store_path(Path("s3://b/p"))
