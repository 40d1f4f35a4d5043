"""Scenarios of an experiment file, drawn by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name
from dumbbell.experiment import mapping
from dumbbell.experiment.cells import Cell
from dumbbell.experiment.load import Opened, Overrides
from dumbbell.experiment.source import read
from dumbbell.scenario import read_scenario

ExperimentLike = str | Path | Mapping[str, Any]

#: Seeds of runs are drawn below this number.
_SEEDS = 2**62


class Episodes:
    """Cells of an experiment, of which each episode draws one.

    Attributes:
        file: Path of the file, as the user named it.
        count: Number of cells.
    """

    def __init__(
        self, experiment: ExperimentLike, agents: Sequence[str], set: Overrides | None = None
    ) -> None:
        """Reads the file and checks its first cell. Raises `ExperimentError`."""
        if isinstance(experiment, Mapping):
            self._opened = Opened(mapping.written(experiment), mapping.PATH, set=set)
        else:
            path = Path(experiment)
            self._opened = Opened(read(path), path, set=set)
        self.file, self.count = self._opened.file, self._opened.count
        self._agents = agents
        self.cell(0)

    def cell(self, number: int) -> Cell:
        """A cell whose flows have the agents. Raises `ExperimentError`."""
        cell = next(iter(self._opened.cells(number, number + 1)))
        scenario = read_scenario(cell.scenario)
        if scenario.get("programs"):
            raise ExperimentError(
                "agents learn in the simulator, which runs no programs: give the traffic as flows",
                file=self.file,
                field="programs",
                code=Code.PROGRAM,
            )
        names = [flow["name"] for flow in scenario["flows"]]
        for agent in self._agents:
            if agent not in names:
                raise ExperimentError(
                    "an agent is a flow of the experiment",
                    file=self.file,
                    field="flows",
                    found=agent,
                    allowed=names,
                    nearest=nearest_name(agent, names),
                    code=Code.FLOW,
                )
        return cell

    def draw(self, random: np.random.Generator) -> tuple[int, int]:
        """Number of a cell, and the seed of a run."""
        return int(random.integers(self.count)), int(random.integers(_SEEDS))
