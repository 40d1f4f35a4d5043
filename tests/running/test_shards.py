"""Shards of a sweep: each run in one, cells and costs balanced, the same in every process."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import dumbbell
from dumbbell import studies
from dumbbell.cli import app
from dumbbell.engines import engine_named
from dumbbell.errors import DumbbellError
from dumbbell.execution import Task, execute, plan
from dumbbell.execution.plan import distinct, of_shard
from dumbbell.execution.shard import Shard, dealt, shard_of
from dumbbell.experiment import Experiment, load_text
from dumbbell.store import Store
from tests.helpers import BASE, ROOT, FakeEngine, loaded
from tests.running.test_execution import GRID
from tests.running.test_store import VARIED

#: Cells of different cost: the rates differ by a factor of 10 000.
UNEQUAL = (
    BASE.replace("10 Mbit/s", "$rate")
    + "factors: {rate: [1 Mbit/s, 10 Mbit/s, 100 Mbit/s, 1 Gbit/s, 10 Gbit/s]}\nrepeats: 7\n"
)


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def shards(experiment: Experiment, of: int) -> list[list[Task]]:
    engine = FakeEngine()
    tasks = plan(experiment, engine)
    return [of_shard(tasks, experiment, engine, Shard(k, of)) for k in range(1, of + 1)]


@pytest.mark.parametrize("of", [1, 2, 3, 4, 7, 16, 40])
@pytest.mark.parametrize("text", [GRID, UNEQUAL])
def test_every_run_is_in_one_shard(text: str, of: int) -> None:
    experiment = loaded(text)
    parts = shards(experiment, of)
    runs = [task.run.id for part in parts for task in part]
    assert sorted(runs) == sorted({task.run.id for task in plan(experiment, FakeEngine())})
    for cell in range(len(experiment.cells)):
        counts = [sum(task.cell == cell for task in part) for part in parts]
        assert max(counts) - min(counts) <= 1


def test_a_shard_goes_repeat_by_repeat() -> None:
    for part in shards(loaded(UNEQUAL), 3):
        repeats = [task.planned.repeat for task in part]
        assert repeats == sorted(repeats)


def test_a_sweep_goes_repeat_by_repeat(tmp_path: Path) -> None:
    engine = FakeEngine()
    with Store(tmp_path, write=True) as store:
        execute(loaded(GRID), engine, store, workers=1)
        places = {task.run.id: task for task in plan(loaded(GRID), engine)}
    made = [(places[run].planned.repeat, places[run].cell) for run in engine.executed]
    assert made == sorted(made)


@given(
    costs=st.lists(st.integers(1, 10**9), min_size=1, max_size=30),
    repeats=st.integers(1, 12),
    of=st.integers(1, 40),
)
def test_costs_are_balanced(costs: list[int], repeats: int, of: int) -> None:
    order = sorted(range(len(costs)), key=lambda cell: -costs[cell])
    found = dealt([order] * repeats, dict(enumerate(costs)), of, "name")
    loads = [0] * of
    each: Counter[tuple[int, int]] = Counter()
    for cell, shard in zip(order * repeats, found, strict=True):
        loads[shard] += costs[cell]
        each[cell, shard] += 1
    for cell in order:
        counts = [each[cell, shard] for shard in range(of)]
        assert max(counts) - min(counts) <= 1
    # Rounds of N repeats are equal in every shard; in the rest no cell is in a shard twice.
    assert max(loads) - min(loads) <= sum(costs)
    if repeats % of == 0:
        assert max(loads) == min(loads)
    if repeats == 1:  # nothing but cost decides: longest processing time first
        assert max(loads) - min(loads) <= max(costs)


def test_costly_cells_are_spread() -> None:
    """Seven repeats of five cells, of which one takes nearly all the time, on seven shards."""
    parts = shards(loaded(UNEQUAL), 7)
    assert [sum(task.cell == 4 for task in part) for part in parts] == [1] * 7


def test_measured_times_do_not_move_runs(tmp_path: Path) -> None:
    experiment, engine = loaded(GRID), FakeEngine()
    before = [[task.run.id for task in part] for part in shards(experiment, 3)]
    with Store(tmp_path, write=True) as store:
        execute(experiment, engine, store, shard=Shard(1, 3))
        made = set(engine.executed)
        execute(experiment, engine, store, shard=Shard(1, 3))
        assert len(engine.executed) == len(made)
        execute(experiment, engine, store, shard=Shard(2, 3))
    assert made == set(before[0])
    assert set(engine.executed) - made == set(before[1])


IN_ANOTHER_PROCESS = """
from tests.running.test_shards import UNEQUAL, loaded, shards
for part in shards(loaded(UNEQUAL), 4):
    print(*(task.run.id for task in part))
"""


@pytest.mark.slow
def test_another_process_finds_the_same_shards() -> None:
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    here = [" ".join(task.run.id for task in part) for part in shards(loaded(UNEQUAL), 4)]
    assert done.stdout.splitlines() == here


def test_all_shards_record_one_experiment(tmp_path: Path) -> None:
    experiment = loaded(VARIED)
    keys, plans = set(), set()
    for number in (1, 2, 3):
        with Store(tmp_path / str(number), write=True) as store:
            keys.add(execute(experiment, FakeEngine(), store, shard=Shard(number, 3)))
            (record,) = store.experiments()
            plans.add(record.runs and tuple(one.run for one in record.runs))
    assert len(keys) == len(plans) == 1
    assert len(plans.pop()) == 8


def test_cells_with_one_scenario_are_one_run() -> None:
    experiment = loaded(BASE.replace("5 s", "$t") + "factors: {t: [1 s, 1000 ms]}\nrepeats: 3\n")
    assert len(distinct(plan(experiment, FakeEngine()))) == 3
    assert sorted(map(len, shards(experiment, 3))) == [1, 1, 1]


def test_shards_of_small_parts_do_not_all_begin_at_the_first() -> None:
    """Each of study 1's parts with one run: the second of 4 shards is not always empty."""
    study = studies.load_study("multipath")
    first = {next(dealt([[0]], {0: 1}, 4, f"{study.study}-{part}")) for part in study.parts}
    assert len(first) > 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3/", "--shard 3/: should be K/N, as --shard 3/16"),
        ("/3", "--shard /3: should be K/N"),
        ("3", "--shard 3: should be K/N"),
        ("", "--shard : should be K/N"),
        ("1/2/3", "--shard 1/2/3: should be K/N"),
        ("-1/3", "--shard -1/3: should be K/N"),
        ("1.5/3", "--shard 1.5/3: should be K/N"),
        ("٣/٤", "should be K/N"),
        ("x" * 500, "should be K/N"),
        ("0/3", "--shard 0/3: shards are counted from 1 to 3; found 0"),
        ("4/3", "--shard 4/3: shards are counted from 1 to 3; found 4"),
        ("1/0", "--shard 1/0: the number of shards should be from 1 to 100000; found 0"),
        ("1/100001", "the number of shards should be from 1 to 100000; found 100001"),
    ],
)
def test_what_is_no_shard_is_refused(text: str, said: str) -> None:
    with pytest.raises(DumbbellError) as raised:
        shard_of(text)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 200
    result = call("run", ROOT / "examples" / "two-flows.yaml", "--shard", text, "--store", "/none")
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_shards_by_number() -> None:
    assert shard_of(" 3 / 16 ") == shard_of((3, 16)) == shard_of(Shard(3, 16)) == Shard(3, 16)
    assert shard_of(None) is None
    with pytest.raises(DumbbellError, match="found 17"):
        shard_of((17, 16))


TINY = """\
dumbbell: 1
name: tiny
template: {dumbbell: {rate: 5 Mbit/s, rtt: 20 ms, buffer: 50 packets}}
flows: [{name: f, from: s1, to: d1, tcp: $cc}]
duration: 200 ms
factors: {cc: [reno, cubic, bbr]}
repeats: 2
"""


@pytest.mark.slow
def test_shards_of_the_program(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    store = tmp_path / "s"
    first = call("run", file, "--shard", "1/4", "--store", store)
    assert first.exit_code == 0, first.output
    assert first.stdout == ""
    said = " ".join(first.stderr.split())
    assert f"Shard 1/4 is done. Its runs are kept in {store}." in said
    assert "dumbbell store merge" in said
    for number in (2, 3, 4):
        assert call("run", file, "--shard", f"{number}/4", "--store", store).exit_code == 0
    whole = call("run", file, "--store", store)
    assert "tiny: 6 runs are in the store already" in whole.stderr
    assert "tiny (2 repeats" in whole.stdout
    refused = call("run", file, "--shard", "1/4", "--store", store, "--json", tmp_path / "n.json")
    assert refused.exit_code == 2
    assert "not with --shard" in refused.stderr


def test_an_empty_shard_says_so(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    found = [
        call("run", file, "--repeats", 1, "--shard", f"{k}/5", "--store", tmp_path / str(k))
        for k in range(1, 6)
    ]
    assert {one.exit_code for one in found} == {0}
    empty = [number for number, one in enumerate(found, 1) if ": empty:" in one.stderr]
    assert len(empty) == 2
    assert (
        f"tiny, shard {empty[0]}/5: empty: the experiment has 3 runs" in found[empty[0] - 1].stderr
    )
    with Store(tmp_path / str(empty[0]), write=False) as store:
        (record,) = store.experiments()
        assert len(record.runs) == 3
        assert store.results().runs.height == 0


def test_shards_in_python(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    parts = [dumbbell.run(file, shard=(k, 3)).runs for k in (1, 2, 3)]
    whole = dumbbell.run(file).runs
    assert sorted(d for part in parts for d in part["digest"]) == sorted(whole["digest"])
    assert [part.height for part in parts] == [2, 2, 2]


def test_shards_of_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, shown = dumbbell.run, []

    def short(path: Path, **options: object) -> object:
        options["set"] = {**options["set"], "duration": "100 ms"}  # type: ignore[dict-item]
        shown.append(options["shard"])
        return run(path, **{**options, "repeats": 1})  # type: ignore[arg-type]

    monkeypatch.setattr(dumbbell, "run", short)
    arguments = ["--part", "single-vs-multi", "--store", tmp_path / "s"]
    result = call("study", "run", "multipath", *arguments, "--shard", "2/3")
    assert result.exit_code == 0, result.output
    assert shown == ["2/3"]
    assert result.stdout == ""
    assert "Shard 2/3 is done" in result.stderr
    assert "this command with --store ALL and without --shard" in " ".join(result.stderr.split())
    assert 2 <= dumbbell.load_results(tmp_path / "s").runs.height <= 3
    assert (tmp_path / "s" / "studies" / "multipath.json").exists()


def test_costs_follow_the_engine() -> None:
    from dumbbell.execution.budget import estimated_s

    cell = load_text(BASE, Path("e.yaml")).cells[0]
    sim, linux, netns = (
        estimated_s(name, cell.scenario, cell.duration_ns) for name in ("sim", "linux:x", "netns")
    )
    assert netns == 100
    assert 0.01 < sim < 1 < linux < 20
    assert engine_named("sim").name == "sim"
