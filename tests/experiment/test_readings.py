"""A text that was read before is not read again, unless what it says may have changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.experiment import load, load_text
from dumbbell.experiment.load import Reading
from tests.helpers import BASE

PLACE = Path("readings.yaml")
VARIED = BASE.replace("cubic", "$cc") + "factors: {cc: [reno, cubic]}\n"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are read anew."""
    seen: list[str] = []
    honest = Reading.__init__

    def noted(self: Reading, text: str, path: Path, chosen: Any) -> None:
        seen.append(str(path))
        honest(self, text, path, chosen)

    monkeypatch.setattr(Reading, "__init__", noted)
    # The package has a function of the same name as the module.
    monkeypatch.setattr(sys.modules[Reading.__module__], "_READINGS", {})
    return seen


def test_calls_in_a_loop_read_once(read: list[str]) -> None:
    first = load_text(VARIED, PLACE)
    again = load_text(VARIED, PLACE, repeats=3, seed=7)
    assert len(read) == 1
    assert again.cells == first.cells
    assert (first.info.repeats, first.info.seed) == (1, 1)
    assert (again.info.repeats, again.info.seed) == (3, 7)


def test_another_text_place_or_override_is_read(read: list[str]) -> None:
    first = load_text(VARIED, PLACE)
    others = [
        load_text(VARIED.replace("40 ms", "50 ms"), PLACE),
        load_text(VARIED, Path("elsewhere.yaml")),
        load_text(VARIED, PLACE, set={"cc": "bbr"}),
        load_text(VARIED, PLACE, set={"cc": ["bbr", "reno"]}),
        load_text(VARIED, PLACE, set={"duration": "30 s"}),
    ]
    assert len(read) == 6
    assert [len(one.cells) for one in others] == [2, 2, 1, 2, 2]
    assert [one.cells == first.cells for one in others] == [False, True, False, False, False]
    assert len(load_text(VARIED, PLACE, set={"cc": ("bbr", "reno")}).cells) == 2
    assert len(read) == 6


def test_repeats_and_seed_of_a_call_are_checked(read: list[str]) -> None:
    load_text(VARIED, PLACE)
    for wrong, message in (({"repeats": 0}, "--repeats: should be"), ({"seed": -1}, "--seed")):
        with pytest.raises(ExperimentError, match=message):
            load_text(VARIED, PLACE, **wrong)
    assert len(read) == 1


def test_an_error_is_told_again(read: list[str]) -> None:
    text = VARIED.replace("100 s", "none")
    messages = []
    for _ in range(2):
        with pytest.raises(ExperimentError) as raised:
            load_text(text, PLACE)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert len(read) == 2


@pytest.mark.parametrize("key", ["trace", '"tr\\x61ce"'])
def test_a_trace_file_is_read_with_every_call(key: str, tmp_path: Path) -> None:
    text = BASE.replace("rate: 10 Mbit/s", f"shaper: {{{key}: {{file: line.txt}}}}")
    text = text.replace("1 BDP", "50 packets")
    (tmp_path / "e.yaml").write_text(text)
    found = []
    for times in ("1\n2\n", "1\n3\n"):
        (tmp_path / "line.txt").write_text(times)
        found.append(load(tmp_path / "e.yaml").cells[0].scenario)
    assert found[0] != found[1]
