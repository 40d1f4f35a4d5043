"""List of runs or cells: factors and metrics as columns, filtered, sorted, a page at a time."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from dumbbell.errors import DumbbellError, did_you_mean, nearest_name, shortened
from dumbbell.explore.filters import Filter
from dumbbell.explore.sources import Source
from dumbbell.metrics import METRICS, SUBJECTS
from dumbbell.scenario import read_scenario

#: Metrics that are shown unless others are chosen.
DEFAULT_METRICS = (
    "goodput_mbps",
    "srtt_mean_ms",
    "retransmissions",
    "jain",
)
#: Rows of a page, and metrics of a list, at most.
MOST_ROWS, MOST_METRICS = 500, 12
#: Facts of runs that are no metrics.
_FACTS = ("packets", "wall_s")
_TEXTS = ("run", "engine")


@dataclass(frozen=True)
class Question:
    """Request for the list.

    Attributes:
        by: `runs` or `cells`.
        filter: Filter, see `dumbbell.explore.filters`.
        levels: Factor → levels that are ticked; a factor that is missing has all.
        metrics: Names of the metrics shown.
        sort: Column; empty: order of the design.
        down: Whether the largest stands first.
        start: First row.
        count: Number of rows.
    """

    by: str = "runs"
    filter: str = ""
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metrics: Sequence[str] = DEFAULT_METRICS
    sort: str = ""
    down: bool = False
    start: int = 0
    count: int = 100


class Listing:
    """Rows of an experiment; metrics are computed once, when a list first needs them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._metrics: dict[str, pl.DataFrame] = {}
        results = source.results
        self.factors: dict[str, list[str]] = dict(results.experiment.factors)
        names = [*self.factors, "repeat", "seed"]
        facts = [name for name in (*_TEXTS[1:], *_FACTS) if name not in names]
        self._rows = results.runs.select("run", *names, *facts).with_row_index("place")

    def answer(self, question: Question) -> dict[str, Any]:
        """Rows that are asked for, with the number of all.

        Raises `DumbbellError` for an unknown column, metric or a filter that is not understood.
        """
        frame = self._chosen(question)
        shown = list(_metrics(question.metrics))
        if question.by == "cells":
            frame = self._cells(frame, shown)
        elif question.by != "runs":
            raise DumbbellError("a list is by runs or by cells")
        total = frame.height
        frame = self._sorted(frame, question)
        start, count = max(0, question.start), min(max(1, question.count), MOST_ROWS)
        page = frame.slice(start, count)
        fixed = ["run", *self.factors]
        fixed += ["repeats"] if question.by == "cells" else ["repeat", "seed", *_FACTS]
        columns = [name for name in dict.fromkeys([*fixed, *shown]) if name in page.columns]
        return {
            "total": total,
            "all": self._rows.height,
            "start": start,
            "columns": columns,
            "labels": {name: _label(name, question.by) for name in shown},
            "numbers": [one for one in columns if one != "run" and one not in self.factors],
            "factors": self.factors,
            "metrics": shown,
            "rows": [list(row) for row in page.select(columns).iter_rows()],
        }

    def chosen_frame(self, question: Question) -> pl.DataFrame:
        """All rows that fit the question, sorted, for a file."""
        frame = self._sorted(self._chosen(question), question)
        shown = list(_metrics(question.metrics))
        texts = [one for one in _TEXTS if one not in self.factors]
        names = [*texts, *self.factors, "repeat", "seed", *_FACTS, *shown]
        return frame.select(list(dict.fromkeys(names)))

    def _chosen(self, question: Question) -> pl.DataFrame:
        wanted = Filter(question.filter)
        named = [one for one in wanted.names if one in METRICS and one not in self.factors]
        frame = self._rows
        numbers = ["repeat", "seed", *_FACTS]
        for name in dict.fromkeys([*_metrics(question.metrics), *named, question.sort]):
            if name in METRICS and name not in frame.columns:
                frame = frame.join(self._measured(name), on="run", how="left")
                numbers.append(name)
        for factor, levels in question.levels.items():
            if factor not in self.factors:
                raise DumbbellError(f"no factor {shortened(factor)!r}")
            frame = frame.filter(pl.col(factor).is_in(list(levels)))
        texts = [one for one in _TEXTS if one not in self.factors]
        fitting = wanted.expression(self.factors, texts, [*numbers, *METRICS])
        return frame if fitting is None else frame.filter(fitting)

    def _measured(self, name: str) -> pl.DataFrame:
        """Mean of a metric over the flows of each run; NaN where it applies to none.

        A Multipath TCP connection counts, its subflows do not. Where a metric applies to flows of
        the file, connections that arrive or that pages open do not count.
        """
        with self._lock:
            if name not in self._metrics:
                try:
                    found = METRICS[name].computed(self._source.results)
                except pl.exceptions.PolarsError:
                    found = pl.DataFrame(schema={"run": pl.String, "value": pl.Float64})
                found = self._equals(found)
                value = pl.col("value").filter(pl.col("value").is_finite()).mean()
                of_runs = found.group_by("run").agg(value.fill_null(float("nan")).alias(name))
                self._metrics[name] = of_runs
            return self._metrics[name]

    @cached_property
    def _named(self) -> set[str]:
        """Flows and connections that the file names, without those that pages open."""
        names: set[str] = set()
        for text in self._source.results.runs["scenario"].unique():
            spec = read_scenario(text)
            names |= {one["name"] for one in spec["connections"]}
            for flow in spec["flows"]:
                source = flow["traffic"].get("tcp", {}).get("source")
                names |= {flow["name"]} if source not in ("session", "messages") else set()
        return names

    def _equals(self, found: pl.DataFrame) -> pl.DataFrame:
        """Rows of flows that are equals: no parts of others, no short connections beside bulk."""
        if "kind" in found.columns:
            found = found.filter(pl.col("kind") != "subflow")
        if "flow" not in found.columns:
            return found
        named = found.filter(pl.col("flow").is_in(self._named))
        some = named.filter(pl.col("value").is_finite())["run"].unique().implode()
        return found.filter(pl.col("flow").is_in(self._named) | ~pl.col("run").is_in(some))

    def _cells(self, frame: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
        means = [
            pl.col(name).filter(pl.col(name).is_finite()).mean().fill_null(float("nan"))
            for name in metrics
        ]
        keys = list(self.factors)
        facts = [pl.col("run").first(), pl.len().alias("repeats"), pl.col("place").first()]
        if not keys:
            return frame.select(*facts, *means)
        return frame.group_by(keys, maintain_order=True).agg(*facts, *means)

    def _sorted(self, frame: pl.DataFrame, question: Question) -> pl.DataFrame:
        name = question.sort
        if not name:
            return frame.sort("place", descending=question.down)
        if name not in frame.columns:
            near = nearest_name(name, frame.columns)
            hint = did_you_mean(near)
            raise DumbbellError(f"no column {shortened(name)!r} to sort by{hint}")
        key = pl.col(name)
        if name in self.factors:
            levels = self.factors[name]
            key = key.replace_strict(levels, range(len(levels)), default=len(levels))
        elif frame.schema[name].is_float():
            key = key.fill_nan(None)
        return frame.sort(key, "place", descending=[question.down, False], nulls_last=True)


def _label(name: str, by: str) -> str:
    """Heading of a metric's column: what its numbers are means over."""
    metric = METRICS[name]
    over = ["flows"] * ("flow" in metric.of) + ["repeats"] * (by == "cells")
    return f"{metric.axis}, mean over {' and '.join(over)}" if over else metric.axis


def _metrics(names: Sequence[str]) -> Sequence[str]:
    """Names of metrics. Raises `DumbbellError` for unknown or too many."""
    if len(names) > MOST_METRICS:
        raise DumbbellError(f"{len(names)} metrics are chosen; at most {MOST_METRICS} are shown")
    for name in names:
        if name not in METRICS:
            near = nearest_name(name, METRICS)
            hint = did_you_mean(near)
            raise DumbbellError(f"no metric {shortened(name)!r}{hint}")
    return names


def metric_choices() -> list[dict[str, Any]]:
    """Metrics by subject, for a menu."""
    return [
        {"subject": subject, "metrics": [[one.name, one.axis] for one in metrics]}
        for subject, metrics in SUBJECTS.items()
    ]
