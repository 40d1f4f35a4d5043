"""Comparison of one experiment on two engines, by quantity and cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

import dumbbell
from dumbbell.codes import Code
from dumbbell.compare.agreement import Criterion, compare
from dumbbell.errors import EngineError
from dumbbell.experiment.load import Overrides
from dumbbell.metrics import METRICS, Interval, interval
from dumbbell.results import Results
from dumbbell.runs import ExperimentInfo
from dumbbell.store.tables import LARGE, SMALL

#: Compared quantities, and their criteria.
CRITERIA = (
    Criterion("goodput_mbps", "goodput (Mbit/s)", "goodput_mbps", share=0.05),
    Criterion("transfer_s", "transfer time (s)", "transfer_s", share=0.05),
    Criterion("rtt_mean_ms", "mean RTT (ms)", "rtt_mean_ms", share=0.15),
    Criterion(
        "retransmissions_at_tap", "retransmissions", "retransmissions_at_tap", share=0.25, units=20
    ),
    Criterion("sack_blocks", "SACK blocks", "sack_blocks", factor=2),
    Criterion("cwnd_mean", "mean window", "cwnd_mean_packets", share=0.15),
)
#: Name of the additional factor of `together`.
ENGINE = "engine"


@dataclass(frozen=True)
class Difference:
    """Comparison of one quantity of one flow in one cell.

    `distance`: 0 if both are equal, 1 at the edge of the criterion; above 1 they differ.
    """

    levels: Mapping[str, str]
    flow: str
    criterion: Criterion
    first: Interval
    second: Interval
    distance: float

    @property
    def agrees(self) -> bool:
        """True if the criterion holds."""
        return self.distance <= 1.0

    @property
    def relative(self) -> float:
        """First mean over the second, minus 1; NaN where the second is 0."""
        return self.first.mean / self.second.mean - 1 if self.second.mean else math.nan


@dataclass(frozen=True)
class Comparison:
    """Comparison of an experiment on two engines. `engines`: names; `results`: of each."""

    engines: tuple[str, str]
    results: tuple[Results, Results]
    differences: list[Difference]

    @property
    def agrees(self) -> bool:
        """True if all quantities agree."""
        return all(one.agrees for one in self.differences)

    def to_json(self) -> dict[str, Any]:
        """Engines, and one row per cell, flow and quantity."""
        rows = [
            {
                **one.levels,
                "flow": one.flow,
                "quantity": one.criterion.column,
                "criterion": one.criterion.words,
                "first": _finite(one.first.mean),
                "first_low": _finite(one.first.low),
                "first_high": _finite(one.first.high),
                "second": _finite(one.second.mean),
                "second_low": _finite(one.second.low),
                "second_high": _finite(one.second.high),
                "relative": _finite(one.relative),
                "agrees": one.agrees,
            }
            for one in self.differences
        ]
        return {"engines": list(self.engines), "agrees": self.agrees, "rows": rows}

    def together(self) -> Results:
        """Results of both engines in one, with `engine` as the last factor."""
        info = self.results[0].experiment
        factors = {**info.factors, ENGINE: list(self.engines)}
        frames = {}
        for name in (*SMALL, *LARGE):
            frames[name] = pl.concat(_marked(self, name))
        frames["runs"] = pl.concat(_marked(self, "runs"))
        merged: ExperimentInfo = replace(info, factors=factors)
        return Results(experiment=merged, **frames)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _marked(comparison: Comparison, name: str) -> list[pl.DataFrame]:
    """Table of both results, with the column `engine` before `repeat`."""
    found = []
    for engine, results in zip(comparison.engines, comparison.results, strict=True):
        frame: pl.DataFrame = getattr(results, name)
        if ENGINE in frame.columns:  # `runs` has a column `engine` already
            frame = frame.drop(ENGINE)
        before = ["run", *results.experiment.factors]
        after = [column for column in frame.columns if column not in before]
        found.append(frame.select(*before, pl.lit(engine).alias(ENGINE), *after))
    return found


def compare_engines(
    path: str | Path,
    engines: Sequence[str],
    *,
    set: Overrides | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    store: str | Path | None = None,
    allow: Sequence[str] | Mapping[str, float] | None = None,
) -> Comparison:
    """Runs an experiment on two engines (`sim`, `linux`, `linux:mine`) and compares them.

    Tolerances are those of `CRITERIA`: goodput and transfer time 5 %, mean RTT and mean window
    15 %, retransmissions 25 % or 20, SACK blocks a factor 2. A value also agrees inside the range
    of the second engine's repeats, widened by a tenth.

    Raises what `dumbbell.run` raises; `EngineError` unless two different engines are named.
    """
    if len(engines) != 2 or engines[0] == engines[1]:
        raise EngineError(
            f"two different engines are compared; found {', '.join(engines)}", code=Code.TWO_ENGINES
        )
    from dumbbell.engines import engine_named

    for engine in engines:  # a missing kernel is refused before the other engine runs
        engine_named(engine)
    first, second = (
        dumbbell.run(
            path,
            set=set,
            repeats=repeats,
            seed=seed,
            workers=workers,
            store=store,
            engine=engine,
            allow=allow,
        )
        for engine in engines
    )
    found = [one for criterion in CRITERIA for one in _differences(criterion, first, second)]
    return Comparison((engines[0], engines[1]), (first, second), _in_order(first, found))


def _differences(criterion: Criterion, first: Results, second: Results) -> list[Difference]:
    mine, theirs = (_values(criterion.metric, results) for results in (first, second))
    factors = list(first.experiment.factors)
    return [
        Difference(
            levels=dict(zip(factors, key[:-1], strict=True)),
            flow=key[-1],
            criterion=criterion,
            first=interval(values),
            second=interval(theirs[key]),
            distance=compare(criterion, values, theirs[key]),
        )
        for key, values in mine.items()
        if key in theirs
    ]


def _values(metric: str, results: Results) -> dict[tuple[str, ...], list[float]]:
    """Values of the metric over repeats, by levels and flow, where it applies."""
    keys = [*results.experiment.factors, "flow"]
    found: dict[tuple[str, ...], list[float]] = {}
    measured = METRICS[metric].measure(results).sort("repeat", maintain_order=True)
    for *key, value in measured.select(*keys, "value").iter_rows():
        if value == value:
            found.setdefault(tuple(key), []).append(value)
    return found


def _in_order(results: Results, found: list[Difference]) -> list[Difference]:
    """Differences by cell and flow in the order of the experiment, then in that of the criteria."""
    keys = [*results.experiment.factors, "flow"]
    rows = results.flows.select(keys).unique(maintain_order=True).iter_rows()
    place = {tuple(row): number for number, row in enumerate(rows)}
    return sorted(found, key=lambda one: place[(*one.levels.values(), one.flow)])
