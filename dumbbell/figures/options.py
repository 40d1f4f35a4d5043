"""Options of figures, as keywords of `plot`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypedDict, get_args, get_type_hints

from dumbbell.figures.factor import Extras
from dumbbell.rows import Where


class LineOptions(TypedDict, total=False):
    """Options of a metric against a factor that do not choose its cells.

    Attributes:
        over: Factor whose levels are averaged within each repeat.
        title: Title of the figure; none: made of what it shows.
        extras: Published values, and a line.
    """

    over: str | None
    title: str | None
    extras: Extras | None


class FactorOptions(LineOptions, total=False):
    """Options of a metric against a factor.

    Attributes:
        x: Factor on the axis; none: the first whose levels are numbers.
        by: Factor with a line per level; none: the other one that varies.
        where: Level of each further factor.
        flow: Flow that is shown, where a run has several.
    """

    x: str | None
    by: str | None
    where: Where | None
    flow: str | None


class PlotOptions(TypedDict, total=False):
    """Options of all kinds of figures; which one takes what is said at its function.

    Attributes:
        x: Factor on the axis.
        by: Factor with a line, panel or curve per level; `runs` takes several.
        over: Factor whose levels are averaged; for `window`: drawn over each other.
        where: Level of each further factor; a list chooses some of those shown.
        flow: Flow that is shown, where a run has several.
        title: Title of the figure.
        extras: Published values, and a line.
        metric: What `runs` shows: the name of a metric.
        repeat: Repeat that `ladder`, `rrul`, `sojourn` and `window` show; none: the first.
        start_ms: Beginning of the stretch that `ladder` shows, in ms.
        end_ms: Its end.
        pipe: Queue that `sojourn` shows, as `bottleneck/forward`.
    """

    x: str | None
    by: Sequence[str] | str | None
    over: str | None
    where: Where | None
    flow: str | None
    title: str | None
    extras: Extras | None
    metric: str
    repeat: int | None
    start_ms: float | None
    end_ms: float | None
    pipe: str | None


def options_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Options that the function of a kind takes, with their types."""
    function = function.func if isinstance(function, partial) else function
    hints = get_type_hints(function)
    found: dict[str, Any] = {}
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.KEYWORD_ONLY:
            found[one.name] = hints[one.name]
        elif one.kind is one.VAR_KEYWORD:  # `Unpack` of a dictionary with types
            (options,) = get_args(hints[one.name])
            found |= get_type_hints(options)
    return found


def needed_options(function: Callable[..., Any]) -> list[str]:
    """Options without which the function of a kind draws nothing."""
    parameters = inspect.signature(function).parameters.values()
    return [
        one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty
    ]
