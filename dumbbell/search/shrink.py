"""Simplification of a worst case: values at their start, rounder numbers, a shorter run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dumbbell import units
from dumbbell.experiment.contents import SearchSpec
from dumbbell.experiment.source import Node
from dumbbell.experiment.space import Choice, Level, Range, Space
from dumbbell.metrics import Interval
from dumbbell.search.points import DURATION, Evaluation, Point

#: Durations that are tried, as shares of the one before, and the shortest.
_SHORTER = (Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
_SHORTEST_NS = 10**9
_ROUNDS = 3


@dataclass(frozen=True)
class Step:
    """A simplification that was tried.

    Attributes:
        name: What was simplified.
        before: Its level before.
        after: Its level after.
        found: What was measured.
        kept: True if enough of the effect is left.
    """

    name: str
    before: str
    after: str
    found: Evaluation
    kept: bool


class Shrinker:
    """Simplification of a worst case, one name at a time.

    A change is kept if the constraints hold and at least `1 − tolerance` of the effect is left: of
    the difference between the worst case and the start. The interval over repeats must lie nearer
    to the worst case, too. A shorter run must show it beside a start that is as short.
    """

    def __init__(
        self,
        space: Space,
        spec: SearchSpec,
        evaluate: Callable[[Sequence[Point]], Sequence[Evaluation]],
        start: Evaluation,
        worst: Evaluation,
    ) -> None:
        self.space, self.spec, self.evaluate = space, spec, evaluate
        self.shortens = DURATION in worst.point and DURATION not in space
        self.steps: list[Step] = []
        self.best = worst
        tolerance = spec.attack.tolerance if spec.attack is not None else 0.0
        known = start.measured and worst.measured
        effect = worst.value.mean - start.value.mean if known else 0.0
        self.start = start
        self.edge = worst.value.mean - tolerance * effect
        self.middle = worst.value.mean - effect / 2
        self.least_effect = (1 - tolerance) * abs(effect)

    def run(self) -> Evaluation:
        """Simplifies until nothing more can be. Returns what is left."""
        if self.best.feasible:
            for _ in range(_ROUNDS):
                before = self.best
                self._round()
                if self.best is before:
                    break
            self._shorten()
        return self.best

    def _round(self) -> None:
        start = {name: one.start_level() for name, one in self.space.items()}
        for name, level in start.items():
            self._try(name, level)
        for name, dimension in self.space.items():
            now = self.best.point[name]
            if now.label != start[name].label:
                any(self._try(name, level) for level in _simpler(dimension, now))

    def _shorten(self) -> None:
        while self.shortens:
            now = units.whole(self.best.point[DURATION].label, units.TIME)
            shorter = (_duration(now * share) for share in _SHORTER)
            if not any(self._try(DURATION, level) for level in shorter if level is not None):
                return

    def _try(self, name: str, level: Level) -> bool:
        """Replaces a level if enough of the effect is left."""
        before = self.best.point[name]
        if level.label == before.label:
            return False
        (found,) = self.evaluate([{**self.best.point, name: level}])
        kept = found.feasible and self._is_bad_enough(found.value)
        if kept and name == DURATION:
            (start,) = self.evaluate([{**self.start.point, name: level}])
            effect = abs(found.value.mean - start.value.mean)
            kept = start.measured and effect >= self.least_effect
        self.steps.append(Step(name, before.label, level.label, found, kept))
        if kept:
            self.best = found
        return kept

    def _is_bad_enough(self, value: Interval) -> bool:
        """True if the mean keeps the effect and the interval, if there is one, lies near it."""
        if self.spec.maximises:
            return value.mean >= self.edge and not value.low < self.middle
        return value.mean <= self.edge and not value.high > self.middle


def _simpler(dimension: Choice | Range, level: Level) -> Iterator[Level]:
    """Simpler levels, the simplest first: earlier ones of a list, rounder numbers.

    The roundest are powers of ten, then 2 and 5 times one, then those with one digit.
    """
    if isinstance(dimension, Choice):
        labels = [one.label for one in dimension.levels]
        yield from dimension.levels[: labels.index(level.label)]
        return
    value = dimension.exact(level)
    if value <= 0:
        return
    powers = [Fraction(10) ** exponent for exponent in range(-9, 19)]
    others = [factor * power for power in powers for factor in (2, 5)]
    seen: list[Fraction] = []
    for grid in (powers, others, [dimension.rounded(value, 1)]):
        near = min(grid, key=lambda one: max(one / value, value / one))
        if near == value or near in seen:
            return
        seen.append(near)
        if dimension.low <= near <= dimension.high:
            yield dimension.level(near)


def _duration(ns: Fraction) -> Level | None:
    """Level of a duration in whole seconds; None: too short."""
    seconds = round(ns / 10**9)
    if seconds * 10**9 < _SHORTEST_NS:
        return None
    text = f"{seconds} s"
    return Level(text, Node(text, text, 0))
