"""A reference's numbers as cells on which claims can be judged."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from dumbbell.levels import number_of
from dumbbell.metrics import METRICS
from dumbbell.metrics.fairness import jain_index
from dumbbell.metrics.statistics import draws_of_mean
from dumbbell.studies.definition import Study, StudyError, read_csv
from dumbbell.studies.quantities import Drawn
from dumbbell.studies.references import Reference


class ReferenceCells:
    """The cells of one part as a reference has them: one value per seed.

    Its columns bear the names of metrics; Jain's index comes from the goodputs of a cell.
    """

    def __init__(self, study: Study, reference: Reference, part: str) -> None:
        self._reference = reference
        self._part = part
        self._rows: dict[tuple[str, ...], list[dict[str, str]]] = {}
        columns = reference.layout.columns
        for row in read_csv(study.folder / reference.file):
            key = tuple(row[name] for name in columns)
            self._rows.setdefault(key, []).append(row)

    def drawn(self, metric: str, where: Mapping[str, str]) -> Drawn | None:
        """The metric in one cell; None if the reference does not have it.

        Raises `StudyError` if `where` lacks a factor that the cells are named by.
        """
        levels = {factor: plain(level) for factor, level in where.items()}
        names = self._reference.parts[self._part].cell
        cell = tuple(filled(template, levels) for template in names.values())
        rows = self._rows.get((self._part, *cell), [])
        if metric == "jain":
            seeds = dict.fromkeys(row["seed"] for row in rows)
            values = [
                jain_index([float(row["goodput_mbps"]) for row in rows if row["seed"] == seed])
                for seed in seeds
            ]
        else:
            flow = self._reference.flows.get(where.get("flow", "flow1"))
            values = [float(row[metric]) for row in rows if row["flow"] == flow and metric in row]
        if not values:
            return None
        bounds = METRICS[metric].bounds if metric in METRICS else (-math.inf, math.inf)
        return Drawn(float(np.mean(values)), draws_of_mean(values, bounds), len(values))


def plain(level: str) -> str:
    """A level without its unit: `10 ms` → `10`."""
    parsed = number_of(level)
    return level if parsed is None else f"{parsed[0]:g}"


def filled(template: str, levels: Mapping[str, str]) -> str:
    """A name of a cell: `udp:{udp_rate}` with the level in its place."""

    def level(match: re.Match[str]) -> str:
        if match[1] not in levels:
            raise StudyError(f"no factor {match[1]!r}; there are {', '.join(levels)}")
        return levels[match[1]]

    return re.sub(r"\{(\w+)\}", level, template)
