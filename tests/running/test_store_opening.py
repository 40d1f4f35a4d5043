"""Which folders are stores, which can be written, and what is said of the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import dumbbell
from dumbbell.errors import StoreError
from dumbbell.store import Store
from dumbbell.store.temporary import forgotten
from tests.helpers import BASE, ROOT
from tests.running.test_store import VARIED, add_all


def test_a_newer_store_is_left_alone(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        add_all(store, count=1)
    mark = tmp_path / "store.json"
    mark.write_text('{"format": 2}')
    for write in (True, False):
        with pytest.raises(StoreError) as raised:
            Store(tmp_path, write=write)
        assert str(raised.value) == (
            f"{tmp_path}: written by a newer Dumbbell (format 2; this one reads 1); it was left "
            "as it is"
        )


@pytest.mark.parametrize("format_", ["0", "-1", "true", "1.0", '"1"', "null", "[1]"])
def test_only_known_formats_are_read(tmp_path: Path, format_: str) -> None:
    with Store(tmp_path, write=True) as store:
        add_all(store, count=1)
    mark = tmp_path / "store.json"
    mark.write_text(f'{{"format": {format_}}}')
    for write in (True, False):
        with pytest.raises(StoreError) as raised:
            Store(tmp_path, write=write)
        assert str(raised.value) == (
            f"{mark}: there is no format {format_}; allowed: 1; `dumbbell store repair {tmp_path}` "
            "writes it again"
        )
    mark.write_text("nonsense")
    with pytest.raises(StoreError, match="damaged"):
        Store(tmp_path, write=True)


@pytest.mark.slow
def test_the_experiment_run_last_is_known_without_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = time.time_ns()
    names = ["two flows", "other", "third"]
    with Store(tmp_path, write=True) as store:
        for hours_ago, name in enumerate(names):
            monkeypatch.setattr(time, "time_ns", lambda ago=hours_ago: clock - ago * 3600 * 10**9)
            add_all(store, VARIED.replace("two flows", name), count=1)
            assert dumbbell.load_results(tmp_path).experiment.name == name
    with Store(tmp_path, write=True) as store:
        add_all(store, VARIED, count=0)
    assert dumbbell.load_results(tmp_path).experiment.name == "two flows"


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    for write in (True, False):
        with pytest.raises(StoreError) as raised:
            Store(path, write=write)
        assert str(raised.value) == (
            f"{tmp_path}/caf\\xe9: the name of a store should be UTF-8; this one is not: choose "
            "another"
        )
    assert not path.exists()


def test_an_experiment_whose_runs_do_not_fit_it(tmp_path: Path) -> None:
    """As an older version might have left it: without a checksum."""
    with Store(tmp_path, write=True) as store:
        add_all(store, count=1)
    (path,) = (tmp_path / "experiments").iterdir()
    fields = json.loads(path.read_bytes())
    del fields["check"], fields["order"], fields["file"], fields["runs"][0][1]["cc"]
    path.write_text(json.dumps(fields))
    with pytest.raises(StoreError, match="damaged: a run of it has other factors than the exp"):
        dumbbell.load_results(tmp_path)


KILLED = """
import sys, tempfile, time
import dumbbell
from dumbbell import execution
def killed(*_, **__):
    sys.stdout.write("ready\\n"); sys.stdout.flush()
    time.sleep(60)
execution.execute_enough = killed
dumbbell.run(sys.argv[1], captures=sys.argv[2])
"""
CAPTURED = "taps: [{at: r1, link: s1-r1}]\nsampling: {capture: true}\n"


@pytest.mark.slow
def test_the_temporary_store_of_a_killed_run_is_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(BASE.replace("100 s", "6 s") + CAPTURED)
    place, captures = tmp_path / "tmp", tmp_path / "captures"
    others = place / "dumbbell-film-abcdefgh", place / "dumbbell-12345678"
    for other in others:
        other.mkdir(parents=True)
    environment = {**os.environ, "TMPDIR": str(place)}
    command = [sys.executable, "-c", KILLED, str(file), str(captures)]
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        (folder,) = set(place.iterdir()) - set(others)
        assert forgotten() == []  # its process lives
        dumbbell.run(file, captures=captures)
        assert folder.exists()
        child.kill()
    assert forgotten() == [folder]
    dumbbell.run(file, captures=captures)
    assert sorted(place.iterdir()) == sorted(others)


def test_what_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path, write, expected in [
        (
            tmp_path / "none",
            False,
            "not a store of Dumbbell: there is no such folder; `dumbbell run FILE` makes one, "
            "by default `store`",
        ),
        (
            tmp_path / "file",
            False,
            "not a store of Dumbbell, but a file; a store is a folder, by default `store`",
        ),
        (tmp_path, True, "a folder with other things in it, not a store: choose another"),
        (tmp_path / "file", True, "the store cannot be opened: Not a directory"),
        (Path("/proc/none"), True, "the store cannot be opened: No such file or directory"),
    ]:
        with pytest.raises(StoreError) as raised:
            Store(path, write=write)
        assert str(raised.value) == f"{path}: {expected}"
    assert list((tmp_path).iterdir()) == [tmp_path / "file"]


READ_ONLY = """
import os, sys
from pathlib import Path
import polars, dumbbell
from dumbbell.execution import execute
from dumbbell.errors import StoreError
from dumbbell.store import Store
from tests.helpers import FakeEngine, loaded
from tests.running.test_store import VARIED

place = sys.argv[1]

def refuse(event, args):
    # As a file system that is mounted read-only does, for root too.
    changes = event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate")
    writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if (changes or writes) and str(args[0]).startswith(place):
        raise OSError(30, "Read-only file system")

sys.addaudithook(refuse)
engine = FakeEngine()
with Store(Path(place), write=True) as store:
    print(store.results(execute(loaded(VARIED), engine, store)).runs.height, engine.executed)
    try:
        execute(loaded(VARIED, repeats=3), engine, store)
    except StoreError as error:
        print(error, engine.executed)
"""


@pytest.mark.slow
def test_a_read_only_store_that_is_complete_can_be_run_from(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        add_all(store)
        add_all(store, VARIED.replace("two flows", "other"))  # not the one run last
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    command = [sys.executable, "-c", READ_ONLY, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout == (
        "8 []\n"
        f"{tmp_path}: the store cannot be written: Read-only file system; "
        "finished runs are kept []\n"
    ), done.stderr
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
