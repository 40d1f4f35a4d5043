"""Repeats in rounds, until a metric's interval is narrow enough in each cell.

The rule sees results alone, in order of repeat, so the number of repeats of a cell depends neither
on workers nor on interruptions. It is a sequential procedure with relative precision (A. Law,
Simulation Modeling and Analysis, 5th ed., 2015, section 9.4.1). Since it stops at a narrow
interval, the interval covers the true mean less often than its 95 % say
(docs/experiment-file/repeats.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from dumbbell.codes import Code
from dumbbell.engines.base import Engine
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.execution.budget import Allowed
from dumbbell.execution.progress import Progress, Several, Sweep, current_progress, use_progress
from dumbbell.execution.runner import execute
from dumbbell.execution.shard import Shard
from dumbbell.experiment.contents import UntilSpec
from dumbbell.experiment.load import Experiment, Opened
from dumbbell.experiment.refused import Locator
from dumbbell.experiment.source import Loc, parse
from dumbbell.results import Results
from dumbbell.store import MemoryStore, Store

#: Cells that a message names.
_MOST_NAMED = 3
_FIELD = "repeats.until"


def execute_enough(
    experiment: Experiment,
    engine: Engine,
    store: Store | MemoryStore,
    *,
    workers: int | None = None,
    allow: Allowed | None = None,
    shard: Shard | None = None,
) -> str:
    """Executes an experiment with as many repeats as it asks for. See :func:`execute`.

    Raises what :func:`execute` raises; `ExperimentError` if a cell has no value of the metric of
    `until`.
    """
    wanted = experiment.enough
    if wanted is None or wanted.until is None:
        return execute(experiment, engine, store, workers=workers, allow=allow, shard=shard)
    refuse_endless(experiment, experiment.flows, shard)
    counts = [wanted.min] * len(experiment.cells)
    progress = current_progress()
    with use_progress(_Rounds(progress)):
        while True:
            key = execute(_with(experiment, counts), engine, store, workers=workers, allow=allow)
            wide = list(_too_wide(experiment, store.results_so_far(key), wanted.until))
            more = {one.cell: one for one in wide if counts[one.cell] < wanted.max}
            if not more:
                break
            for number, one in more.items():
                counts[number] = min(wanted.max, one.next_count(counts[number]))
    if wide:
        progress.note(_still_wide(experiment, wanted.until, wanted.max, wide))
    return key


def refuse_endless(
    experiment: Experiment | Opened, flows: Iterable[str], shard: Shard | None = None
) -> None:
    """Raises `ExperimentError` if a rule cannot end the repeats: in a shard, of an unknown flow.

    `flows`: names of the flows of all cells.
    """
    from dumbbell.metrics import METRICS

    until = None if experiment.enough is None else experiment.enough.until
    if until is None:
        return
    if shard is not None and shard.of > 1:
        what = "a shard cannot know when all repeats are enough; fix their number with --repeats N"
        raise ExperimentError(what, file=experiment.file, field=_FIELD, code=Code.REPEATS)
    if until.flow is None:
        return
    locator = Locator(experiment.file, parse(experiment.info.yaml, experiment.file))
    loc: Loc = ("repeats", "until", "flow")
    if "flow" not in METRICS[until.metric].of:
        raise locator.error(f"{until.metric} is not measured by flow", loc, found=until.flow)
    known = sorted(set(flows))
    if until.flow not in known:
        near = nearest_name(until.flow, known)
        found = shortened(until.flow)
        allowed = tuple(known)
        raise locator.error("no such flow", loc, found=found, allowed=allowed, nearest=near)


def _with(experiment: Experiment, counts: list[int]) -> Experiment:
    info = replace(experiment.info, repeats=max(counts))
    return replace(experiment, info=info, counts=tuple(counts))


@dataclass(frozen=True, slots=True)
class _Width:
    """Half width of the interval of a cell, and its ratio to the allowed one."""

    cell: int
    half: float
    ratio: float

    def next_count(self, count: int) -> int:
        """Repeats of the next round. The width falls with the square root of their number."""
        return max(count + 1, math.ceil(count * min(self.ratio, math.sqrt(2)) ** 2))


def _too_wide(experiment: Experiment, results: Results, until: UntilSpec) -> Iterator[_Width]:
    """The widest interval of each cell that has one too wide, in order of the cells."""
    factors = list(results.experiment.factors)
    rows: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for row in _measured(results, until).iter_rows(named=True):
        levels = tuple(row[name] for name in factors)
        half = (row["high"] - row["low"]) / 2
        # With one value there is no interval yet.
        ratio = math.inf if row["count"] == 1 else _ratio(half, until.width(row["mean"]))
        rows.setdefault(levels, []).append((half, ratio))
    for number, cell in enumerate(experiment.cells):
        found = rows.get(tuple(cell.levels[name] for name in factors))
        if found is None:
            of_flow = f" of flow {until.flow}" if until.flow is not None else ""
            what = f"{until.metric}{of_flow} is not measured"
            raise ExperimentError(
                what + _place(cell.levels), file=experiment.file, field=_FIELD, code=Code.REPEATS
            )
        half, ratio = max(found, key=lambda one: one[1])
        if ratio > 1:
            yield _Width(number, half, ratio)


def _measured(results: Results, until: UntilSpec) -> pl.DataFrame:
    from dumbbell.metrics import METRICS, summary

    measured = summary(results, METRICS[until.metric]).filter(pl.col("count") > 0)
    return measured if until.flow is None else measured.filter(pl.col("flow") == until.flow)


def _ratio(half: float, allowed: float) -> float:
    """Ratio of a half width to the allowed one; without any spread it is narrow enough."""
    if half == 0:
        return 0.0
    return half / allowed if allowed > 0 else math.inf


def _place(levels: Mapping[str, str]) -> str:
    text = ", ".join(f"{name}={level}" for name, level in levels.items())
    return f" for {text}" if text else ""


def _still_wide(experiment: Experiment, until: UntilSpec, most: int, wide: list[_Width]) -> str:
    """`goodput_mbps ± 2 % is not reached in 2 of 6 cells after 100 repeats: …`."""
    named = [
        f"± {one.half:.3g}{_place(experiment.cells[one.cell].levels)}" for one in wide[:_MOST_NAMED]
    ]
    more = ", …" if len(wide) > len(named) else ""
    cells = len(experiment.cells)
    count = f"in {len(wide)} of {cells} cells " if cells > 1 else ""
    return f"{until.words} is not reached {count}after {most} repeats: {'; '.join(named)}{more}"


class _Rounds(Several):
    """Progress of rounds as that of one experiment: runs of earlier rounds are not told again."""

    def __init__(self, progress: Progress) -> None:
        super().__init__([progress])
        self._begun = False

    def note(self, text: str) -> None:
        """Passes on the notes of the first round: those of the others are the same."""
        if not self._begun:
            super().note(text)

    def begin(self, sweep: Sweep) -> None:
        """See :class:`Progress`."""
        if sweep.runs or not self._begun:
            super().begin(replace(sweep, kept=0) if self._begun else sweep)
        self._begun = True
