"""Worlds behind one call: arrays of actions, observations, rewards and states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dumbbell import _core
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.experiment.load import Overrides
from dumbbell.gym.catalogue import OBSERVATIONS
from dumbbell.gym.choices import Choices
from dumbbell.gym.episodes import Episodes, ExperimentLike

#: Most worlds of a process.
MOST_WORLDS = 4096


class Worlds:
    """Runs of an experiment in which its flows learn.

    Attributes:
        actions: Next actions, shape (worlds, agents, actions).
        observations: Last observations, shape (worlds, agents, observations).
        rewards: Rewards of the last step, shape (worlds, agents).
        terminated: Flows that are over, shape (worlds, agents).
        truncated: Flows whose run is over, shape (worlds, agents).
        step: Moves on all worlds; returns those whose episode was over, which have not moved.
            Raises `ValueError`: an action is out of range, and nothing has moved.
    """

    def __init__(
        self,
        experiment: ExperimentLike,
        agents: Sequence[str],
        choices: Choices,
        *,
        worlds: int = 1,
        kept: bool = False,
        set: Overrides | None = None,
    ) -> None:
        """Raises `ExperimentError` and `DumbbellError`.

        Args:
            experiment: File or mapping.
            agents: Names of the flows that learn.
            choices: What they see and set.
            worlds: Number of runs at one time.
            kept: Tables are recorded, for `finish`.
            set: Overrides of the experiment, as in `dumbbell.run`.
        """
        if not 1 <= worlds <= MOST_WORLDS:
            message = f"worlds: found {worlds}; allowed: 1 to {MOST_WORLDS}"
            raise DumbbellError(message, code=Code.OPTION)
        self._episodes = Episodes(experiment, agents, set)
        self._kept = kept
        self._core = _core.Worlds(
            worlds,
            agents,
            choices.actions,
            choices.scaled,
            choices.kind,
            choices.count,
            choices.length_ns,
            choices.observations,
            choices.normalised,
            choices.reward,
        )
        rows = (worlds, len(agents))
        self.actions: NDArray[np.float64] = np.zeros((*rows, len(choices.actions)))
        self.observations = np.zeros((*rows, len(choices.observations)), np.float32)
        self.rewards: NDArray[np.float64] = np.zeros(rows)
        ends = np.zeros((2, *rows), np.uint8)
        self.terminated, self.truncated = ends.view(np.bool_)
        self._core.bind(self.actions, self.observations, self.rewards, *ends)
        self.step = self._core.step
        self._cells: dict[int, tuple[int, dict[str, str]]] = {}
        self._scenario(0)

    def _scenario(self, number: int) -> tuple[int, dict[str, str]]:
        """Number of a cell's scenario in the compiled part, and the cell's levels."""
        if number not in self._cells:
            cell = self._episodes.cell(number)
            try:
                added = self._core.add(cell.scenario, self._kept)
            except _core.ScenarioError as error:
                raise self._refused(error.path, error.message) from None
            self._cells[number] = added, cell.levels
        return self._cells[number]

    def _refused(self, field: str, message: str) -> ExperimentError:
        return ExperimentError(message, file=self._episodes.file, field=field)

    def begin(self, world: int, random: np.random.Generator) -> dict[str, Any]:
        """Begins an episode, drawn at random: levels of factors, and seed of the run."""
        number, seed = self._episodes.draw(random)
        scenario, levels = self._scenario(number)
        try:
            opened = self._core.reset(world, scenario, seed)
        except _core.ScenarioError as error:
            raise self._refused(error.path, error.message) from None
        if not opened:
            message = "the run ends before the connection of every agent is established"
            raise self._refused("duration", message)
        return {"levels": dict(levels), "seed": seed}

    def values(self, world: int, agent: int) -> dict[str, float]:
        """All observations of the last step in their units, and `time_s`."""
        found = self._core.values(world, agent)
        if found is None:
            return {}
        return {"time_s": found[0], **dict(zip(OBSERVATIONS, found[1], strict=True))}

    def finish(self, world: int) -> _core.Output:
        """Runs an episode to its end with the last actions and returns its results."""
        return self._core.finish(world)
