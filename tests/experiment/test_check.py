"""Sums over checked cells are those of the cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.experiment import check, load_text
from dumbbell.experiment.load import Opened

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
