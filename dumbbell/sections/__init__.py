"""Sections of an experiment file as classes, for programs that write experiments."""

from __future__ import annotations

from dumbbell.sections import fields
from dumbbell.sections.experiment import Experiment
from dumbbell.sections.fields import *  # noqa: F403

__all__ = ["Experiment", *fields.__all__]  # pyright: ignore[reportUnsupportedDunderAll]
