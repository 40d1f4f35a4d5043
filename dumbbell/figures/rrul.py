"""A run under load over time, as Flent draws RRUL: goodput up and down, RTT, queues."""

from __future__ import annotations

import polars as pl

from dumbbell.figures.figure import Figure
from dumbbell.figures.panels import Point, one_run, panels
from dumbbell.figures.series import algorithms_of
from dumbbell.metrics import Tables
from dumbbell.metrics.goodput import goodput_over_time
from dumbbell.metrics.queues import queue_lengths
from dumbbell.rows import Where

#: Goodput is of so long a stretch.
_STEP_S = 1.0


def rrul(
    results: Tables,
    *,
    where: Where | None = None,
    repeat: int | None = None,
    title: str | None = None,
) -> Figure:
    """One run: goodput of each direction together, RTT of each probe, queue length.

    Raises `ValueError` where samples or probes are missing, or factors stay open.
    """
    chosen = dict(where or {})
    probes = one_run(results, "probes", chosen, repeat)
    samples = one_run(results, "samples", chosen, repeat)
    if probes.is_empty() or samples.is_empty():
        message = "no probes or no samples are kept here: set sampling.keep to"
        raise ValueError(f"{message} [samples, queues, probes]")
    flows = one_run(results, "flows", chosen, repeat)
    clients = set(flows.filter(pl.col("kind") == "ping")["from_host"])
    points: list[Point] = []
    for name, end in (("Upload (Mbit/s)", "from_host"), ("Download (Mbit/s)", "to_host")):
        own = flows.filter((pl.col("kind") == "tcp") & pl.col(end).is_in(clients))["flow"]
        points += _goodput(samples.filter(pl.col("flow").is_in(own.implode())), name)
    trips = probes.filter((pl.col("delay_ns") >= 0) & (pl.col("kind") != "one_way"))
    for flow, at, delay in trips.select("flow", "time_ns", "delay_ns").iter_rows():
        points.append(("RTT (ms)", flow, at / 1e9, delay / 1e6))
    queues = one_run(results, "queues", chosen, repeat)
    crowded = queue_lengths(queues)["pipe"][:2].to_list()
    for pipe, at, queued in queues.select("pipe", "time_ns", "queued_packets").iter_rows():
        if pipe in crowded:
            points.append(("Queue (packets)", pipe, at / 1e9, float(queued)))
    heading = title or "A run under load over time"
    text = "Goodput of both directions, RTT and queue length over time."
    return panels(heading, text, points, algorithms=algorithms_of(flows))


def _goodput(samples: pl.DataFrame, panel: str) -> list[Point]:
    """Points of the goodput of all these flows together, at the beginning of each stretch."""
    rates = goodput_over_time(samples, int(_STEP_S * 1e9))
    return [(panel, "goodput", at / 1e9, rate) for at, rate in rates.iter_rows()]
