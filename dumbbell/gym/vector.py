"""One agent in many worlds: Gymnasium's `VectorEnv`, in one process."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from dumbbell.experiment.load import Overrides
from dumbbell.gym.choices import Choices
from dumbbell.gym.episodes import ExperimentLike
from dumbbell.gym.worlds import Worlds

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


class CongestionVectorEnv(VectorEnv[Floats, Floats, NDArray[Any]]):
    """Many worlds of an experiment, moved on by one call without the interpreter's lock.

    The step after the end of an episode begins the next one (`AutoresetMode.NEXT_STEP`).
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's form
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        experiment: ExperimentLike,
        agent: str,
        *,
        num_envs: int = 1,
        set: Overrides | None = None,
        **choices: Any,
    ) -> None:
        """Raises `ExperimentError` and `DumbbellError`; arguments as of `CongestionEnv`."""
        chosen = Choices(**choices)
        self.num_envs = num_envs
        self.worlds = Worlds(experiment, [agent], chosen, worlds=num_envs, set=set)
        self.single_action_space = chosen.action_space()
        self.single_observation_space = chosen.observation_space()
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._shape = (num_envs, len(chosen.actions))
        self._randoms = [np_random(None)[0] for _ in range(num_envs)]
        worlds = self.worlds
        self._actions, self._rewards = worlds.actions[:, 0], worlds.rewards[:, 0]
        self._seen = worlds.observations[:, 0]
        self._ends = worlds.terminated[:, 0], worlds.truncated[:, 0]

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Floats, dict[str, Any]]:
        """Begins an episode in every world. `seed`: of the first one; the next has one more."""
        if seed is not None:
            seeds = [seed + at for at in range(self.num_envs)] if isinstance(seed, int) else seed
            for at, one in enumerate(seeds):
                if one is not None:
                    self._randoms[at] = np_random(one)[0]
        for world, random in enumerate(self._randoms):
            self.worlds.begin(world, random)
        return self._seen.copy(), {}

    def step(
        self, actions: ArrayLike
    ) -> tuple[Floats, NDArray[np.float64], Flags, Flags, dict[str, Any]]:
        """Takes an action in every world. Raises `ValueError`: one is out of range."""
        array = np.asarray(actions)
        if array.shape != self._shape:
            raise ValueError(f"actions: found shape {array.shape}; allowed: {self._shape}")
        self._actions[...] = array
        for world in self.worlds.step():
            self.worlds.begin(world, self._randoms[world])
        terminated, truncated = self._ends
        return self._seen.copy(), self._rewards.copy(), terminated.copy(), truncated.copy(), {}
