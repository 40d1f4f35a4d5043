"""Execution of experiments: on all cores, resumable, with progress."""

from dumbbell.errors import Interrupted
from dumbbell.execution.plan import Task, plan
from dumbbell.execution.progress import Progress, current_progress, use_progress
from dumbbell.execution.runner import execute

__all__ = [
    "Interrupted",
    "Progress",
    "Task",
    "current_progress",
    "execute",
    "plan",
    "use_progress",
]
