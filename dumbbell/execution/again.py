"""Stored runs made again from scenario and seed, with more of them kept."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
from rich.console import Console

from dumbbell.engines import engine_named
from dumbbell.engines.base import Engine
from dumbbell.execution.bar import progress_on
from dumbbell.execution.budget import allowed
from dumbbell.execution.progress import use_progress
from dumbbell.execution.runner import execute
from dumbbell.experiment import Experiment
from dumbbell.experiment.cells import Cell
from dumbbell.results import Results
from dumbbell.store import MemoryStore
from dumbbell.store.records import Planned, Record

#: Columns of flows by which a run is recognised. Others depend on when windows are sampled.
_COUNTED = (
    "flow",
    "end_ns",
    "last_delivery_ns",
    "delivered_bytes",
    "sent_packets",
    "received_packets",
    "retransmitted_packets",
    "timeouts",
    "dropped_packets",
)


def same_flows(again: Results, flows: pl.DataFrame) -> bool:
    """Returns true if the flows of a run made again are those of the stored run."""
    return again.flows.select(_COUNTED).equals(flows.select(_COUNTED))


def made_again(
    record: Record,
    planned: Planned,
    scenario: str,
    duration_ns: int,
    err: Console,
    engine: Engine | None = None,
) -> Results:
    """Results of a run that is made again; no store is changed.

    Args:
        record: Experiment of the run.
        planned: The run.
        scenario: Its scenario with other `sampling`.
        duration_ns: Virtual time of the run.
        err: Console for progress.
        engine: Engine; None: that of the record.
    """
    cell = Cell(dict(planned.levels), scenario, None, 0, {}, duration_ns)
    info = replace(record.info, repeats=1, seed=planned.seed)
    kept = MemoryStore()
    experiment = Experiment(info, record.file, {}, [cell])
    with use_progress(progress_on(err)):
        key = execute(
            experiment,
            engine or engine_named(record.engine),
            kept,
            workers=1,
            allow=allowed(["all"]),
        )
    return kept.results(key)
