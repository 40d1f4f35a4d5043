"""Points of a space, and what was measured there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dumbbell.experiment.space import Choice, Level, Space
from dumbbell.metrics import Interval

#: Name → level.
Point = Mapping[str, Level]
Key = tuple[tuple[str, str], ...]
#: Name of the run's duration in a point of an attack.
DURATION = "duration"


def key_of(point: Point) -> Key:
    """Names and labels: what tells points apart."""
    return tuple((name, level.label) for name, level in point.items())


def words_of(point: Point) -> str:
    """`buffer=10 packets, cc=bbr`."""
    return ", ".join(f"{name}={level.label}" for name, level in point.items())


def start_of(space: Space) -> dict[str, Level]:
    """The point that the file stands for without a search."""
    return {name: dimension.start_level() for name, dimension in space.items()}


def edges(space: Space) -> Iterator[dict[str, Level]]:
    """Start point, and each end or level of a dimension with the others at their start."""
    start = start_of(space)
    yield start
    for name, dimension in space.items():
        if isinstance(dimension, Choice):
            levels = dimension.levels[1:]
        else:
            levels = (dimension.level(dimension.low), dimension.level(dimension.high))
        for level in levels:
            if level.label != start[name].label:
                yield {**start, name: level}


@dataclass(frozen=True)
class Evaluation:
    """Measurement at a point.

    Attributes:
        number: Its place in the order of evaluations, from 1.
        point: Name → level.
        value: The metric that is sought: mean over repeats.
        constraints: The metrics of the constraints, in their order.
        violations: By how much each misses its bound, as a share of the bound; 0: it is kept.
    """

    number: int
    point: Point
    value: Interval
    constraints: tuple[Interval, ...]
    violations: tuple[float, ...]

    @property
    def measured(self) -> bool:
        """True if the metric applies at this point."""
        return self.value.count > 0

    @property
    def feasible(self) -> bool:
        """True if the metric applies and every constraint is kept."""
        return self.measured and not any(self.violations)

    def rank(self, maximises: bool) -> tuple[bool, float, float, int]:
        """Key that puts the best first: what is feasible, then the least violation."""
        value = -self.value.mean if maximises else self.value.mean
        missed = sum(self.violations)
        return not self.measured, missed, value if self.measured else 0.0, self.number
