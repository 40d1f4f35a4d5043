"""Sums over checked cells are those of the cells."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dumbbell import _core
from dumbbell.errors import ExperimentError
from dumbbell.experiment import check, load_text
from dumbbell.experiment.load import Opened, open_file
from tests.helpers import ROOT
from tests.scale import tried
from tests.trials.experiments import experiment

TEXT = """\
dumbbell: 1
name: many
template: {dumbbell: {rate: 10 Mbit/s, rtt: $rtt, buffer: $buffer}}
flows: [{name: $name, from: s1, to: d1, tcp: cubic}]
duration: $duration
factors:
  rtt: [10 ms, 20 ms, 30 ms]
  buffer: [10 packets, 20 packets]
  name: [one, other]
  duration: [1 s, 2 s]
"""


def test_the_sums_are_those_of_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "PART", 5)
    found = list(check.check_cells(Opened(TEXT, Path("x.yaml"))))
    cells = load_text(TEXT, Path("x.yaml")).cells
    assert len(found) > 1
    assert sum(part.cells for part in found) == len(cells) == 24
    assert sum(part.duration_ns for part in found) == sum(cell.duration_ns for cell in cells)
    assert frozenset.union(*(part.flows for part in found)) == {"one", "other"}


def test_the_first_bad_cell_is_refused_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "PART", 5)
    text = TEXT.replace("20 packets", "0 packets")
    with pytest.raises(ExperimentError) as refused:
        list(check.check_cells(Opened(text, Path("x.yaml"))))
    with pytest.raises(ExperimentError) as alone:
        load_text(text, Path("x.yaml"))
    assert str(refused.value) == str(alone.value)


def test_cells_of_examples_and_studies_pass_as_single_ones() -> None:
    """Cells in a row, which keep what they share, and each cell as a whole."""
    files = [*ROOT.glob("examples/*.yaml"), *ROOT.glob("studies/*/*.yaml")]
    several = 0
    for file in sorted(files):
        if "\ndumbbell: 1\n" not in "\n" + file.read_text(encoding="utf-8"):
            continue
        opened = open_file(file)
        core, beside = opened.reading.core, opened.reading.files
        count = min(opened.count, 40)
        cells = [core.cell(number, beside) for number in range(count)]
        flows = {name for cell in cells for name, _ in cell.rtt_ns}
        assert core.check(0, count, beside) == (sum(cell.duration_ns for cell in cells), flows)
        several += count > 1
    assert several > 50


#: Levels that many fields refuse, alone or beside others.
WRONG = (
    "0 s",
    "1 ns",
    "10 s",
    "0 packets",
    "1 packets",
    "70 bytes",
    "3 BDP",
    "1 bit/s",
    "d1",
    0,
    [],
)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Paths of a file's scalars, as factors name them."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from leaves(below, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for i, below in enumerate(value):
            yield from leaves(below, f"{path}[{i}]")
    else:
        yield path, value


def field(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]


def sweep(number: int, known: dict[str, list[Any]]) -> str:
    """A drawn experiment in which three fields vary, also beyond what they may be."""
    draw = random.Random(number)
    file = experiment(number)
    varied = [one for one in leaves(file) if field(one[0]) not in ("dumbbell", "name")]
    picked = draw.sample(varied, min(3, len(varied)))
    factors = {}
    for i, (path, own) in enumerate(picked):
        others = [*draw.sample(known[field(path)], min(2, len(known[field(path)])))]
        levels = [own, *others, draw.choice(WRONG)]
        unique = {json.dumps(level): level for level in levels}
        named = [{"label": text, "value": level} for text, level in unique.items()]
        factors[f"x{i}"] = {"path": path, "levels": named}
    return json.dumps({**file, "factors": factors})


def test_cells_of_drawn_sweeps_pass_or_fail_as_single_ones() -> None:
    """From each cell on, the check finds the next wrong cell, with the error of that cell."""
    known = defaultdict(list)
    for number in range(40):
        for path, value in leaves(experiment(number)):
            known[field(path)].append(value)
    right = wrong = 0
    for number in range(tried(40, 400)):
        try:
            reading = Opened(sweep(number, known), Path("x.yaml")).reading
        except ExperimentError:
            continue  # its first cell is wrong, which is made as a whole
        core, files, begin = reading.core, reading.files, 0
        total, flows = 0, set[str]()
        for cell in range(core.count):
            try:
                made = core.cell(cell, files)
            except _core.RefusedError as refused:
                with pytest.raises(_core.RefusedError) as found:
                    core.check(begin, core.count, files)
                assert found.value.args == refused.args, (number, cell)
                assert core.check(begin, cell, files) == (total, flows), (number, cell)
                begin, total, flows, wrong = cell + 1, 0, set(), wrong + 1
            else:
                total, flows = total + made.duration_ns, flows | dict(made.rtt_ns).keys()
                right += 1
        assert core.check(begin, core.count, files) == (total, flows), number
    assert min(right, wrong) > 100
