"""Experiments run on several threads, resumably, and stop cleanly."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

import dumbbell
from dumbbell import _core
from dumbbell.engines import Run, engine_named
from dumbbell.errors import EngineError, ExperimentError
from dumbbell.execution import Interrupted, execute, use_progress
from dumbbell.execution.progress import Progress, Sweep
from dumbbell.store import Store
from tests.helpers import BASE, FakeEngine, loaded

GRID = (
    BASE.replace("tcp: cubic", "tcp: $cc").replace("40 ms", '"${rtt}"')
    + "factors: {rtt: [10 ms, 50 ms], cc: [reno, cubic]}\nrepeats: 5\n"
)
SMALL = """\
dumbbell: 1
name: small
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP, forward: {loss: 0.1 %}}}
flows:
  - {from: s1, to: d1, tcp: $cc, start_jitter: 1 RTT}
  - {from: s2, to: d2, tcp: cubic, start_jitter: 1 RTT}
taps: [{at: r1, link: s1-r1}]
duration: 3 s
factors: {cc: [reno, bbr]}
repeats: 3
sampling: {interval: 100 ms, keep: [samples, queues, drops]}
"""


def test_what_the_store_holds_is_not_run_again(tmp_path: Path) -> None:
    engine = FakeEngine()
    with Store(tmp_path, write=True) as store:
        execute(loaded(GRID, repeats=2), engine, store, workers=2)
        assert len(engine.executed) == 8
        execute(loaded(GRID), engine, store, workers=2)
        assert len(engine.executed) == 20
        execute(loaded(GRID, set={"cc": "reno"}), engine, store)
        assert len(engine.executed) == 20
    assert dumbbell.load_results(tmp_path).runs.height == 10


def test_seeds_are_paired_across_cells(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        execute(loaded(GRID, seed=40), FakeEngine(), store)
        runs = store.results().runs
    assert runs.group_by("rtt", "cc").agg("seed")["seed"].to_list() == [[40, 41, 42, 43, 44]] * 4


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    engine = FakeEngine(wait_s=0.1)
    timer = threading.Timer(0.6, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with Store(tmp_path, write=True) as store:
        with pytest.raises(Interrupted) as raised:
            execute(loaded(GRID, repeats=100), engine, store, workers=2)
        assert 1 <= raised.value.done < 400
        assert raised.value.done == store.results().runs.height == len(engine.executed)
        assert "the same command goes on from there" in str(raised.value)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_failed_run_keeps_the_others(tmp_path: Path) -> None:
    engine = FakeEngine()
    engine.fail = lambda run: _core.DefectError("1 lost") if run.seed == 3 else None
    with Store(tmp_path, write=True) as store:
        with pytest.raises(EngineError) as raised:
            execute(loaded(GRID), engine, store, workers=1)
        # Of 20 runs those of one seed fail, in four cells.
        assert str(raised.value) == (
            "rtt=10 ms, cc=reno, repeat 2: a defect of the engine fake: 1 lost [E610]\n"
            "16 runs finished and kept; 3 more failed"
        )
        assert store.results().runs.height == 16


def test_what_the_engine_refuses_is_placed_in_the_file(tmp_path: Path) -> None:
    def refuse(run: Run) -> Exception:
        error = _core.ScenarioError("flows[1].start_ns", "too late")
        error.path, error.message = "flows[1].start_ns", "too late"
        return error

    engine = FakeEngine()
    engine.fail = refuse
    with Store(tmp_path, write=True) as store, pytest.raises(ExperimentError) as raised:
        execute(loaded(GRID), engine, store)
    assert str(raised.value) == "e.yaml:6: flows[1].start: too late"


def test_progress(tmp_path: Path) -> None:
    class Watch(Progress):
        def __init__(self) -> None:
            self.told: list[tuple[object, ...]] = []

        def begin(self, sweep: Sweep) -> None:
            self.told.append((sweep.name, sweep.runs, sweep.kept))

        def update(self, done: int, simulated_s: float, rate: float, left_s: float | None) -> None:
            self.told.append((done, simulated_s))

        def end(self) -> None:
            self.told.append(("end",))

    watch = Watch()
    with Store(tmp_path, write=True) as store, use_progress(watch):
        execute(loaded(GRID, repeats=1), FakeEngine(), store)
        execute(loaded(GRID, repeats=2), FakeEngine(), store)
    assert watch.told[0] == ("two flows", 4, 0)
    assert ("two flows", 4, 4) in watch.told
    assert (4, 400.0) in watch.told
    assert watch.told[-1] == ("end",)


def test_engines_by_name() -> None:
    assert engine_named("sim").name == "sim"
    with pytest.raises(EngineError) as raised:
        engine_named("simm")
    assert str(raised.value) == "no engine 'simm'; did you mean sim?; there are sim, linux, netns"


def test_one_and_two_workers_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    one = dumbbell.run(path, workers=1, store=tmp_path / "one")
    two = dumbbell.run(path, workers=2)
    assert one.runs["digest"].to_list() == two.runs["digest"].to_list()
    assert len(set(one.runs["digest"])) == 6
    for table in ("flows", "samples", "queues", "pipes", "drops", "transfers"):
        assert getattr(one, table).equals(getattr(two, table)), table
    assert one.flows.height == 12
    assert one.samples.height > 0 and one.queues.height > 0 and one.drops.height > 0


def test_physics_of_a_small_run(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    results = dumbbell.run(path, set={"cc": "reno"}, repeats=1)
    delivered = results.flows["delivered_bytes"].sum()
    assert 0.5 * 10e6 * 3 / 8 < delivered < 10e6 * 3 / 8 * 1448 / 1514
    tapped = results.flows.filter(tap="r1:s1-r1")
    assert (tapped["tap_rtt_min_ns"] >= 20_000_000).all()


def test_the_monitor_stops_the_simulator() -> None:
    monitor = _core.Monitor()
    monitor.cancel()
    assert monitor.cancelled
    cell = loaded(SMALL.replace("3 s", "1000 s")).cells[0]
    with pytest.raises(_core.Cancelled):
        _core.run(cell.scenario, 1, monitor)


def test_the_interpreter_runs_while_the_simulator_does() -> None:
    cell = loaded(SMALL.replace("3 s", "100 s").replace("10 Mbit/s", "100 Mbit/s")).cells[0]
    monitor = _core.Monitor()
    thread = threading.Thread(target=_core.run, args=(cell.scenario, 1, monitor))
    thread.start()
    seen = set()
    while thread.is_alive():
        seen.add(monitor.progress_ns)
        time.sleep(0.001)
    thread.join()
    assert len(seen) > 3
    assert max(seen) <= 100_000_000_000
