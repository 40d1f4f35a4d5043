"""What cells have in common is read once, and nothing else follows from that."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from dumbbell.experiment import templates
from dumbbell.experiment.load import Opened, load_text
from tests.helpers import BASE, ROOT

EXPERIMENTS = sorted(
    path
    for folder in ("studies", "examples")
    for path in (ROOT / folder).rglob("*.yaml")
    if "\ndumbbell: 1\n" in "\n" + path.read_text(encoding="utf-8")
)
GRID = BASE.replace("10 Mbit/s", "$rate").replace("tcp: cubic", "tcp: $cc") + (
    "factors:\n  cc: [reno, cubic]\n  rate: [5 Mbit/s, 10 Mbit/s, 20 Mbit/s]\n"
    "  start: {levels: [0 s, 1 s, 2 s], path: 'flows[0].start'}\n"
)


def alone(text: str, path: Path, levels: dict[str, str]) -> str:
    """The scenario of a cell, read as the only one."""
    (cell,) = load_text(text, path, set=levels).cells
    return cell.scenario


@pytest.mark.slow
@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_cell_is_the_same_alone_and_among_others(path: Path) -> None:
    """Of every experiment that is shipped: cells from the whole design, in its order."""
    text = path.read_text(encoding="utf-8")
    opened = Opened(text, path)
    step = max(1, opened.count // 12)
    for cell in itertools.islice(opened.cells(), 0, None, step):
        assert cell.scenario == alone(text, path, cell.levels)


def test_sections_are_read_once_for_the_levels_they_depend_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expanded = []
    known = templates.TemplateSpec.expand

    def expand(self: templates.TemplateSpec) -> templates.Topology:
        expanded.append(self)
        return known(self)

    monkeypatch.setattr(templates.TemplateSpec, "expand", expand)
    experiment = load_text(GRID, Path("e.yaml"))
    assert len(experiment.cells) == 18
    assert len({cell.scenario for cell in experiment.cells}) == 18
    assert len(expanded) == 3  # a rate each


def test_one_cell_that_is_wrong_is_found_with_its_place() -> None:
    from dumbbell.errors import ExperimentError

    text = GRID.replace("0 s, 1 s, 2 s", "0 s, 1 s, 200 s")
    with pytest.raises(ExperimentError, match=r"e\.yaml:\d+: flows\[0\]\.start: not before") as one:
        load_text(text, Path("e.yaml"))
    assert (
        one.value.line
        == text.splitlines().index("  start: {levels: [0 s, 1 s, 200 s], path: 'flows[0].start'}")
        + 1
    )
