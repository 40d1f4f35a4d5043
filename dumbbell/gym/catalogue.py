"""What agents can see, set and be rewarded by; `dumbbell._core` has the list."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from dumbbell import _core


@dataclass(frozen=True, slots=True)
class Observation:
    """An observed quantity.

    Attributes:
        unit: Unit; empty: none.
        about: One sentence.
        bounds: Least and largest value in its unit, and normalised.
    """

    unit: str
    about: str
    bounds: tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Action:
    """What an agent sets.

    Attributes:
        unit: Unit; empty: none.
        low: Least value.
        high: Largest value.
        about: One sentence.
    """

    unit: str
    low: float
    high: float
    about: str


@dataclass(frozen=True, slots=True)
class Reward:
    """Reward of a step.

    Attributes:
        formula: Formula in the names of observations.
        source: Paper or program.
    """

    formula: str
    source: str


_ALL = orjson.loads(_core.gym_catalogue())

#: Observations by name, in the order of `Worlds.values`.
OBSERVATIONS: dict[str, Observation] = {
    one["name"]: Observation(
        one["unit"], one["about"], (tuple(one["bounds"][0]), tuple(one["bounds"][1]))
    )
    for one in _ALL["observations"]
}
#: Actions by name.
ACTIONS: dict[str, Action] = {
    one["name"]: Action(one["unit"], one["low"], one["high"], one["about"])
    for one in _ALL["actions"]
}
#: Rewards by name.
REWARDS: dict[str, Reward] = {
    one["name"]: Reward(one["formula"], one["source"]) for one in _ALL["rewards"]
}
