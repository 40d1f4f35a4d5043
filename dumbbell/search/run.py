"""A search from an experiment file to what it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.engines import engine_named
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.execution.budget import allowed
from dumbbell.experiment.contents import MAX_EVALUATIONS, SearchSpec
from dumbbell.experiment.load import Opened, Overrides, outside
from dumbbell.experiment.source import parse, read
from dumbbell.experiment.space import Choice, Level, Space, level_of, read_space
from dumbbell.files.urls import store_path
from dumbbell.search.check import refuse_impossible
from dumbbell.search.evaluate import Bench, Evaluator
from dumbbell.search.measure import aim_of
from dumbbell.search.points import DURATION, Evaluation, Point, start_of
from dumbbell.search.progress import one_progress
from dumbbell.search.sampler import optuna_or_error, sample
from dumbbell.search.shrink import Shrinker, Step
from dumbbell.search.texts import text_of
from dumbbell.search.written import written
from dumbbell.store import Store

#: Least and most of the numbers that a call gives.
_RANGES = {"repeats": (1, 1000), "seed": (0, 2**31), "evaluations": (1, MAX_EVALUATIONS)}
#: Evaluations of a simplification per name of the space, an estimate for the progress.
_STEPS = 5
#: Evaluations that are measured again, and with how many times the repeats.
_PICKED, _MORE = 5, 2


@dataclass(frozen=True)
class Outcome:
    """Result of a search.

    Attributes:
        name: Name of the experiment.
        engine: Name of the engine.
        version: Version of the engine.
        spec: What was sought.
        space: Where it was sought.
        evaluations: Evaluations of the sampled points in their order.
        start: The values that the file starts with; with more repeats, as `best` and `found`.
        best: The best, or the worst case before it was simplified.
        steps: Simplifications that were tried; none of an optimum.
        found: The best, or the simplified worst case.
        seed: First of the other seeds.
        again: `start` and `found` with other seeds.
        file: Text of an experiment file with the values found.
    """

    name: str
    engine: str
    version: str
    spec: SearchSpec
    space: Space
    evaluations: Sequence[Evaluation]
    start: Evaluation
    best: Evaluation
    steps: Sequence[Step]
    found: Evaluation
    seed: int
    again: tuple[Evaluation, Evaluation]
    file: str


def search(
    path: str | Path,
    *,
    store: str | Path,
    set: Overrides | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    evaluations: int | None = None,
    workers: int | None = None,
    engine: str = "sim",
    allow: Sequence[str] | Mapping[str, float] | None = None,
) -> Outcome:
    """Searches as the section `search` of an experiment file says.

    Args:
        path: Path of the experiment file.
        store: Folder of the store. Finished runs in it are not repeated.
        set: Path of a field → value; factor or name of the space → level or levels.
        repeats: Runs per evaluation; None: as in the file.
        seed: Seed of the choice of points and of the first repeat; None: as in the file.
        evaluations: Number of evaluations; None: as in the file.
        workers: Number of simultaneous runs; None: one per processor.
        engine: Name of the engine.
        allow: Raised limits of a run, see `dumbbell.run`.

    Raises:
        ExperimentError: The file has an error, or a point of the space is impossible.
        DumbbellError: The file seeks nothing, or optuna is missing.
        EngineError: The engine is unknown, or a run failed.
        StoreError: The store cannot be read or written.
    """
    path, raised, chosen = Path(path), allowed(allow), engine_named(engine)
    opened = Opened(read(path), path, set=set)
    if opened.search is None:
        raise DumbbellError(
            f"{path}: nothing is sought: write `search` into the file", code=Code.SEARCH
        )
    optuna_or_error()
    refuse_impossible(opened)
    given = {"repeats": repeats, "seed": seed, "evaluations": evaluations}
    spec = _with(opened.search, {k: value for k, value in given.items() if value is not None})
    fixed = {} if spec.attack is None else _duration(opened)
    space = _narrowed(opened)
    steps = 0 if spec.attack is None else _STEPS * len(space)
    count = spec.evaluations + 2 + _MORE * (_PICKED + 1 + steps)
    with (
        Store(store_path(store), write=True) as kept,
        one_progress(opened.info.name, chosen.name, count * spec.repeats * opened.count),
    ):
        bench = Bench(spec, text_of(opened), opened, fixed, chosen, kept, workers, raised)
        return _search(opened.info.name, space, bench)


def _with(spec: SearchSpec, given: Mapping[str, int]) -> SearchSpec:
    """The search with other numbers. Raises `DumbbellError` for one out of range."""
    for name, value in given.items():
        low, high = _RANGES[name]
        if not low <= value <= high:
            message = f"--{name}: should be a whole number from {low} to {high}; found {value}"
            raise DumbbellError(message, code=Code.OPTION)
    return replace(
        spec,
        repeats=given.get("repeats", spec.repeats),
        seed=given.get("seed", spec.seed),
        evaluations=given.get("evaluations", spec.evaluations),
    )


def _narrowed(opened: Opened) -> Space:
    """The space, with the levels that `set` gives in place of its own."""
    space = read_space(opened.reading.root, opened.file)
    for name in opened.overrides.keys() & space.keys():
        own = space[name]
        known = {one.label: one for one in own.levels} if isinstance(own, Choice) else {}
        nodes = [parse(one, f"--set {name}") for one in opened.overrides[name]]
        found = [level_of(outside(node)) for node in nodes]
        space[name] = Choice(tuple(known.get(one.label, one) for one in found))
    return space


def _duration(opened: Opened) -> Point:
    """The run's duration as a level that a worst case may shorten."""
    file = parse(opened.info.yaml, opened.file).value
    node = file.get(DURATION) if isinstance(file, dict) else None
    if DURATION in opened.overrides:
        node = parse(opened.overrides[DURATION][0], "--set")
    known = {*opened.info.factors, *dict(opened.reading.core.space)}
    if node is None or "$" in node.text or DURATION in known:
        return {}
    return {DURATION: Level(node.text, node)}


def _search(name: str, space: Space, bench: Bench) -> Outcome:
    spec = bench.spec
    evaluate = Evaluator(bench, f"{name} (search)", spec.repeats, spec.seed)
    sample(space, spec, evaluate)
    (start,) = evaluate([start_of(space)])
    if not any(one.measured for one in evaluate.found):
        message = f"nothing is measured for {aim_of(spec).title} at any point"
        line = bench.opened.reading.line("search")
        raise ExperimentError(
            message, file=bench.opened.file, line=line, field="search", code=Code.SEARCH
        )
    evaluate.record()
    # What was picked as the best of many is so partly by chance: more repeats decide.
    again = Evaluator(bench, f"{name} (again)", _MORE * spec.repeats, spec.seed, spec.evaluations)
    ranked = sorted(evaluate.found, key=lambda one: one.rank(spec.maximises))
    first, *others = again([start.point, *(one.point for one in ranked[:_PICKED])])
    best = min(others, key=lambda one: one.rank(spec.maximises))
    found, steps = best, list[Step]()
    if spec.attack is not None:
        shrinker = Shrinker(space, spec, again, first, best)
        found, steps = shrinker.run(), shrinker.steps
    again.record()
    file = written(name, bench, again.repeats, first, found)
    later = Evaluator(bench, f"{name} (found)", spec.repeats, spec.seed + again.repeats)
    confirmed = later([start.point, found.point])
    later.record()
    return Outcome(
        name=name,
        engine=bench.engine.name,
        version=bench.engine.version,
        spec=spec,
        space=space,
        evaluations=evaluate.found,
        start=first,
        best=best,
        steps=steps,
        found=found,
        seed=later.seed,
        again=(confirmed[0], confirmed[1]),
        file=file,
    )
