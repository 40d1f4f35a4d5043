"""Time in a queue against the state of CoDel that governs it."""

from __future__ import annotations

import polars as pl

from dumbbell.figures.figure import Figure
from dumbbell.figures.panels import Point, one_run, panels
from dumbbell.metrics import Tables
from dumbbell.metrics.queues import codel_states, longest_waits
from dumbbell.rows import Where


def sojourn(
    results: Tables,
    *,
    pipe: str | None = None,
    where: Where | None = None,
    repeat: int | None = None,
    title: str | None = None,
) -> Figure:
    """Shortest and mean time in the queue per sample, CoDel's count while it drops, and drops.

    `pipe`: by default the one in which packets wait longest. Raises `ValueError` where queues are
    not kept or their times unknown, or factors stay open.
    """
    queues = one_run(results, "queues", dict(where or {}), repeat)
    waits = longest_waits(queues)
    if waits.is_empty():
        raise ValueError("no times of queues are kept here (the simulator knows them alone)")
    if pipe is None:
        pipe = str(waits["pipe"][0])
    rows = queues.filter(pl.col("pipe") == pipe).sort("time_ns")
    if rows.is_empty():
        found = ", ".join(queues["pipe"].unique(maintain_order=True))
        raise ValueError(f"no queue {pipe!r}; there are {found}")
    points: list[Point] = []
    for at, mean, least, count, drops in codel_states(rows).iter_rows():
        second = at / 1e9
        for panel, line, value in (
            ("Time in the queue (ms)", "mean", mean),
            ("Time in the queue (ms)", "shortest", least),
            ("CoDel's count while it drops", "count", count),
            ("Drops per sample", "drops", drops),
        ):
            if value is not None:
                points.append((panel, line, second, value))
    text = f"Time in the queue of {pipe}, CoDel's count and drops, over time."
    return panels(title or f"Time in the queue of {pipe}", text, points)
