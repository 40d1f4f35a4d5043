"""One agent in one world: Gymnasium's `Env`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import ArrayLike, NDArray

from dumbbell import _core
from dumbbell.experiment.load import Overrides
from dumbbell.gym.choices import Choices
from dumbbell.gym.episodes import ExperimentLike
from dumbbell.gym.worlds import Worlds

Array = NDArray[np.float32]


class CongestionEnv(gymnasium.Env[Array, Array]):
    """A flow of an experiment, whose window and pacing rate an agent sets."""

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's form
        "render_modes": []
    }

    def __init__(
        self,
        experiment: ExperimentLike,
        agent: str,
        *,
        set: Overrides | None = None,
        record: bool = False,
        render_mode: str | None = None,
        **choices: Any,
    ) -> None:
        """Raises `ExperimentError` and `DumbbellError`.

        Args:
            experiment: File or mapping.
            agent: Name of the flow.
            set: Overrides of the experiment, as in `dumbbell.run`.
            record: Keep the tables that the experiment asks for, see `finish`.
            render_mode: None; there is nothing to render.
            choices: See `dumbbell.gym.choices.Choices`.
        """
        self.render_mode = render_mode
        chosen = Choices(**choices)
        self.worlds = Worlds(experiment, [agent], chosen, kept=record, set=set)
        self.action_space = chosen.action_space()
        self.observation_space = chosen.observation_space()
        self._shape = (len(chosen.actions),)
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins an episode: draws the levels of the factors and the run's seed."""
        super().reset(seed=seed)
        info = self.worlds.begin(0, self.np_random)
        self._over = False
        return self.worlds.observations[0, 0].copy(), info

    def step(self, action: ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Takes an action and moves on by a step.

        Raises:
            ValueError: The action is out of range or has another shape.
            ResetNeeded: The episode is over.
        """
        worlds = self.worlds
        if self._over:
            raise ResetNeeded("the episode is over: call reset() before step()")
        array = np.asarray(action, np.float64)
        if array.shape != self._shape:
            raise ValueError(f"action: found shape {array.shape}; allowed: {self._shape}")
        worlds.actions[0, 0] = array
        worlds.step()
        terminated, truncated = bool(worlds.terminated[0, 0]), bool(worlds.truncated[0, 0])
        self._over = terminated or truncated
        return (
            worlds.observations[0, 0].copy(),
            float(worlds.rewards[0, 0]),
            terminated,
            truncated,
            {},
        )

    def values(self) -> dict[str, float]:
        """All observations of the last step in their units, and `time_s`."""
        return self.worlds.values(0, 0)

    def finish(self) -> _core.Output:
        """Runs the episode to its end with the last action; digest and tables of the run."""
        self._over = True
        return self.worlds.finish(0)
