"""Cells of many combinations are made when they are asked for."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.experiment import Experiment, load_text
from dumbbell.experiment.cells import Cells
from dumbbell.experiment.load import Opened
from dumbbell.runs import run_id
from tests.helpers import BASE

TEXT = """\
dumbbell: 1
name: many
template: {dumbbell: {rate: $rate, rtt: $rtt, buffer: $buffer, forward: {loss: $loss}}}
flows: [{name: f, from: s1, to: d1, tcp: $cc}]
duration: 2 s
factors:
  grid: {rtt: [10 ms, 20 ms, 30 ms]}
  zip: {rate: [1 Mbit/s, 5 Mbit/s], buffer: [10 packets, 1 BDP]}
  points: [{cc: reno, loss: 0 %}, {cc: cubic, loss: 1 %}, {cc: bbr, loss: 50 ppm}]
"""
#: Only the last of nine combinations is wrong.
ONE_BAD = BASE.replace("start: 5 s", "start: $start, stop: $stop") + (
    "factors: {start: [0 s, 10 s, 20 s], stop: [30 s, 25 s, 15 s]}\n"
)


@pytest.fixture
def lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cell is kept: every experiment counts as one with many cells."""
    module = sys.modules[Opened.__module__]  # the package has a function of this name
    monkeypatch.setattr(module, "_MAX_KEPT_SCENARIOS", 0)
    monkeypatch.setattr(module, "_READINGS", {})


def lazy(text: str) -> Experiment:
    experiment = load_text(text, Path("e.yaml"))
    assert isinstance(experiment.cells, Cells)
    return experiment


def test_they_are_those_of_a_list(request: pytest.FixtureRequest) -> None:
    whole = load_text(TEXT, Path("e.yaml")).cells
    assert isinstance(whole, list)
    request.getfixturevalue("lazily")
    cells = lazy(TEXT).cells
    assert len(cells) == len(whole) == 18
    assert list(cells) == whole
    assert [cells[number] for number in range(18)] == whole
    assert cells[-1] == whole[-1]
    assert cells[3:17:5] == whole[3:17:5]
    assert list(reversed(cells)) == whole[::-1]
    for beyond in (18, -19):
        with pytest.raises(IndexError):
            cells[beyond]


@pytest.mark.usefixtures("lazily")
def test_each_level_is_among_the_first_that_are_checked() -> None:
    cells = lazy(TEXT).cells
    assert isinstance(cells, Cells)
    found = [cells[number].levels for number in cells.of_each_level(1000)]
    assert len(found) == 1 + 2 + 1 + 2
    for name, levels in lazy(TEXT).info.factors.items():
        assert {one[name] for one in found} == set(levels)


def test_few_are_checked_of_very_many() -> None:
    made: list[int] = []
    cells = Cells([([name], [[str(i)] for i in range(100)]) for name in "abc"], made.append)  # type: ignore[arg-type]
    assert len(cells) == 1_000_000
    some = cells.of_each_level(30)
    assert len(some) <= 30
    assert {0, 999_999 // 10_000 * 10_000, 99 * 100, 99} <= set(some)
    assert Cells((), made.append).of_each_level(30) == [0]  # type: ignore[arg-type]
    assert not made


def test_a_million_is_opened_without_making_them(monkeypatch: pytest.MonkeyPatch) -> None:
    delays = ", ".join(f"{number} ms" for number in range(1, 101))
    text = BASE.replace("40 ms", "$rtt").replace("start: 5 s", "start: $a, stop: $b")
    text = text.replace("100 s", "200 s").replace("10 Mbit/s", "$rate")
    seconds = ", ".join(f"{number} s" for number in range(101, 201))
    rates = ", ".join(f"{number} Mbit/s" for number in range(1, 11))
    starts = ", ".join(f"{number} s" for number in range(10))
    text += f"factors: {{rtt: [{delays}], a: [{starts}], b: [{seconds}], rate: [{rates}]}}\n"
    made = []
    honest = Opened.cells

    def noted(self: Opened, begin: int = 0, end: int | None = None) -> object:
        made.append(begin)
        return honest(self, begin, end)

    monkeypatch.setattr(Opened, "cells", noted)
    experiment = lazy(text)
    assert len(experiment.cells) == 1_000_000
    levels = experiment.cells[999_999].levels
    assert levels == {"rtt": "100 ms", "a": "9 s", "b": "200 s", "rate": "10 Mbit/s"}
    assert not made


@pytest.mark.usefixtures("lazily")
def test_an_error_of_one_combination_is_that_of_a_list() -> None:
    cells = lazy(ONE_BAD).cells
    assert len(cells[:8]) == 8
    with pytest.raises(ExperimentError) as late:
        cells[8]
    with pytest.raises(ExperimentError) as whole:
        list(Opened(ONE_BAD, Path("e.yaml")).cells())
    assert str(late.value) == str(whole.value)


@pytest.mark.usefixtures("lazily")
def test_an_error_of_a_level_is_told_at_once() -> None:
    with pytest.raises(ExperimentError, match="20 parsecs"):
        load_text(ONE_BAD.replace("20 s", "20 parsecs"), Path("e.yaml"))


@pytest.mark.parametrize("sampling", ["none", "{repeats: 1}"])
def test_the_hash_of_a_scenario_is_that_of_its_text(sampling: str) -> None:
    text = TEXT.replace("name: many", 'name: "many \\"quoted\\", é"') + f"sampling: {sampling}\n"
    hashes = []
    for cell in load_text(text, Path("e.yaml")).cells:
        for repeat in (0, 1):
            scenario, content = cell.scenario_of(repeat), cell.content_of(repeat)
            assert run_id(scenario, 1, "sim", "v", content) == run_id(scenario, 1, "sim", "v")
            if content is not None:
                fields = json.loads(scenario)
                del fields["name"]
                plain = json.dumps(
                    fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False
                )
                assert hashlib.sha256(plain.encode()).digest() == content
            hashes.append(content)
    # Only a loss of 5e-5 is left to Python, which writes it so, and Rust 0.00005.
    assert sum(one is None for one in hashes) == len(hashes) / 3
