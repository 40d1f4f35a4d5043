"""One experiment on two engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli import app
from dumbbell.compare import compare_engines
from dumbbell.errors import EngineError
from dumbbell.figures import plot
from dumbbell.results import Results

pytestmark = pytest.mark.kernel

TEXT = """\
dumbbell: 1
name: compared
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 60 packets}}
flows: [{from: s1, to: d1, tcp: $cc}]
taps: [{at: s1, link: s1-r1}]
sampling: {interval: 50 ms, keep: [samples]}
duration: 10 s
factors: {cc: [reno, cubic, bbr]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "compared.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_the_simulator_agrees_with_the_kernel_on_a_simple_path(file: Path) -> None:
    found = compare_engines(file, ["sim", "linux"])
    assert len(found.differences) == 15
    assert found.agrees, [one for one in found.differences if not one.agrees]
    goodput = [one for one in found.differences if one.criterion.column == "goodput_mbps"]
    assert all(abs(one.relative) < 0.005 for one in goodput)
    rows = found.to_json()["rows"]
    assert {row["cc"] for row in rows} == {"reno", "cubic", "bbr"}
    together = found.together()
    assert together.experiment.factors["engine"] == ["sim", "linux"]
    assert set(together.samples["engine"]) == {"sim", "linux"}
    drawn = plot(together, "window", over="engine")
    assert drawn.panels == 3 and "linux" in drawn.svg()


STOPPED = """\
dumbbell: 1
name: stopped
template: {dumbbell: {rate: 2 Mbit/s, rtt: 20 ms, buffer: 60 packets}}
flows: [{from: s1, to: d1, tcp: reno, stop: 2 s}]
sampling: {interval: 100 ms, keep: [samples]}
duration: 8 s
"""


@pytest.mark.parametrize("engine", ["sim", "linux"])
def test_means_of_the_window_end_with_the_stop(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "stopped.yaml"
    path.write_text(STOPPED, encoding="utf-8")
    results = dumbbell.run(path, engine=engine, store=tmp_path / "store")
    samples = results.samples.filter(pl.col("cwnd_packets") > 0)
    before = samples.filter(pl.col("time_ns") <= 2_000_000_000)
    # The buffer is sent for some time more, with another window.
    assert samples.height > before.height + 5
    flow = results.flows.row(0, named=True)
    assert flow["last_delivery_ns"] > 2_500_000_000
    assert flow["cwnd_mean_packets"] == pytest.approx(before["cwnd_packets"].mean())
    assert flow["cwnd_mean_packets"] != pytest.approx(samples["cwnd_packets"].mean(), rel=0.001)


def test_two_different_engines_are_needed(file: Path) -> None:
    for engines in (["sim"], ["sim", "sim"], ["sim", "linux", "linux:mine"]):
        with pytest.raises(EngineError, match="two different engines are compared; found sim"):
            compare_engines(file, engines)


def test_a_difference_is_an_exit_code(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slower = tmp_path / "slower.yaml"
    slower.write_text(TEXT.replace("10 Mbit/s", "8 Mbit/s"), encoding="utf-8")
    run = dumbbell.run

    def other(path: Path, *, engine: str, **options: Any) -> Results:
        return run(slower if engine == "linux" else path, **options)

    monkeypatch.setattr(dumbbell, "run", other)
    arguments = ["compare", str(file), "--store", str(tmp_path / "s"), "--set", "cc=reno"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1, done.output
    assert "+25.0%   ✗" in done.output and "goodput (Mbit/s) within 5 %" in done.output
