"""Time in a queue against the state of CoDel that governs it."""

from __future__ import annotations

import polars as pl

from dumbbell.figures.figure import Figure
from dumbbell.figures.panels import Point, one_run, panels
from dumbbell.metrics import Tables
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
    known = queues.filter(pl.col("sojourn_mean_ns").is_not_nan())
    if known.is_empty():
        raise ValueError("no times of queues are kept here (the simulator knows them alone)")
    if pipe is None:
        means = known.group_by("pipe").agg(pl.col("sojourn_mean_ns").mean())
        pipe = str(means.sort("sojourn_mean_ns", descending=True)["pipe"][0])
    rows = queues.filter(pl.col("pipe") == pipe).sort("time_ns")
    if rows.is_empty():
        found = ", ".join(queues["pipe"].unique(maintain_order=True))
        raise ValueError(f"no queue {pipe!r}; there are {found}")
    points: list[Point] = []
    columns = ("time_ns", "sojourn_mean_ns", "sojourn_min_ns", "dropping", "drop_count")
    before = 0
    for (at, mean, least, dropping, count), dropped in zip(
        rows.select(columns).iter_rows(), rows["dropped_aqm_packets"], strict=True
    ):
        second = at / 1e9
        if mean == mean:
            points.append(("Time in the queue (ms)", "mean", second, mean / 1e6))
        if least >= 0:
            points.append(("Time in the queue (ms)", "shortest", second, least / 1e6))
        if dropping >= 0:
            points.append(("CoDel's count while it drops", "count", second, count * dropping))
        if dropped >= 0:
            points.append(("Drops per sample", "drops", second, dropped - before))
            before = dropped
    text = f"Time in the queue of {pipe}, CoDel's count and drops, over time."
    return panels(title or f"Time in the queue of {pipe}", text, points)
