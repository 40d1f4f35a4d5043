"""Why a metric has no value: the table that it reads was not kept."""

from __future__ import annotations

from typing import Any

from dumbbell.metrics.definition import Metric, Tables
from dumbbell.metrics.engines import not_known_on
from dumbbell.runs import MEASURED

#: Tables that a run keeps only if `sampling` says so.
_KEPT = ("samples", "queues", "drops", "probes")


class _Watched:
    """Tables of results that record which of them are read."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self._tables, name)

    def parts(self, name: str, *rest: Any, **options: Any) -> Any:
        """See `Tables.parts`."""
        self.read.add(name)
        return self._tables.parts(name, *rest, **options)

    def of_runs(self, name: str, *rest: Any, **options: Any) -> Any:
        """See `Tables.of_runs`."""
        self.read.add(name)
        return self._tables.of_runs(name, *rest, **options)

    def has(self, name: str) -> bool:
        """See `Tables.has`."""
        self.read.add(name)
        return self._tables.has(name)


def unmeasured(metric: Metric, tables: Tables) -> str:
    """Sentence: nothing is measured for a metric, and the tables that were not kept.

    Args:
        metric: A metric without a value.
        tables: Results that have none.
    """
    watched = _Watched(tables)
    rows = metric.computed(watched)
    lacking = [name for name in _KEPT if name in watched.read and not tables.has(name)]
    said = f"nothing measured for {metric.name}"
    if rows.is_empty():
        return f"{said}: no {metric.of[0] if metric.of else 'run'} here has it"
    if not lacking:
        reason = not_known_on(metric.name, set(tables.runs["engine"]))
        return f"{said}: {reason}" if reason else said
    names = " and ".join(lacking)
    if all(one.startswith(MEASURED) for one in tables.runs["engine"]):
        return f"{said}: the measured files have no {names}"
    return f"{said}: the runs kept no {names}; `sampling: {{keep: [{', '.join(lacking)}]}}` does"
