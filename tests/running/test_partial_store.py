"""A store that is damaged, being written, or older: told, and shown as far as it goes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import dumbbell
from dumbbell.cli import app
from dumbbell.engines import Monitor, SimEngine
from dumbbell.errors import StoreError, StoreWarning
from dumbbell.execution import plan
from dumbbell.store import Store
from dumbbell.store.files import listed
from tests.helpers import loaded
from tests.running.test_damage import delete, flip, truncate

pytestmark = pytest.mark.slow

TEXT = """\
dumbbell: 1
name: "small <b>"
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 30 packets}}
flows: [{name: f, from: s1, to: d1, tcp: $cc}]
duration: 2 s
factors: {cc: [reno, cubic]}
repeats: 2
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.yaml").write_text(TEXT, encoding="utf-8")
    dumbbell.run(folder / "small.yaml", store=folder / "store")
    return folder / "store"


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def called(*words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "100"})


def of_run(store: Path, name: str, run: int) -> Path:
    """A table over time of a run, by its place in the design."""
    runs = dumbbell.load_results(store).runs["run"]
    return store / "runs" / f"{runs[run]}.{name}.parquet"


def reported(store: Path) -> tuple[Result, str]:
    """What the verb says, and the warnings of the page."""
    page = store.with_name("report.html")
    page.unlink(missing_ok=True)
    done = called("report", store, "-o", page)
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    _, found, rest = text.partition('<div class="warning" role="note">')
    return done, rest.partition("</div>")[0] if found else ""


def plain(text: str) -> str:
    return text.replace("<p>", "").replace("</p>", "\n").replace("&#39;", "'")


@pytest.mark.parametrize("alter", [flip, truncate, delete])
def test_a_damaged_run_is_left_out_and_told(store: Path, alter: object) -> None:
    assert callable(alter)
    path = of_run(store, "queues", 1)
    alter(path)
    done, note = reported(store)
    assert done.exit_code == 0
    (warned, last) = done.stderr.splitlines()
    sentence = warned.removeprefix("dumbbell: warning: ")
    assert sentence.startswith(f"1 of 4 runs is damaged and not shown ({path}: ")
    assert sentence.endswith(f"--store {store}` repairs the store.")
    assert plain(note) == sentence + "\n"
    assert last == f"The report: {store.with_name('report.html')}"
    # cc reno has one repeat left, cc cubic both.
    assert "Runs</dt><dd>3, with seeds" in store.with_name("report.html").read_text()


def test_nothing_whole_is_an_error(store: Path) -> None:
    for path in (store / "runs").iterdir():
        truncate(path)
    for words in (("report", store, "-o", store.with_name("r.html")), ("show", store)):
        done = called(*words)
        assert done.exit_code == 2, words
        assert "bytes long, was written with" in done.stderr
    assert not store.with_name("r.html").exists()


def test_a_damaged_segment_an_unreadable_manifest_and_a_lost_experiment(store: Path) -> None:
    second = store.with_name("second.yaml")
    second.write_text(TEXT.replace("small <b>", "second"))
    dumbbell.run(second, store=store)
    (first, other) = listed(store / "experiments", "*.json")
    lost = next(one for one in (first, other) if b'"second"' in one.read_bytes())
    flip(lost)
    done, note = reported(store)
    assert done.exit_code == 0
    assert f"{lost}: damaged: " in done.stderr and f"{lost}: damaged: " in note
    assert "small &lt;b&gt;</h1>" in store.with_name("report.html").read_text()
    (manifest, *_) = store.glob("segments/*/manifest.json")
    manifest.unlink()
    assert reported(store)[0].exit_code == 2, "no run of it can be read"


@pytest.mark.parametrize("text", [None, "nonsense"])
def test_a_store_without_its_mark_is_shown(store: Path, text: str | None) -> None:
    mark = store / "store.json"
    mark.unlink() if text is None else mark.write_text(text)
    done, note = reported(store)
    assert done.exit_code == 0
    assert f"{mark}: " in done.stderr and "writes it again." in plain(note)
    assert called("show", store).exit_code == 0
    with pytest.raises(StoreError):
        dumbbell.load_results(store)


def test_a_store_that_is_being_written(tmp_path: Path) -> None:
    engine, experiment = SimEngine(), loaded(TEXT)
    tasks = plan(experiment, engine)
    place = tmp_path / "store"
    with Store(place, write=True) as store:
        planned = [task.planned for task in tasks]
        store.record(experiment.info, engine.name, {}, planned, file="a b.yaml")
        empty = reported(place)[0]
        assert empty.exit_code == 2
        assert "4 of 4 runs are not finished yet" in empty.stderr
        for task in tasks[:3]:
            result = engine.execute(task.run, Monitor())
            store.add(task.run, engine.name, engine.version, result)
        done, note = reported(place)
        assert done.exit_code == 0
        assert plain(note) == (
            "1 of 4 runs is not finished yet and not shown: a process is writing to the store.\n"
        )
        assert f"dumbbell: warning: {plain(note)}" in done.stderr
    note = plain(reported(place)[1])
    assert note == (
        "1 of 4 runs is not finished and not shown; `dumbbell run 'a b.yaml' --store"
        f" {place}` goes on from there.\n"
    )


def test_an_older_store_is_told(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was made before checksums, by another version of the simulator."""
    for path in store.glob("segments/*/*.json"):
        fields = json.loads(path.read_bytes())
        gone = ("hashes", "files", "experiments", "check")
        path.write_text(json.dumps({key: one for key, one in fields.items() if key not in gone}))
    monkeypatch.setattr("dumbbell._core.engine_version", "9.9")
    done, note = reported(store)
    assert done.exit_code == 0
    first, second = plain(note).splitlines()
    assert first == (
        "4 of 4 runs are from an older version, which recorded no checksums: only their length was"
        " checked."
    )
    assert second.startswith("The runs are of the simulator ") and "this is 9.9" in second
    assert "Over time, cc reno" in store.with_name("report.html").read_text()


def test_a_whole_store_is_silent(made: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    done = called("report", made, "-o", page)
    assert done.stderr == f"The report: {page}\n"
    assert 'class="warning"' not in page.read_text()


def test_figures_of_what_is_whole(store: Path, tmp_path: Path) -> None:
    of_run(store, "samples", 0).unlink()
    drawn = tmp_path / "f.svg"
    done = called("figure", "series", store, "-o", drawn, "--where", "cc=reno")
    assert done.exit_code == 0 and drawn.exists()
    assert "dumbbell: warning: 1 of 4 runs is damaged and not shown" in done.stderr


def test_in_python_damage_is_an_error_unless_asked_for(store: Path) -> None:
    of_run(store, "queues", 3).unlink()
    with pytest.raises(StoreError, match="missing"):
        dumbbell.load_results(store)
    with pytest.warns(StoreWarning, match="1 of 4 runs is damaged and not shown") as told:
        results = dumbbell.load_results(store, partial=True)
    assert len(told) == 1
    assert results.runs.height == 3 and results.queues["run"].n_unique() == 3
    assert results.runs["cc"].to_list() == ["reno", "reno", "cubic"]


def test_animations_of_what_is_whole(store: Path) -> None:
    of_run(store, "queues", 0).unlink()
    page = store.with_name("report.html")
    done = called("report", store, "-o", page, "--animate", "cc=reno")
    assert done.exit_code == 0
    assert "(repeat 1, seed 2)" in page.read_text()
