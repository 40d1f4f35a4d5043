"""Comparisons: two engines, a reference, the expectations of an experiment file, a baseline, the
levels of a factor."""

from __future__ import annotations

from dumbbell.compare.engines import Comparison, Difference, compare_engines

__all__ = ["Comparison", "Difference", "compare_engines"]
