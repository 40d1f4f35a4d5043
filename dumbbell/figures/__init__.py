"""Figures: one chart specification gives interactive HTML, SVG and PNG.

`plot(results, "goodput").save("goodput.html")`. Kinds: the names in `KINDS`, and the name of any
metric (`plot(results, "sack_blocks")`), which is drawn against a factor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Unpack

from dumbbell.errors import did_you_mean, nearest_name, shortened
from dumbbell.figures.bars import bars
from dumbbell.figures.cdf import cdf
from dumbbell.figures.choice import chosen_figure
from dumbbell.figures.delay_throughput import delay_throughput
from dumbbell.figures.factor import Extras, metric_against_factor
from dumbbell.figures.figure import Figure, page_scripts, unchecked
from dumbbell.figures.goodput import goodput
from dumbbell.figures.ladder import ladder
from dumbbell.figures.matrix import matrix
from dumbbell.figures.names import wrong_name
from dumbbell.figures.options import PlotOptions, options_of
from dumbbell.figures.over_time import over_time
from dumbbell.figures.queue_delay import queue_delay
from dumbbell.figures.rrul import rrul
from dumbbell.figures.rtt import rtt
from dumbbell.figures.runs import runs
from dumbbell.figures.sequence import sequence
from dumbbell.figures.sojourn import sojourn
from dumbbell.figures.sweep import sweep
from dumbbell.figures.window import window
from dumbbell.metrics import METRICS, Tables

KINDS: dict[str, Callable[..., Figure]] = {
    "bars": bars,
    "cdf": cdf,
    "delay-throughput": delay_throughput,
    "goodput": goodput,
    "ladder": ladder,
    "matrix": matrix,
    "queue-delay": queue_delay,
    "rrul": rrul,
    "rtt": rtt,
    "sojourn": sojourn,
    "runs": runs,
    "sequence": sequence,
    "series": over_time,
    "sweep": sweep,
    "window": window,
}


def function_of(kind: str) -> Callable[..., Figure]:
    """What draws a kind. Raises `ValueError` for an unknown one, with the nearest name."""
    if kind in KINDS:
        return KINDS[kind]
    if kind in METRICS:
        return partial(metric_against_factor, metric=kind)
    near = nearest_name(kind, [*KINDS, *METRICS])
    hint = did_you_mean(near, ".")
    raise ValueError(
        f"no figure {shortened(kind)!r}{hint} There are {', '.join(sorted(KINDS))}, "
        "and each metric of docs/metrics.md"
    )


def plot(results: Tables, kind: str | None = None, **options: Unpack[PlotOptions]) -> Figure:
    """Draws a figure of some results.

    Args:
        results: The tables.
        kind: One of `KINDS`, or the name of a metric, which is drawn against a factor. None: the
            kind that suits the results, see `dumbbell.figures.choice`; the title says which.
        options: See `PlotOptions`; each kind takes some of them.

    Raises:
        ValueError: The kind is unknown, the tables it needs were not kept, or the options leave
            several values for a point.
        TypeError: The kind does not take one of the options.
    """
    try:
        with unchecked():
            if kind is None:
                return chosen_figure(results, **options)
            return function_of(kind)(results, **options)
    except ValueError as error:
        if (reason := wrong_name(results, options)) is not None:
            raise ValueError(reason) from None
        raise error


__all__ = [
    "KINDS",
    "Extras",
    "Figure",
    "PlotOptions",
    "function_of",
    "options_of",
    "page_scripts",
    "plot",
]
