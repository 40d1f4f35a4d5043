"""Result of a search: a table, two lines in words, JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group
from rich.table import Table

from dumbbell.console.words import many
from dumbbell.experiment.space import Choice
from dumbbell.metrics import METRICS, Interval
from dumbbell.metrics.numbers import number, with_interval
from dumbbell.search.measure import aim_of, quantity_of
from dumbbell.search.points import DURATION, Evaluation, Point, key_of
from dumbbell.search.run import Outcome
from dumbbell.summary.fit import WIDTH, add_columns, fitted, plain_table, shortened, titled

#: Evaluations in the table: the best.
_MOST_ROWS = 10


def table(outcome: Outcome, width: int = WIDTH) -> Group:
    """The best evaluations, the start, and what an attack left after it was simplified."""
    spec, aim = outcome.spec, aim_of(outcome.spec)
    ranked = sorted(outcome.evaluations, key=lambda one: one.rank(spec.maximises))
    shown = ranked[:_MOST_ROWS]
    best, beside = len(shown), dict[str, None]()
    known = {key_of(one.point): one for one in outcome.evaluations}
    for title, wanted in (("the start", outcome.start), ("the case found", outcome.found)):
        one = known.get(key_of(wanted.point), wanted)
        if one not in shown:
            shown.append(one)
            beside[title] = None
    names = _varied(outcome, shown)
    limits = [f"{quantity_of(one).title}{_bounds(one)}" for one in spec.aim.subject_to]
    count = many(len(outcome.evaluations), "evaluation")
    if best < len(outcome.evaluations):
        count = f"the best {best} of {count}"
    count = ", ".join([" and ".join([count, *beside]), f"{many(spec.repeats, 'repeat')} each"])

    def make(form: tuple[bool, bool]) -> Table:
        intervals, headed = form
        made = plain_table()
        own = [] if headed else names
        titles = [_axis(aim.title, aim.metric), *map(_broken, limits)]
        add_columns(made, ["#", *map(shortened, own)], titles)
        made.add_column("", no_wrap=True)
        for one in shown:
            levels = [shortened(one.point[name].label) for name in own]
            texts = [_value(found, intervals) for found in (one.value, *one.constraints)]
            marked = [
                f"{text}{' ✗' if missed else ''}"
                for text, missed in zip(texts, (0.0, *one.violations), strict=True)
            ]
            made.add_row(str(one.number), *levels, *marked, _note(outcome, one))
            if headed:
                words = ", ".join(f"{name}={one.point[name].label}" for name in names)
                made.add_row("", *[""] * len(titles), words)
        return made

    title = f"{outcome.name}: {_goal(outcome)} ({count})"
    return titled(title, fitted(make, ((True, False), (False, False), (False, True)), width))


def sentences(outcome: Outcome) -> Iterator[str]:
    """Worst case beside the start, its simplification, and its values with other seeds."""
    spec, aim, found = outcome.spec, aim_of(outcome.spec), outcome.found
    start, worst = outcome.start, outcome.best
    names = _varied(outcome, [found, start])
    what = "Best" if spec.attack is None else "Worst case"
    if not found.feasible:
        yield (
            "No evaluation keeps all constraints. The nearest is "
            f"{_words(found.point, names)}: {aim.title} {_with_unit(aim.metric, found.value)}."
        )
    else:
        yield (
            f"{what}: {aim.title} {_with_unit(aim.metric, found.value)} with "
            f"{_words(found.point, names)}. The values of the file give "
            f"{_with_unit(aim.metric, start.value)}{_ratio(found, start)}."
        )
    ends = [name for name in outcome.space if _is_end(outcome, name)]
    if ends:
        verb = "lies at an end of its range" if len(ends) == 1 else "lie at ends of their ranges"
        yield f"{', '.join(ends)} {verb}: there may be more beyond."
    if outcome.steps:
        kept = [f"{one.name} {one.before} → {one.after}" for one in outcome.steps if one.kept]
        changed = ", ".join(kept) or "nothing could be made simpler"
        yield (
            f"Simplified in {many(len(outcome.steps), 'evaluation')} of "
            f"{many(found.value.count, 'repeat')} from "
            f"{_with_unit(aim.metric, worst.value)}: {changed}."
        )
    first, repeats = outcome.seed, spec.repeats
    seeds = f"seed {first}" if repeats == 1 else f"seeds {first} to {first + repeats - 1}"
    before, after = outcome.again
    yield (
        f"With {seeds}, which the search has not seen: {_with_unit(aim.metric, after.value)}, and "
        f"{_with_unit(aim.metric, before.value)} with the values of the file."
    )


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Content of `--json`."""
    spec, aim = outcome.spec, aim_of(outcome.spec)
    return {
        "experiment": outcome.name,
        "engine": outcome.engine,
        "versions": {outcome.engine: outcome.version},
        "search": {
            "kind": "optimise" if spec.attack is None else "attack",
            "metric": aim.metric,
            "goal": "maximise" if spec.maximises else "minimise",
            "repeats": spec.repeats,
            "seed": spec.seed,
        },
        "evaluations": [_evaluation(outcome, one) for one in outcome.evaluations],
        "start": _evaluation(outcome, outcome.start),
        "best": _evaluation(outcome, outcome.best),
        "simplified": [
            {"name": one.name, "before": one.before, "after": one.after, "kept": one.kept,
             **_evaluation(outcome, one.found)}
            for one in outcome.steps
        ],
        "found": _evaluation(outcome, outcome.found),
        "with_other_seeds": {
            name: _evaluation(outcome, one)
            for name, one in zip(("start", "found"), outcome.again, strict=True)
        },
    }  # fmt: skip


def _evaluation(outcome: Outcome, one: Evaluation) -> dict[str, Any]:
    titles = [quantity_of(constraint).title for constraint in outcome.spec.aim.subject_to]
    return {
        "number": one.number,
        "levels": {name: level.label for name, level in one.point.items()},
        "value": _interval(one.value),
        "constraints": {
            title: _interval(found) for title, found in zip(titles, one.constraints, strict=True)
        },
        "feasible": one.feasible,
    }


def _interval(found: Interval) -> dict[str, Any]:
    return {"mean": found.mean, "low": found.low, "high": found.high, "count": found.count}


def _varied(outcome: Outcome, shown: Sequence[Evaluation]) -> list[str]:
    """Names of the space, and the duration where it differs."""
    differs = len({one.point[DURATION].label for one in shown if DURATION in one.point}) > 1
    return [name for name in outcome.start.point if name != DURATION or differs]


def _is_end(outcome: Outcome, name: str) -> bool:
    dimension = outcome.space[name]
    if isinstance(dimension, Choice):
        return False
    value = dimension.exact(outcome.found.point[name])
    return value in (dimension.low, dimension.high) and value != dimension.start


def _words(point: Point, names: Sequence[str]) -> str:
    return ", ".join(f"{name}={point[name].label}" for name in names)


def _goal(outcome: Outcome) -> str:
    aim, spec = aim_of(outcome.spec), outcome.spec
    size = "largest" if spec.maximises else "smallest"
    return f"{size} {aim.title}" if spec.attack is None else f"worst {aim.title}, the {size}"


def _note(outcome: Outcome, one: Evaluation) -> str:
    attacks = outcome.spec.attack is not None
    titles = {"worst" if attacks else "best": outcome.best, "start": outcome.start}
    if outcome.found.point != outcome.best.point:
        titles["simplified"] = outcome.found
    key = key_of(one.point)
    return ", ".join(title for title, of in titles.items() if key_of(of.point) == key)


def _bounds(constraint: Any) -> str:
    parts = [("above", constraint.above), ("below", constraint.below)]
    return "".join(f" {word} {bound:g}" for word, bound in parts if bound is not None)


def _broken(title: str) -> str:
    """A title on two lines, with its bounds on the second."""
    for word in (" above ", " below "):
        before, found, after = title.partition(word)
        if found:
            return f"{before}\n{word.strip()} {after}"
    return title


def _axis(title: str, metric: str) -> str:
    unit = METRICS[metric].unit
    return title if unit in ("", "share") else f"{title}\n{unit}"


def _value(found: Interval, intervals: bool = True) -> str:
    return with_interval(found.mean, found.low, found.high) if intervals else number(found.mean)


def _with_unit(metric: str, found: Interval) -> str:
    unit = METRICS[metric].unit
    return f"{_value(found)} {unit}" if unit not in ("", "share") else _value(found)


def _ratio(found: Evaluation, start: Evaluation) -> str:
    """`: 3.5 times as much`, where that can be said."""
    if not start.measured or start.point == found.point or found.value.mean <= 0:
        return ""
    ratio = start.value.mean / found.value.mean
    return f": {number(ratio)} times as much"
