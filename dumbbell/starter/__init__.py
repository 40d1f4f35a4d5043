"""First experiment files, with a comment on each line: what `dumbbell init` writes."""

from __future__ import annotations

from dumbbell.starter.answers import Answers
from dumbbell.starter.kinds import STARTERS, Starter, starter_named
from dumbbell.starter.trial import affordable, read, with_short_runs

__all__ = [
    "STARTERS",
    "Answers",
    "Starter",
    "affordable",
    "read",
    "starter_named",
    "with_short_runs",
]
