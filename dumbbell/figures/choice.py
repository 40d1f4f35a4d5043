"""The figure of results that nobody chose a kind for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from dumbbell.figures.across import cells_across
from dumbbell.figures.bars import bars, bars_of
from dumbbell.figures.figure import Figure
from dumbbell.figures.over_time import over_time
from dumbbell.figures.sweep import sweep, sweep_of
from dumbbell.figures.window import window
from dumbbell.levels import scale_of
from dumbbell.metrics import METRICS, Tables
from dumbbell.rows import where_rows

#: What an experiment is about; the first that was measured counts. Of many flows, their fairness.
_SUBJECTS = ("page_load_s", "request_median_ms", "fct_mean_ms", "goodput_mbps", "latency_ms")
_OF_MANY = "jain"
#: Most panels of windows.
_MOST_PANELS = 6

_Draw = Callable[..., Figure]


def chosen_figure(results: Tables, **options: Any) -> Figure:
    """The figure that suits some results; its title says which kind it is.

    A factor of numbers gives `sweep`, one of words `bars`: of the page load time where pages were
    loaded, of the completion time where flows arrive, else of the goodput. Without a factor that
    varies: `window`, or what else was kept over time, or bars of the flows. Options are those of
    the kind.

    Raises:
        ValueError: Nothing was measured, or the options leave several values for a point.
        TypeError: The kind does not take one of the options.
    """
    varying = _varying(results, options)
    if options:
        kind, draw = _kind(results, varying, options)
        figure = draw(results, **options)
        return figure if "title" in options else replace(figure, title=f"{figure.title} ({kind})")
    for kind, attempt in _attempts(results, varying):
        try:
            figure = attempt()
        except ValueError:
            continue
        return replace(figure, title=f"{figure.title} ({kind})")
    raise ValueError("nothing was measured here that a figure could show")


def _varying(results: Tables, options: dict[str, Any]) -> list[str]:
    """Factors that vary, those of numbers first."""
    where = options.get("where") or {}
    known = {name: level for name, level in where.items() if name in results.runs.columns}
    runs = where_rows(results.runs, known)
    found = [name for name in results.experiment.factors if runs[name].n_unique() > 1]
    return sorted(found, key=lambda name: not _is_numeric(results, name))


def _is_numeric(results: Tables, factor: str) -> bool:
    return scale_of(results.experiment.factors.get(factor, [])) is not None


def _kind(results: Tables, varying: list[str], options: dict[str, Any]) -> tuple[str, _Draw]:
    """Kind for options: they choose the cells."""
    x = options.get("x") or next(iter(varying), None)
    if x is None:
        over_windows = results.has("samples") and "metric" not in options
        return ("window", window) if over_windows else ("bars", bars)
    return ("sweep", sweep) if _is_numeric(results, x) else ("bars", bars)


def _attempts(results: Tables, varying: list[str]) -> Iterator[tuple[str, _Draw]]:
    """Figures in order of preference: kind, and what draws it."""
    subject = next((name for name in _SUBJECTS if _measured(results, name)), None)
    for factor in varying:
        for metric in filter(None, (subject, _OF_MANY)):
            kind = "sweep" if _is_numeric(results, factor) else "bars"
            yield kind, lambda metric=metric, factor=factor: _across(results, metric, factor)
    if results.flows["flow"].n_unique() <= _MOST_PANELS:
        yield "window", lambda: window(results)
    yield "series", lambda: over_time(results)
    if subject is not None:
        yield "bars", lambda: bars(results, metric=subject)


def _measured(results: Tables, metric: str) -> bool:
    values = METRICS[metric].measure(results)
    return not values.filter(pl.col("value").is_not_nan()).is_empty()


def _across(results: Tables, metric: str, factor: str) -> Figure:
    shown, title = cells_across(results, metric, factor)
    draw = bars_of if shown.scale is None else sweep_of
    return draw(shown, METRICS[metric], title)
