"""Sweeps of many cells: made, checked, run and recorded as workers ask for them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from dumbbell.engines import engine_named
from dumbbell.errors import ExperimentError, Interrupted
from dumbbell.execution import execute, plan, use_progress
from dumbbell.execution import streamed as streamed_module
from dumbbell.execution.enough import execute_enough
from dumbbell.execution.forecast import forecast
from dumbbell.execution.progress import Silent, Sweep, Work
from dumbbell.execution.shard import Shard
from dumbbell.experiment import Experiment
from dumbbell.experiment.cells import Cells
from dumbbell.experiment.load import Opened
from dumbbell.runs import Run
from dumbbell.store import MemoryStore, Store
from dumbbell.store.records import Record
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


class Heard(Silent):
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

    def __init__(self, experiment: Experiment, sizes: tuple[int, ...]) -> None:
        self.made: list[int] = []

        def make(number: int) -> object:
            self.made.append(number)
            return experiment.cells[number]

        super().__init__(sizes, make)  # type: ignore[arg-type]


def lazy(text: str, *sizes: int) -> Experiment:
    """Experiment whose cells are made one by one: the product of levels of these numbers."""
    experiment = loaded(text)
    object.__setattr__(experiment, "cells", Counted(loaded(text), sizes))
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
    for name, experiment in (("list", loaded(GRID)), ("lazy", lazy(GRID, 4, 20))):
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
    assert one.fields() == other.fields()
    assert [run.run for run in other.runs] == [
        task.run.id for task in plan(loaded(GRID), FakeEngine())
    ]


def test_results_in_memory_are_those_of_a_list() -> None:
    found = []
    for experiment in (loaded(GRID), lazy(GRID, 4, 20)):
        memory = MemoryStore()
        found.append(memory.results(execute(experiment, FakeEngine(), memory)))
    assert found[0].flows.equals(found[1].flows)
    assert found[0].flows.height == 2 * 160


def test_few_cells_are_made_before_the_first_run(tmp_path: Path) -> None:
    experiment = lazy(GRID, 4, 20)
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
    object.__setattr__(experiment, "cells", Cells((3, 3), opened.reading.cell))
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
        execute(lazy(GRID, 4, 20), engine, store, workers=1)
    done = len(engine.executed)
    assert 50 <= done < 60
    assert f"{done} of 160 runs are finished" in str(stopped.value)
    (record,) = records(tmp_path)
    assert set(engine.executed) <= {one.run for one in record.runs}
    heard = Heard()
    with Store(tmp_path, write=True) as store, use_progress(heard):
        key = execute(lazy(GRID, 4, 20), engine, store)
        results = store.results(key)
    assert heard.sweeps[0].kept == done
    assert len(engine.executed) == len(set(engine.executed)) == 120
    assert results.runs.height == 160


def test_a_record_of_more_runs_stays_until_as_many_were_made(tmp_path: Path) -> None:
    """A command that stops earlier than the last one takes nothing away from the record."""
    with Store(tmp_path, write=True) as store:
        execute(lazy(GRID, 4, 20), FakeEngine(), store)
    whole = records(tmp_path)[0].runs
    engine = FakeEngine()
    experiment = lazy(GRID, 4, 20)
    cells = experiment.cells
    assert isinstance(cells, Counted)
    make = cells._make

    def broken(number: int) -> object:
        if len(cells.made) > 40:
            raise ExperimentError("stop")
        return make(number)

    cells._make = broken  # type: ignore[assignment]
    with Store(tmp_path, write=True) as store, pytest.raises(ExperimentError, match="stop"):
        execute(experiment, engine, store)
    assert not engine.executed
    assert records(tmp_path)[0].runs == whole


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
        execute(lazy(GRID, 4, 20), engine, store, workers=1)
    assert named == [True] * 120


def test_shards_have_all_runs_and_record_them(tmp_path: Path) -> None:
    engine = FakeEngine()
    own = []
    for number in (1, 2, 3):
        before = len(engine.executed)
        with Store(tmp_path / str(number), write=True) as store:
            execute(lazy(GRID, 4, 20), engine, store, shard=Shard(number, 3), workers=1)
        listed = FakeEngine()
        with Store(tmp_path / f"list {number}", write=True) as store:
            execute(loaded(GRID), listed, store, shard=Shard(number, 3), workers=1)
        own.append(engine.executed[before:])
        assert own[-1] == listed.executed
        assert records(tmp_path / str(number))[0].fields() == (
            records(tmp_path / f"list {number}")[0].fields()
        )
    assert len({run for part in own for run in part}) == sum(map(len, own)) == 120


def test_a_forecast_is_that_of_a_list(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        execute(loaded(GRID), FakeEngine(), store, shard=Shard(1, 3))
    for shard in (None, Shard(2, 3)):
        one = forecast(loaded(GRID), FakeEngine(), tmp_path, shard=shard)
        other = forecast(lazy(GRID, 4, 20), FakeEngine(), tmp_path, shard=shard)
        assert one == other
        assert one.done == (40 if shard is None else 0)


def test_only_some_runs_are_made(tmp_path: Path) -> None:
    wanted = {task.run.id for task in plan(loaded(GRID), FakeEngine())[30:40]}
    engine = FakeEngine()
    with Store(tmp_path, write=True) as store:
        execute(lazy(GRID, 4, 20), engine, store, only=wanted)
    assert set(engine.executed) == wanted
    assert not records(tmp_path)


def test_repeats_until_an_interval_are_those_of_a_list(tmp_path: Path) -> None:
    found = []
    for number, experiment in enumerate((loaded(ENOUGH), lazy(ENOUGH, 2))):
        with Store(tmp_path / str(number), write=True) as store:
            key = execute_enough(experiment, engine_named("sim"), store)
            found.append(store.results(key))
    assert found[0].flows.equals(found[1].flows)
