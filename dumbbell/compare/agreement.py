"""Agreement with a reference, cell by cell."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Criterion:
    """Criterion of agreement with the reference's mean.

    `share`: relative tolerance (0.05 is 5 %). `units`: absolute tolerance, in the quantity's
    unit. The wider of both holds. `factor`: 2 means between half and double. Where the range of the
    reference's seeds is wider than that, a value inside this range, widened by a tenth of its width
    at either end, agrees too. `without`: algorithms (column `cc` of the reference) to which the
    quantity does not apply.
    """

    column: str
    label: str
    metric: str
    share: float = 0.0
    units: float = 0.0
    factor: float = 0.0
    without: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The criterion in words: `within 5 %`."""
        if self.factor:
            return f"within a factor {self.factor:g}"
        either = f" or {self.units:g}" if self.units else ""
        return f"within {self.share * 100:g} %{either}"

    def band(self, reference: float) -> tuple[float, float]:
        """Minimum and maximum value that agree with a mean of the reference."""
        if self.factor:
            return reference / self.factor, reference * self.factor
        room = max(abs(reference) * self.share, self.units)
        return reference - room, reference + room


CellKey = tuple[str, ...]
#: Values over seeds or repeats, by flow (`"1"`, `"2"`) and column.
Values = dict[tuple[str, str], list[float]]


@dataclass(frozen=True)
class Layout:
    """Names of a reference's cells and flows, and the criteria.

    Attributes:
        columns: Columns of the reference that identify a cell; the first is `part`.
        criteria: Compared quantities, in order.
        algorithms: Flow → column of the cell with its algorithm.
        names: Part → format of a cell's name: `{part} {delay_ms} ms {cc_1}`.
    """

    columns: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    algorithms: Mapping[str, str]
    names: Mapping[str, str]


@dataclass(frozen=True)
class Comparison:
    """Comparison of one quantity of one flow: both means over seeds, and their distance.

    `distance`: 0 in the middle of the agreeing range, 1 at its edge; above 1 it does not agree.
    """

    flow: str
    cc: str
    criterion: Criterion
    ours: float
    ours_range: tuple[float, float]
    reference: float
    reference_range: tuple[float, float]
    distance: float

    @property
    def agrees(self) -> bool:
        """True if the criterion holds."""
        return self.distance <= 1.0

    @property
    def relative(self) -> float:
        """Our mean over the reference, minus 1; NaN where the reference is 0."""
        return self.ours / self.reference - 1 if self.reference else math.nan


@dataclass(frozen=True)
class AgreementCell:
    """Cell with all its comparisons.

    `missing`: true if we have no run of it. `place`: identifying columns and their values. `name`:
    the cell in words.
    """

    place: Mapping[str, str]
    name: str
    comparisons: list[Comparison]
    missing: bool = False

    @property
    def agrees(self) -> bool:
        """True if every criterion of every flow holds."""
        return not self.missing and all(one.agrees for one in self.comparisons)

    @property
    def distance(self) -> float:
        """Largest distance of the comparisons; infinite if missing."""
        if self.missing:
            return math.inf
        return max((one.distance for one in self.comparisons), default=0.0)


@dataclass(frozen=True)
class Agreement:
    """All cells of a comparison, the largest distance first."""

    reference: str
    criteria: tuple[Criterion, ...]
    cells: list[AgreementCell]

    @property
    def share(self) -> float:
        """Share of cells that agree (0–1)."""
        return sum(cell.agrees for cell in self.cells) / len(self.cells) if self.cells else 0.0

    def to_json(self) -> dict[str, Any]:
        """Share, and one row per cell, flow and quantity, the largest distance first."""
        return {
            "reference": self.reference,
            "cells": len(self.cells),
            "agreeing": sum(cell.agrees for cell in self.cells),
            "share": self.share,
            "criteria": {one.column: one.words for one in self.criteria},
            "rows": [row for cell in self.cells for row in _rows(cell)],
        }


def _rows(cell: AgreementCell) -> list[dict[str, Any]]:
    if cell.missing:
        return [{**cell.place, "agrees": False, "missing": True}]
    return [
        {
            **cell.place,
            "cell_agrees": cell.agrees,
            "flow": one.flow,
            "cc": one.cc,
            "quantity": one.criterion.column,
            "reference": one.reference,
            "reference_low": one.reference_range[0],
            "reference_high": one.reference_range[1],
            "measured": one.ours,
            "measured_low": one.ours_range[0],
            "measured_high": one.ours_range[1],
            "relative": None if math.isnan(one.relative) else one.relative,
            "distance": one.distance if math.isfinite(one.distance) else None,
            "agrees": one.agrees,
        }
        for one in sorted(cell.comparisons, key=lambda one: -one.distance)
    ]


def read_reference(path: Path, layout: Layout) -> dict[CellKey, Values]:
    """Reads the reference from CSV, by cell, without quantities that a flow lacks."""
    cells: dict[CellKey, Values] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            values = cells.setdefault(tuple(row[name] for name in layout.columns), {})
            for criterion in layout.criteria:
                if row["cc"] not in criterion.without:
                    values.setdefault((row["flow"], criterion.column), []).append(
                        float(row[criterion.column])
                    )
    return cells


def compare(criterion: Criterion, ours: Sequence[float], reference: Sequence[float]) -> float:
    """Distance between two sets of seeds: 0 in the middle of the agreeing range, 1 at its edge.

    Raises `ValueError` if either is empty.
    """
    if not ours or not reference:
        raise ValueError("nothing to compare")
    mean, centre = float(np.mean(ours)), float(np.mean(reference))
    if math.isnan(mean):
        return math.inf
    low, high = criterion.band(centre)
    distance = _ratio_distance(criterion, mean, centre)
    if min(reference) < low or max(reference) > high:
        width = max(reference) - min(reference)
        middle = (max(reference) + min(reference)) / 2
        distance = min(distance, abs(mean - middle) / (0.5 * width + 0.1 * width))
    return distance


def _ratio_distance(criterion: Criterion, mean: float, centre: float) -> float:
    if not criterion.factor:
        room = criterion.band(centre)[1] - centre
        gap = abs(mean - centre)
        return gap / room if room else (0.0 if gap == 0 else math.inf)
    if mean == centre:
        return 0.0
    if mean <= 0 or centre <= 0:
        return math.inf
    return abs(math.log(mean / centre)) / math.log(criterion.factor)


def agree(
    ours: Mapping[CellKey, Values],
    reference: Mapping[CellKey, Values],
    layout: Layout,
    name: str = "kernel",
) -> Agreement:
    """Compares all cells of the reference with ours. The largest distance comes first."""
    cells = [_cell(key, ours.get(key), values, layout) for key, values in reference.items()]
    return Agreement(name, layout.criteria, sorted(cells, key=lambda cell: -cell.distance))


def _cell(key: CellKey, ours: Values | None, reference: Values, layout: Layout) -> AgreementCell:
    by_column = {criterion.column: criterion for criterion in layout.criteria}
    place = dict(zip(layout.columns, key, strict=True))
    name = layout.names[place["part"]].format_map(place)
    comparisons = []
    for (flow, column), values in reference.items():
        mine = (ours or {}).get((flow, column))
        if not mine:
            return AgreementCell(place, name, [], missing=True)
        comparisons.append(
            Comparison(
                flow=flow,
                cc=place[layout.algorithms[flow]],
                criterion=by_column[column],
                ours=float(np.mean(mine)),
                ours_range=(min(mine), max(mine)),
                reference=float(np.mean(values)),
                reference_range=(min(values), max(values)),
                distance=compare(by_column[column], mine, values),
            )
        )
    return AgreementCell(place, name, comparisons)


def cells_of(rows: Iterable[tuple[CellKey, str, str, float]]) -> dict[CellKey, Values]:
    """Values by cell, from rows (cell, flow, column, value), one per repeat."""
    cells: dict[CellKey, Values] = {}
    for key, flow, column, value in rows:
        cells.setdefault(key, {}).setdefault((flow, column), []).append(value)
    return cells
