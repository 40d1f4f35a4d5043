"""Comparisons: of two engines, with a reference, and with what an experiment file expects."""

from __future__ import annotations

from dumbbell.compare.engines import Comparison, Difference, compare_engines

__all__ = ["Comparison", "Difference", "compare_engines"]
