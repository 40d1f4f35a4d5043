"""Numbers that stand in two places are the same in both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dumbbell.cli import app
from tests.helpers import ROOT
from tests.shown import README, readme_parts, readme_table


def test_the_readme_has_the_number_of_cells_of_the_page_behind_it() -> None:
    page = (ROOT / "docs" / "agreement.md").read_text(encoding="utf-8")
    found = re.search(r"^\| `kernel\.csv` \| \*\*(\d+) of (\d+) \(", page, re.MULTILINE)
    assert found is not None
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    written = re.search(
        r"prints (\d+) cells beside those of Linux 6\.1, of which (\d+) agree", readme
    )
    assert written is not None
    assert (written[2], written[1]) == (found[1], found[2])


def test_the_page_of_the_command_line_has_every_verb() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([a-z]+)", page, re.MULTILINE))
    commands = {
        one.name or one.callback.__name__ for one in app.registered_commands if one.callback
    }
    assert listed == commands | {str(group.name) for group in app.registered_groups}


@pytest.mark.slow
def test_the_readme_s_example_prints_the_readme_s_table(tmp_path: Path) -> None:
    experiment, printed = readme_parts(README.read_text(encoding="utf-8"))
    said = [line.rstrip() for line in printed.splitlines()[1:]]
    assert said == readme_table(experiment, tmp_path).splitlines()
