"""Goodput against a factor (Figures 5.3, 5.6, 5.14 of study 1)."""

from __future__ import annotations

from typing import Any

from dumbbell.figures.factor import metric_against_factor
from dumbbell.figures.figure import Figure
from dumbbell.metrics import Tables


def goodput(results: Tables, **options: Any) -> Figure:
    """Goodput in Mbit/s against a factor; options of `metric_against_factor`."""
    return metric_against_factor(results, "goodput_mbps", **options)
