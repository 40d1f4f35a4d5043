"""Goodput against a factor (Figures 5.3, 5.6, 5.14 of study 1)."""

from __future__ import annotations

from typing import Unpack

from dumbbell.figures.factor import metric_against_factor
from dumbbell.figures.figure import Figure
from dumbbell.figures.options import FactorOptions
from dumbbell.metrics import Tables


def goodput(results: Tables, **options: Unpack[FactorOptions]) -> Figure:
    """Goodput in Mbit/s against a factor; options of `metric_against_factor`."""
    return metric_against_factor(results, "goodput_mbps", **options)
