"""Execution of experiments: on all cores, resumable, with progress.

`runner` executes the runs that a store lacks, by the workers of `pool` (threads, any executor) or
`cluster` (Dask). `source` plans them at once, `streamed` while workers ask for them. `shard`
divides a sweep among processes, `enough` repeats until a rule is fulfilled, `forecast` and
`budget` look ahead.
"""

from dumbbell.errors import Interrupted
from dumbbell.execution.enough import execute_enough
from dumbbell.execution.plan import Task, plan
from dumbbell.execution.progress import Progress, current_progress, use_progress
from dumbbell.execution.runner import execute

__all__ = [
    "Interrupted",
    "Progress",
    "Task",
    "current_progress",
    "execute",
    "execute_enough",
    "plan",
    "use_progress",
]
