"""Sums over checked cells are those of the cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.experiment import check, load_text
from dumbbell.experiment.load import Opened, open_file
from tests.helpers import ROOT

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
