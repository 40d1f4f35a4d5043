"""A number of a cell over repeats is the mean of that number of each repeat alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dumbbell.metrics import METRICS
from dumbbell.results import Results
from dumbbell.summary.cells import CellLine, cells
from tests.metamorphic.experiments import (
    EXAMPLES,
    IDS,
    PART_IDS,
    PARTS,
    drawn,
    example,
    part,
)
from tests.metamorphic.numbers import alike, combined, numbers
from tests.metamorphic.views import only
from tests.scale import SCALE, tried

pytestmark = pytest.mark.slow

COUNT, AT_ONCE = tried(100, 300) * SCALE, 25
#: Of random experiments each metric by itself is asked of every so many.
_EVERY = 6


def lone_metrics(results: Results) -> Iterator[str]:
    """Metrics that depend on which other repeats stand in the tables."""
    repeats = results.runs["repeat"].unique().sort().to_list()
    alone = [only(results, [repeat]) for repeat in repeats]
    for metric in METRICS.values():
        names = [*results.experiment.factors, "repeat", *metric.of]
        whole = metric.computed(results).select(*names, "value").sort(names)
        parts = pl.concat([metric.computed(one) for one in alone]).select(*names, "value")
        parts = parts.sort(names)
        values = [frame["value"].to_numpy() for frame in (whole, parts)]
        same = whole.select(names).equals(parts.select(names))
        if not same or not np.allclose(*values, rtol=1e-12, atol=0, equal_nan=True):
            yield metric.name


def unlike_their_repeats(results: Results) -> Iterator[str]:
    """Numbers of cells that are not the mean of those of their repeats."""
    repeats = results.runs["repeat"].unique().sort().to_list()
    by_repeat = [_by_levels(only(results, [repeat])) for repeat in repeats]
    for levels, cell in _by_levels(results).items():
        alone = [numbers(own[levels]) for own in by_repeat if levels in own]
        phases = [cell.phases, *(own[levels].phases for own in by_repeat if levels in own)]
        same_phases = len({len(one) for one in phases}) == 1
        shown = [set().union(*({one.partition(" / ")[0]} for one in own)) for own in alone]
        for name, value in numbers(cell).items():
            # Which links are shown, and whether phases are, is decided for the cell. Its phases are
            # those that all repeats have.
            part = name.partition(" / ")[0]
            if part.startswith("phase ") and not same_phases:
                continue
            if all(part in own for own in shown) and not alike(value, combined(alone, name)):
                yield f"{levels}: {name}: {value}, of its repeats {combined(alone, name)}"


def _by_levels(results: Results) -> dict[tuple[str, ...], CellLine]:
    return {tuple(cell.levels.values()): cell for cell in cells(results)}


@pytest.mark.parametrize("file", EXAMPLES, ids=IDS)
def test_cells_of_examples_are_means_of_their_repeats(file: Path) -> None:
    results = example(file)
    assert results.runs["repeat"].n_unique() > 1
    assert list(unlike_their_repeats(results)) == []
    assert list(lone_metrics(results)) == []


@pytest.mark.parametrize("file", PARTS, ids=PART_IDS)
def test_cells_of_studies_are_means_of_their_repeats(file: Path) -> None:
    assert list(unlike_their_repeats(part(file))) == []


@pytest.mark.parametrize("begin", range(0, COUNT, AT_ONCE))
def test_cells_of_random_experiments_are_means_of_their_repeats(begin: int, tmp_path: Path) -> None:
    found: list[str] = []
    for number, results in drawn(range(begin, begin + AT_ONCE), tmp_path):
        found += [f"{number}: {one}" for one in unlike_their_repeats(results)]
        if number % _EVERY == 0:
            found += [f"{number}: {one}" for one in lone_metrics(results)]
    assert not found, "\n".join(found)
