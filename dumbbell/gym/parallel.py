"""Several agents in one world: PettingZoo's `ParallelEnv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box
from gymnasium.utils.seeding import np_random
from numpy.typing import ArrayLike, NDArray
from pettingzoo import ParallelEnv

from dumbbell import _core
from dumbbell.experiment.load import Overrides
from dumbbell.gym.choices import Choices, check_list
from dumbbell.gym.episodes import ExperimentLike
from dumbbell.gym.worlds import Worlds

Array = NDArray[np.float32]


class CongestionParallelEnv(ParallelEnv):  # type: ignore[misc]
    """Flows of an experiment that learn beside each other.

    An episode begins when the last agent's connection is established; until then the others hold
    their initial window. An agent whose flow is over leaves; the run's end is the end of all.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "dumbbell_congestion_v0", "render_modes": []}

    def __init__(
        self,
        experiment: ExperimentLike,
        agents: Sequence[str],
        *,
        set: Overrides | None = None,
        record: bool = False,
        render_mode: str | None = None,
        **choices: Any,
    ) -> None:
        """Raises `ExperimentError` and `DumbbellError`; arguments as of `CongestionEnv`.

        Args:
            experiment: File or mapping.
            agents: Names of the flows.
            set: Overrides of the experiment, as in `dumbbell.run`.
            record: Keep the tables that the experiment asks for, see `finish`.
            render_mode: None; there is nothing to render.
            choices: See `dumbbell.gym.choices.Choices`.
        """
        self.render_mode = render_mode
        check_list("agent", agents)
        self.possible_agents = list(agents)
        self.agents: list[str] = []
        chosen = Choices(**choices)
        self.worlds = Worlds(experiment, self.possible_agents, chosen, kept=record, set=set)
        # An agent's spaces are the same objects at each call.
        self.action_spaces = {agent: chosen.action_space() for agent in agents}
        self.observation_spaces = {agent: chosen.observation_space() for agent in agents}
        self._shape = (len(chosen.actions),)
        self._random = np_random(None)[0]

    def action_space(self, agent: str) -> Box:
        """Bounds of an agent's action."""
        return self.action_spaces[agent]

    def observation_space(self, agent: str) -> Box:
        """Bounds of an agent's observation."""
        return self.observation_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Begins an episode: draws the levels of the factors and the run's seed."""
        if seed is not None:
            self._random = np_random(seed)[0]
        info = self.worlds.begin(0, self._random)
        self.agents = list(self.possible_agents)
        return self._observed(self.agents), {agent: deepcopy(info) for agent in self.agents}

    def step(
        self, actions: Mapping[str, ArrayLike]
    ) -> tuple[
        dict[str, Array],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Takes an action of every agent and moves on by a step.

        Raises:
            ValueError: An action is missing or out of range.
            ResetNeeded: The episode is over.
        """
        if not self.agents:
            raise ResetNeeded("the episode is over: call reset() before step()")
        acted, worlds = self.agents, self.worlds
        for agent in acted:
            if agent not in actions:
                raise ValueError(f"there is no action of agent {agent}")
            array = np.asarray(actions[agent], np.float64)
            if array.shape != self._shape:
                raise ValueError(
                    f"action of agent {agent}: found shape {array.shape}; allowed: {self._shape}"
                )
            worlds.actions[0, self._place(agent)] = array
        worlds.step()
        terminated = {agent: bool(worlds.terminated[0, self._place(agent)]) for agent in acted}
        truncated = {agent: bool(worlds.truncated[0, self._place(agent)]) for agent in acted}
        self.agents = [agent for agent in acted if not (terminated[agent] or truncated[agent])]
        return (
            self._observed(acted),
            {agent: float(worlds.rewards[0, self._place(agent)]) for agent in acted},
            terminated,
            truncated,
            {agent: {} for agent in acted},
        )

    def values(self, agent: str) -> dict[str, float]:
        """All observations of an agent's last step in their units, and `time_s`."""
        return self.worlds.values(0, self._place(agent))

    def finish(self) -> _core.Output:
        """Runs the episode to its end with the last actions; digest and tables of the run."""
        self.agents = []
        return self.worlds.finish(0)

    def _place(self, agent: str) -> int:
        return self.possible_agents.index(agent)

    def _observed(self, agents: Sequence[str]) -> dict[str, Array]:
        return {agent: self.worlds.observations[0, self._place(agent)].copy() for agent in agents}
