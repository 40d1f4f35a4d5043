"""The budget of the suite: growth is found, another machine and a busy one are not growth."""

from __future__ import annotations

import pytest

from tests.durations import Budget, beyond, budget, calibration_s, read_budget
from tests.helpers import ROOT
from tests.write_budget import text

MEANT = Budget(0.02, total_s=1000, other_s=20, files_s={"long.py": 400, "middle.py": 100})
TAKEN = {"long.py": 400.0, "middle.py": 100.0, **{f"short{n}.py": 20.0 for n in range(25)}}


def test_what_the_budget_allows_is_not_told() -> None:
    assert beyond(TAKEN, 0.02, MEANT) == []
    assert beyond({file: 1.19 * taken for file, taken in TAKEN.items()}, 0.02, MEANT) == []


@pytest.mark.parametrize("slower", [0.5, 2.0, 3.0])
def test_a_slower_machine_is_not_growth(slower: float) -> None:
    taken = {file: slower * one for file, one in TAKEN.items()}
    assert beyond(taken, 0.02 * slower, MEANT) == []


def test_growth_is_told() -> None:
    """The whole, a long file, a file without a line of its own."""
    more = {file: 1.21 * taken for file, taken in TAKEN.items()}
    assert beyond(more, 0.02, MEANT) == ["all tests took 1210 s, budget 1000 s"]
    grown = beyond({**TAKEN, "middle.py": 150.0}, 0.02, MEANT)
    assert grown == ["middle.py took 150 s, budget 100 s"]
    assert beyond({**TAKEN, "new.py": 60.0}, 0.02, MEANT) == ["new.py took 60 s, budget 20 s"]


def test_a_file_is_not_too_long_because_others_became_shorter() -> None:
    """Its share of the whole grows, its time does not."""
    assert beyond({"long.py": 400.0, "middle.py": 100.0}, 0.02, MEANT) == []


def test_a_budget_of_a_record_allows_the_record() -> None:
    written = read_budget(text(0.02, TAKEN))
    assert written == Budget(0.02, 1200, 20, {"long.py": 480, "middle.py": 120})
    assert beyond(TAKEN, 0.02, written) == []


def test_the_budget_is_one_of_files_that_exist() -> None:
    meant = budget()
    assert all((ROOT / file).is_file() for file in meant.files_s)
    assert 0 < meant.calibration_s < 1 and 0 < calibration_s() < 10
