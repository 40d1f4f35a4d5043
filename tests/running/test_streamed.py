"""Sweeps of many cells: made, checked, run and recorded as workers ask for them."""

from __future__ import annotations

import base64
import os
import signal
import sys
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell.engines import engine_named
from dumbbell.errors import ExperimentError, Interrupted, StoreError
from dumbbell.execution import execute, plan, use_progress
from dumbbell.execution import streamed as streamed_module
from dumbbell.execution.enough import execute_enough
from dumbbell.execution.forecast import forecast
from dumbbell.execution.progress import Progress, Sweep, Work
from dumbbell.execution.shard import Shard, dealt_alike
from dumbbell.experiment import Experiment
from dumbbell.experiment.cells import Cells, Group
from dumbbell.experiment.load import Opened, load_text
from dumbbell.runs import Run
from dumbbell.store import MemoryStore, Store
from dumbbell.store.made import Made
from dumbbell.store.merge import merge
from dumbbell.store.reconcile import reconciled
from dumbbell.store.records import Record, read_record
from tests.experiment.test_cells import ONE_BAD
from tests.helpers import BASE, FakeEngine, loaded
from tests.running.test_enough import TEXT as ENOUGH

LEVELS = ", ".join(f"{number} ms" for number in range(1, 21))
#: 80 cells; two of the four controls are one, so 60 scenarios.
GRID = (
    BASE.replace("cubic", "$cc").replace("40 ms", "$rtt")
    + f"factors: {{cc: [reno, cubic, {{label: same, value: cubic}}, bic], rtt: [{LEVELS}]}}\n"
    + "repeats: 2\n"
)


class Heard(Progress):
    """Progress that keeps what it hears."""

    def __init__(self) -> None:
        self.sweeps: list[Sweep] = []
        self.works: list[Work] = []
        self.notes: list[str] = []

    def begin(self, sweep: Sweep) -> None:
        self.sweeps.append(sweep)

    def started(self, work: Work) -> None:
        self.works.append(work)

    def note(self, text: str) -> None:
        self.notes.append(text)


class Counted(Cells):
    """Cells that count how many were made."""

    def __init__(self, experiment: Experiment) -> None:
        self.made: list[int] = []

        def make(number: int) -> object:
            self.made.append(number)
            return experiment.cells[number]

        super().__init__(grid(experiment), make)  # type: ignore[arg-type]


def grid(experiment: Experiment) -> list[Group]:
    """Groups of an experiment whose factors are independent."""
    return [
        ([name], [[level] for level in levels]) for name, levels in experiment.info.factors.items()
    ]


def lazy(text: str) -> Experiment:
    """Experiment whose cells are made one by one."""
    experiment = loaded(text)
    object.__setattr__(experiment, "cells", Counted(loaded(text)))
    return experiment


@pytest.fixture(autouse=True)
def _growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed_module, "_EVERY_S", 0.0)
    monkeypatch.setattr(streamed_module, "PART", 4)


def records(folder: Path) -> list[Record]:
    with Store(folder, write=False) as store:
        return store.experiments()


def test_runs_order_record_and_results_are_those_of_a_list(tmp_path: Path) -> None:
    results = []
    for name, experiment in (("list", loaded(GRID)), ("lazy", lazy(GRID))):
        engine = FakeEngine()
        with Store(tmp_path / name, write=True) as store:
            key = execute(experiment, engine, store, workers=1)
            results.append((engine.executed, store.results(key)))
    (eager, listed), (late, streamed) = results
    assert eager == late
    assert len(eager) == 120
    assert listed.runs.drop("wall_s").equals(streamed.runs.drop("wall_s"))
    assert listed.flows.equals(streamed.flows)
    (one,), (other,) = records(tmp_path / "list"), records(tmp_path / "lazy")
    assert list(one.runs) == list(other.runs)
    assert [run.run for run in other.runs] == [
        task.run.id for task in plan(loaded(GRID), FakeEngine())
    ]


def test_results_in_memory_are_those_of_a_list() -> None:
    found = []
    for experiment in (loaded(GRID), lazy(GRID)):
        memory = MemoryStore()
        found.append(memory.results(execute(experiment, FakeEngine(), memory)))
    assert found[0].flows.equals(found[1].flows)
    assert found[0].flows.height == 2 * 160


def test_few_cells_are_made_before_the_first_run(tmp_path: Path) -> None:
    experiment = lazy(GRID)
    cells = experiment.cells
    assert isinstance(cells, Counted)
    made: list[int] = []
    engine = FakeEngine()

    def first(run: Run) -> None:
        made.append(len(cells.made))

    engine.fail = first
    heard = Heard()
    with Store(tmp_path, write=True) as store, use_progress(heard):
        execute(experiment, engine, store, workers=1)
    assert heard.notes == [
        "two flows: 23 of 80 cells are checked before the first run, the others as they are run; "
        "`dumbbell validate` checks all"
    ]
    # One of each level, and those of the first parts.
    assert made[0] <= 23 + 3 * 4
    assert len(cells.made) == 23 + 160


def test_one_wrong_combination_ends_the_sweep_with_its_error(tmp_path: Path) -> None:
    opened = Opened(ONE_BAD, Path("e.yaml"))
    experiment = loaded(ONE_BAD.replace("15 s", "26 s"))
    object.__setattr__(experiment, "cells", Cells(grid(experiment), opened.reading.cell))
    with Store(tmp_path, write=True) as store, pytest.raises(ExperimentError) as late:
        execute(experiment, FakeEngine(), store, workers=1)
    with pytest.raises(ExperimentError) as whole:
        list(opened.cells())
    assert str(late.value) == str(whole.value)


def test_a_stopped_sweep_is_recorded_and_goes_on(tmp_path: Path) -> None:
    class Stop(Heard):
        stopped = False

        def finished(self, work: Work, result: object) -> None:
            if len(self.works) >= 50 and not self.stopped:
                self.stopped = True
                os.kill(os.getpid(), signal.SIGTERM)

    engine = FakeEngine()
    with (
        Store(tmp_path, write=True) as store,
        use_progress(Stop()),
        pytest.raises(Interrupted) as stopped,
    ):
        execute(lazy(GRID), engine, store, workers=1)
    done = len(engine.executed)
    assert 50 <= done < 60
    assert f"{done} of 160 runs are finished" in str(stopped.value)
    (record,) = records(tmp_path)
    assert set(engine.executed) <= {one.run for one in record.runs}
    heard = Heard()
    with Store(tmp_path, write=True) as store, use_progress(heard):
        key = execute(lazy(GRID), engine, store)
        results = store.results(key)
    assert heard.sweeps[0].kept == done
    assert len(engine.executed) == len(set(engine.executed)) == 120
    assert results.runs.height == 160


def test_cells_of_finished_runs_are_not_made_again(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        execute(lazy(GRID), FakeEngine(), store)
    whole = records(tmp_path)[0]
    engine, experiment = FakeEngine(), lazy(GRID)
    with Store(tmp_path, write=True) as store:
        execute(experiment, engine, store)
    assert not engine.executed
    assert isinstance(experiment.cells, Counted)
    assert len(experiment.cells.made) == 23  # those that are checked before the first run
    assert records(tmp_path)[0].fields() == whole.fields()


def test_cells_are_made_again_by_another_program(tmp_path: Path) -> None:
    """A command that stops earlier than the last one takes nothing away from the record."""
    with Store(tmp_path, write=True) as store:
        execute(lazy(GRID), FakeEngine(), store)
    whole = records(tmp_path)[0].runs
    engine = FakeEngine()
    experiment = lazy(GRID)
    cells = experiment.cells
    assert isinstance(cells, Counted)
    make = cells._make

    def broken(number: int) -> object:
        if len(cells.made) > 40:
            raise ExperimentError("stop")
        return make(number)

    cells._make = broken  # type: ignore[assignment]
    with (
        Store(tmp_path, write=True) as store,
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(ExperimentError, match="stop"),
    ):
        patch.setattr(sys.modules["dumbbell.execution.plan"], "_expansion", lambda: "another")
        execute(experiment, engine, store)
    assert not engine.executed
    kept = records(tmp_path)[0].runs
    assert list(kept) == list(whole)
    assert isinstance(kept, Made)
    assert not kept.planner  # some were not made by the other program


def test_an_older_record_is_read_and_taken_over(tmp_path: Path) -> None:
    """Older versions list the runs of every sweep, with their levels."""
    with Store(tmp_path, write=True) as store:
        execute(loaded(GRID), FakeEngine(), store)
    (old,) = records(tmp_path)
    assert not isinstance(old.runs, Made)
    heard, engine = Heard(), FakeEngine()
    with Store(tmp_path, write=True) as store, use_progress(heard):
        execute(lazy(GRID), engine, store)
    assert heard.sweeps[0].kept == 120
    assert not engine.executed
    (new,) = records(tmp_path)
    assert isinstance(new.runs, Made)
    assert list(new.runs) == list(old.runs)
    assert len(new.encoded()) < len(old.encoded()) / 2


def test_a_changed_record_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        execute(lazy(GRID), FakeEngine(), store)
    fields = {**records(tmp_path)[0].fields(), "seed": 1}
    assert len(Made.read(fields)) == 160
    bomb = base64.b64encode(zlib.compress(bytes(1 << 20))).decode()
    short = base64.b64encode(zlib.compress(bytes(17))).decode()
    for wrong in (
        {"ids": [bomb]},
        {"ids": [short]},
        {"ids": ["AAAA"]},
        {"groups": fields["groups"][:1]},
        {"groups": [*fields["groups"][:1], [["rtt"], [["1 ms", "2 ms"]]]]},
    ):
        with pytest.raises(ValueError, match=r"^it"):
            Made.read({**fields, **wrong})


def test_a_run_is_recorded_before_it_is_made(tmp_path: Path) -> None:
    """If nothing else is due at once, a killed sweep has all its runs in its record."""
    engine = FakeEngine()
    named: list[bool] = []

    def look(run: Run) -> None:
        (record,) = records(tmp_path)
        named.append(run.id in {one.run for one in record.runs})

    engine.fail = look
    with (
        Store(tmp_path, write=True) as store,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(streamed_module, "_TIMES", 0.0)
        execute(lazy(GRID), engine, store, workers=1)
    assert named == [True] * 120


def test_shards_have_all_runs_and_merge(tmp_path: Path) -> None:
    engine, counts, cells = FakeEngine(), [], []
    for number in (1, 2, 3):
        before, experiment = len(engine.executed), lazy(GRID)
        with Store(tmp_path / str(number), write=True) as store:
            execute(experiment, engine, store, shard=Shard(number, 3), workers=1)
        counts.append(len(engine.executed) - before)
        assert isinstance(experiment.cells, Counted)
        cells.append(len(experiment.cells.made) - 23)
    # Each makes the cells of its own runs only. Runs of equal cells may be made by two shards.
    assert sum(cells) == 160
    assert max(cells) - min(cells) <= 1
    assert len(set(engine.executed)) == 120 <= sum(counts) <= 160
    merged = merge([tmp_path / "1", tmp_path / "2"], tmp_path / "all")
    assert merged.undone > 0
    merged = merge([tmp_path / "3"], tmp_path / "all")
    assert merged.undone == 0
    with Store(tmp_path / "all", write=False) as store:
        assert store.results().runs.height == 160
    whole = [task.planned for task in plan(loaded(GRID), FakeEngine())]
    assert list(records(tmp_path / "all")[0].runs) == whole


def test_shards_that_run_at_once_record_the_runs_of_all(tmp_path: Path) -> None:
    """Each process knows its own runs alone; the record of their store has all."""
    parts = []
    for number in (1, 2):
        with Store(tmp_path / str(number), write=True) as store:
            execute(lazy(GRID), FakeEngine(), store, shard=Shard(number, 2))
        (record,) = records(tmp_path / str(number))
        parts.append((record, list(record.runs)))
    with Store(tmp_path / "shared", write=True) as store:
        for record, _ in parts:
            store.record(record.info, record.engine, record.overrides, record.runs)
    (both,) = records(tmp_path / "shared")
    assert len(both.runs) == 160
    assert {one.run for one in both.runs} == {one.run for _, runs in parts for one in runs}
    (one, _), (other, _) = parts
    for mine, theirs in ((one, other), (other, one)):
        data = reconciled(f"experiments/{one.id}.json", mine.encoded(), theirs.encoded())
        assert read_record(one.id, data).runs == both.runs


def test_shards_of_other_traces_do_not_merge(tmp_path: Path) -> None:
    text = GRID.replace("rate: 10 Mbit/s", "shaper: {trace: {file: trace}}")
    assert text != GRID
    folder = tmp_path / "files"
    folder.mkdir()
    for number, times in ((1, "1\n2\n9\n"), (2, "1\n2\n10\n")):
        (folder / "trace").write_text(times)
        whole = load_text(text, folder / "e.yaml")
        experiment = load_text(text, folder / "e.yaml")
        object.__setattr__(experiment, "cells", Counted(whole))
        with Store(tmp_path / str(number), write=True) as store:
            execute(experiment, FakeEngine(), store, shard=Shard(number, 2))
    with pytest.raises(StoreError, match="plan other runs of experiment 'two flows'"):
        merge([tmp_path / "1", tmp_path / "2"], tmp_path / "all")


@pytest.mark.parametrize(("runs", "of"), [(80, 3), (81, 7), (5, 8), (1000, 16)])
def test_shards_divide_alike(runs: int, of: int) -> None:
    own = {
        number: [set(dealt_alike(runs, repeat, Shard(number, of), "e")) for repeat in range(of)]
        for number in range(1, of + 1)
    }
    for repeat in range(of):
        parts = [found[repeat] for found in own.values()]
        assert set().union(*parts) == set(range(runs))
        assert sum(map(len, parts)) == runs
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    for found in own.values():  # over as many repeats as shards, each shard has each cell once
        assert sum(map(len, found)) == runs
        assert set().union(*found) == set(range(runs))


def test_shards_have_all_levels_alike() -> None:
    """Also if a factor has as many levels as there are shards."""
    own = list(dealt_alike(16 * 500, 0, Shard(5, 16), "e"))
    counts = Counter(number % 16 for number in own)
    assert len(counts) == 16
    assert max(counts.values()) < 500 / 16 + 5 * (500 / 16) ** 0.5


def test_a_forecast_of_some_cells_is_that_of_a_list(tmp_path: Path) -> None:
    text = GRID.replace("{label: same, value: cubic}", "vegas")
    engine = FakeEngine()
    with Store(tmp_path, write=True) as store:
        execute(lazy(text), engine, store, shard=Shard(1, 3))
    one, many = forecast(loaded(text), FakeEngine(), tmp_path), lazy(text)
    other = forecast(many, FakeEngine(), tmp_path)
    assert one == replace(other, bytes=one.bytes, work_s=one.work_s)
    assert (other.bytes, other.work_s) == pytest.approx((one.bytes, one.work_s), rel=0.2)
    assert (one.runs, one.done, one.measured) == (160, *[len(engine.executed)] * 2)
    parts = [forecast(many, FakeEngine(), tmp_path, shard=Shard(k, 3)) for k in (1, 2, 3)]
    assert sum(part.runs for part in parts) == 160
    assert [part.done for part in parts] == [one.done, 0, 0]
    cells = many.cells
    assert isinstance(cells, Counted)
    alone = lazy(text)
    new = forecast(alone, FakeEngine(), None)
    assert new.bytes == pytest.approx(forecast(loaded(text), FakeEngine(), None).bytes, rel=0.2)
    assert len(set(alone.cells.made)) < len(cells) / 2  # type: ignore[attr-defined]


def test_only_some_runs_are_made(tmp_path: Path) -> None:
    wanted = {task.run.id for task in plan(loaded(GRID), FakeEngine())[30:40]}
    engine = FakeEngine()
    with Store(tmp_path, write=True) as store:
        execute(lazy(GRID), engine, store, only=wanted)
    assert set(engine.executed) == wanted
    assert not records(tmp_path)


def test_repeats_until_an_interval_are_those_of_a_list(tmp_path: Path) -> None:
    found = []
    for number, experiment in enumerate((loaded(ENOUGH), lazy(ENOUGH))):
        with Store(tmp_path / str(number), write=True) as store:
            key = execute_enough(experiment, engine_named("sim"), store)
            found.append(store.results(key))
    assert found[0].flows.equals(found[1].flows)
