"""What a sweep would take is told without running it; large sweeps need consent."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dumbbell import console
from dumbbell.cli import app, sweeps
from dumbbell.errors import DumbbellError
from dumbbell.execution import execute
from dumbbell.execution.budget import estimated_s
from dumbbell.execution.forecast import forecast
from dumbbell.execution.progress import Sweep
from dumbbell.execution.shard import Shard
from dumbbell.store import Store
from tests.helpers import ROOT, FakeEngine, loaded
from tests.running.test_shards import TINY, UNEQUAL

TWO_FLOWS = ROOT / "examples" / "two-flows.yaml"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


class Timed(FakeEngine):
    """An engine whose runs take ten times what is estimated."""

    def execute(self, run, monitor):  # type: ignore[no-untyped-def]
        from dataclasses import replace

        wall_s = 10 * estimated_s(self.name, run.scenario, run.duration_ns)
        return replace(super().execute(run, monitor), wall_s=wall_s)


def test_an_estimate_where_nothing_was_run(tmp_path: Path) -> None:
    experiment = loaded(UNEQUAL)
    found = forecast(experiment, FakeEngine(), tmp_path / "none", workers=2)
    assert (found.cells, found.runs, found.done, found.missing) == (5, 35, 0, 35)
    assert found.measured == 0
    each = [estimated_s("fake", cell.scenario, cell.duration_ns) for cell in experiment.cells]
    assert found.work_s == pytest.approx(7 * sum(each))
    assert found.time_s == pytest.approx(found.work_s / 2)
    assert found.kept == ["samples", "queues"]
    assert not (tmp_path / "none").exists()


def test_stored_runs_are_measured_and_others_in_proportion(tmp_path: Path) -> None:
    experiment, engine = loaded(UNEQUAL), Timed()
    one_cell = {"rate": "10 Mbit/s"}
    with Store(tmp_path, write=True) as store:
        execute(loaded(UNEQUAL, set=one_cell, repeats=3), engine, store)
    found = forecast(experiment, engine, tmp_path, workers=1)
    assert (found.done, found.missing, found.measured) == (3, 32, 3)
    estimate = forecast(experiment, engine, None, workers=1)
    own = forecast(loaded(UNEQUAL, set=one_cell, repeats=3), engine, None, workers=1)
    assert found.work_s == pytest.approx(10 * (estimate.work_s - own.work_s))


def test_shards_add_up(tmp_path: Path) -> None:
    experiment, engine = loaded(UNEQUAL), FakeEngine()
    whole = forecast(experiment, engine, None, workers=1)
    parts = [forecast(experiment, engine, None, workers=1, shard=Shard(k, 3)) for k in (1, 2, 3)]
    assert sum(one.runs for one in parts) == whole.runs
    assert sum(one.work_s for one in parts) == pytest.approx(whole.work_s)
    assert sum(one.bytes for one in parts) == pytest.approx(whole.bytes)


def test_the_size_is_about_what_a_run_takes(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TINY.replace("200 ms", "5 s"))
    from dumbbell.experiment import load

    expected = forecast(load(file), FakeEngine(), None).bytes
    call("run", file, "--store", tmp_path / "s")
    size = sum(path.stat().st_size for path in (tmp_path / "s" / "runs").iterdir())
    assert 0.3 < expected / size < 3


def test_the_verb(tmp_path: Path) -> None:
    result = call("run", TWO_FLOWS, "--dry-run", "--store", tmp_path / "s", "--workers", 2)
    assert result.exit_code == 0, result.output
    assert "two flows   sim         4    12     0     12" in result.stdout
    assert "estimated" in result.stdout
    assert "over time: samples, queues." in result.stdout
    assert "Times are of 2 runs at once. Nothing was run." in result.stdout
    assert not (tmp_path / "s").exists()
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    call("run", file, "--store", tmp_path / "s", "--shard", "1/2")
    before = sorted((tmp_path / "s").rglob("*"))
    result = call("run", file, "--dry-run", "--store", tmp_path / "s")
    assert "tiny        sim         3     6     3      3" in result.stdout
    assert "of 3 stored runs" in result.stdout
    result = call("run", file, "--dry-run", "--store", tmp_path / "s", "--shard", "2/2")
    assert "tiny, shard 2/2" in result.stdout
    assert sorted((tmp_path / "s").rglob("*")) == before


def test_a_study(tmp_path: Path) -> None:
    parts = ["--part", "delay", "--part", "loss"]
    result = call("study", "run", "multipath", *parts, "--dry-run", "--store", tmp_path / "s")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert any(
        line.split()[:6] == ["multipath-delay", "sim", "40", "400", "0", "400"] for line in lines
    )
    assert any(line.split()[:5] == ["all", "80", "800", "0", "800"] for line in lines)
    assert not (tmp_path / "s").exists()
    against = ["--against", "kernel", "--shard", "2/4"]
    result = call("study", "run", "multipath", *parts, "--dry-run", *against)
    assert result.exit_code == 0, result.output
    assert "shard 2/4" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--engine", "simm"], "no engine 'simm'; did you mean sim?"),
        (["--set", "ccc=bic"], "neither a factor nor a field"),
        (["--set", "duration=8000000 s"], "--allow"),
        (["--shard", "3/"], "--shard 3/: should be K/N"),
        (["--store", "FOLDER"], "newer Dumbbell"),
    ],
)
def test_a_forecast_refuses_what_a_run_refuses(
    arguments: list[str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "store.json").write_text('{"format": 2}')
    given = [str(tmp_path) if one == "FOLDER" else one for one in arguments]
    result = call("run", TWO_FLOWS, "--dry-run", *given)
    assert result.exit_code == 2
    assert said in result.stderr


def test_many_runs_need_consent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "MOST_RUNS", 5)
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    store = ["--store", tmp_path / "s"]
    result = call("run", file, *store)
    assert result.exit_code == 2
    said = "tiny: 6 runs are to be made, more than 5: --yes makes them, --dry-run says what they"
    assert said in result.stderr
    with Store(tmp_path / "s", write=False) as opened:
        assert opened.experiments() == []
    dry = call("run", file, *store, "--dry-run")
    assert "More than 5 runs (tiny): --yes makes them without asking." in dry.stdout
    assert call("run", file, *store, "--shard", "1/2").exit_code == 0
    assert call("run", file, *store).exit_code == 0  # three are left
    assert call("run", file, "--store", tmp_path / "t", "--yes").exit_code == 0


@pytest.mark.parametrize("made", [True, False])
def test_consent_is_asked_for_at_a_terminal(made: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def confirm(text: str, *, err: bool) -> bool:
        asked.append(text)
        return made

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("typer.confirm", confirm)
    monkeypatch.setattr(type(console.err), "is_terminal", property(lambda _: True))
    consent = sweeps._Consent()
    consent.begin(Sweep("few", "sim", sweeps.MOST_RUNS, 5))
    assert asked == []
    many = Sweep("many", "sim", 1, 0)  # parts count together
    if made:
        consent.begin(many)
    else:
        with pytest.raises(DumbbellError, match="many: these runs were not made"):
            consent.begin(many)
    assert asked == ["many: 10001 runs are to be made, more than 10000. Make them?"]
    if made:
        consent.begin(many)  # asked once
        assert len(asked) == 1
