"""`PlotOptions` names every option of every kind of figure, and no other."""

from __future__ import annotations

import inspect
from typing import get_type_hints

from dumbbell.figures import KINDS, PlotOptions
from dumbbell.figures.factor import metric_against_factor
from dumbbell.figures.options import FactorOptions, LineOptions

UNNAMED = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def keywords(function: object) -> set[str]:
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return {one.name for one in parameters if one.kind not in UNNAMED}


def test_plot_takes_what_its_kinds_take() -> None:
    taken = set(FactorOptions.__annotations__) | keywords(metric_against_factor)
    for function in KINDS.values():
        taken |= keywords(function)
    assert set(PlotOptions.__annotations__) == taken


def test_a_metric_takes_the_options_of_factors() -> None:
    assert set(get_type_hints(FactorOptions)) == keywords(metric_against_factor)
    assert set(get_type_hints(LineOptions)) < set(get_type_hints(FactorOptions))
