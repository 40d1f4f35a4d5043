"""Experiments that programs write: sections as classes, round trip, types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dumbbell
from dumbbell.errors import ExperimentError
from dumbbell.experiment.load import load, load_text
from dumbbell.sections import DumbbellTemplate, Experiment, Flow, Host, Tcp, Template
from tests.write_sections import TARGET, formatted, text

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted([*ROOT.glob("examples/**/*.yaml"), *ROOT.glob("studies/*/agreement/*.yaml")])
TEMPLATE = Template(dumbbell=DumbbellTemplate(pairs=2, rate="20 Mbit/s", rtt="40 ms"))


def experiment(**fields: str) -> Experiment:
    flows = [
        Flow(from_="s1", to="d1", tcp=Tcp(congestion_control="$cc", bytes="1 MB")),
        Flow(from_="s2", to="d2", tcp="reno"),
    ]
    factors = {"cc": ["cubic", "bbr"]}
    return Experiment(
        name="written", template=TEMPLATE, flows=flows, duration="3 s", factors=factors, **fields
    )


def test_the_classes_are_those_of_the_schema() -> None:
    assert TARGET.read_text(encoding="utf-8") == formatted(text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_that_is_read_and_written_is_the_same_experiment(path: Path) -> None:
    before = path.read_text(encoding="utf-8")
    again = Experiment.read(path).yaml()
    assert again != before
    one, two = load_text(before, path), load_text(again, path)
    assert [cell.scenario for cell in one.cells] == [cell.scenario for cell in two.cells]
    assert one.info.factors == two.info.factors


def test_it_runs_as_its_file_does(tmp_path: Path) -> None:
    path = tmp_path / "written.yaml"
    experiment().write(path)
    own, file = dumbbell.run(experiment()), dumbbell.run(path)
    assert own.flows.height == 4 and own.flows.equals(file.flows)
    assert Experiment.read(path) == experiment()
    assert isinstance(Experiment.read(path).flows[0], Flow)  # type: ignore[index]


def test_a_section_is_a_mapping_of_what_was_given() -> None:
    flow = Flow(from_="s1", to="d1", start="1 s")
    assert dict(flow) == {"from": "s1", "to": "d1", "start": "1 s"} == flow
    assert repr(flow) == "Flow(from_='s1', to='d1', start='1 s')"
    assert "stop" not in flow
    with pytest.raises(KeyError):
        flow["stop"]
    flow.stop = "2 s"
    assert flow["stop"] == "2 s"
    mixed = Experiment(name="m", duration="1 s", hosts={"a": Host(tcp_ecn=1), "b": Host()})
    assert "hosts: {a: {tcp_ecn: 1}, b: {}}\n" in mixed.yaml()


def test_errors_name_the_field() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'form'"):
        Flow(form="s1", to="d1")  # type: ignore[call-arg]
    with pytest.raises(ExperimentError, match=r"no field of Flow.*did you mean start"):
        Flow.of({"from": "s1", "to": "d1", "strat": "1 s"})
    wrong = Experiment(
        name="w", template=TEMPLATE, duration="1 s", flows=[Flow(from_="s1", to="x")]
    )
    with pytest.raises(ExperimentError, match=r"flows\[0\]"):
        load(wrong)


GOOD = """\
import dumbbell
from dumbbell.sections import DumbbellTemplate, Experiment, Flow, Template

experiment = Experiment(
    name="typed",
    template=Template(dumbbell=DumbbellTemplate(rate="1 Mbit/s", rtt="10 ms")),
    flows=[Flow(from_="s1", to="d1", tcp="cubic")],
    duration="1 s",
)
dumbbell.run(experiment)
"""


def test_a_type_checker_finds_mistakes(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(GOOD, encoding="utf-8")
    bad.write_text(GOOD.replace('tcp="cubic"', 'tpc="cubic"').replace('"1 s"', "1"), "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), good, bad]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert [line.split(":")[0].rpartition("/")[2] for line in lines[:2]] == ["bad.py", "bad.py"]
    assert 'Unexpected keyword argument "tpc" for "Flow"' in done.stdout
    assert 'Argument "duration" to "Experiment" has incompatible type "int"' in done.stdout
    assert "Found 2 errors in 1 file" in lines[-1]
