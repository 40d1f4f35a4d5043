"""Evaluation of points: cells of the experiment, run into its store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell.engines.base import Engine
from dumbbell.execution import execute, plan
from dumbbell.execution.budget import Allowed
from dumbbell.experiment.contents import SearchSpec
from dumbbell.experiment.load import Experiment, Opened, load_text
from dumbbell.metrics import Interval
from dumbbell.results import Results
from dumbbell.search.check import load_points
from dumbbell.search.measure import aim_of, quantity_of, values, violation
from dumbbell.search.points import Evaluation, Key, Point, key_of
from dumbbell.search.texts import Text
from dumbbell.store import Store
from dumbbell.store.records import Record, record_id

_NOTHING = Interval(float("nan"), float("nan"), float("nan"), 0)


@dataclass(frozen=True)
class Bench:
    """State shared by all evaluations of a search.

    Attributes:
        spec: The search.
        text: Text of the experiment file.
        opened: The experiment file.
        fixed: Levels that all points have besides their own.
        engine: Engine that executes the runs.
        store: Store, open for writing.
        workers: Number of threads; None: one per processor.
        allow: Raised limits.
    """

    spec: SearchSpec
    text: Text
    opened: Opened
    fixed: Point
    engine: Engine
    store: Store
    workers: int | None
    allow: Allowed

    def load(self, text: str) -> Experiment:
        """Experiment of a text that was made from the file."""
        return load_text(text, Path(self.opened.file))

    def run(self, experiment: Experiment, *, recorded: bool) -> Results:
        """Executes what the store lacks. `recorded`: the experiment is the one run last."""
        only = None
        planned = plan(experiment, self.engine)
        if not recorded:
            only = {task.run.id for task in planned}
        execute(
            experiment, self.engine, self.store, workers=self.workers, only=only, allow=self.allow
        )
        info, overrides, engine = experiment.info, experiment.overrides, self.engine.name
        key = record_id(info, overrides, engine)
        runs = tuple(task.planned for task in planned)
        return self.store.results(Record(key, info, engine, overrides, 0, runs))


class Evaluator:
    """Evaluations of points with some seeds. Points evaluated before are not run again.

    Attributes:
        name: Name of the experiment in the store.
        found: Evaluations in their order.
    """

    def __init__(self, bench: Bench, name: str, repeats: int, seed: int, before: int = 0) -> None:
        """Makes evaluations with so many repeats. `before`: number of evaluations before."""
        self.bench, self.name, self.repeats, self.seed = bench, name, repeats, seed
        self._before = before
        self.found: list[Evaluation] = []
        self._known: dict[Key, Evaluation] = {}

    def __call__(self, points: Sequence[Point]) -> list[Evaluation]:
        """Evaluates points. Raises what `execute` raises, and an error of an impossible point."""
        points = [{**self.bench.fixed, **point} for point in points]
        new = {key_of(point): point for point in points if key_of(point) not in self._known}
        if new:
            results = self.bench.run(self.experiment(list(new.values())), recorded=False)
            for point, one in zip(new.values(), self._measured(results, new), strict=True):
                self.found.append(one)
                self._known[key_of(point)] = one
        return [self._known[key_of(point)] for point in points]

    def record(self) -> Results:
        """Records all points as one experiment of the store. Returns its results."""
        points = [one.point for one in self.found]
        return self.bench.run(self.experiment(points), recorded=True)

    def experiment(self, points: Sequence[Point]) -> Experiment:
        """Experiment with these points as cells. Raises an error that names the impossible one."""
        bench = self.bench
        return load_points(
            bench.text, list(points), bench.opened, self.name, self.repeats, self.seed
        )

    def _measured(self, results: Results, points: Mapping[Key, Point]) -> Iterator[Evaluation]:
        spec = self.bench.spec
        names = [name for name, _ in next(iter(points))]
        constraints = spec.aim.subject_to
        aimed = values(results, aim_of(spec), names)
        bounded = [values(results, quantity_of(one), names) for one in constraints]
        for number, (key, point) in enumerate(points.items(), self._before + len(self.found) + 1):
            levels = tuple(label for _, label in key)
            found = tuple(one.get(levels, _NOTHING) for one in bounded)
            missed = map(violation, constraints, found)
            value = aimed.get(levels, _NOTHING)
            yield Evaluation(number, point, value, found, tuple(missed))
