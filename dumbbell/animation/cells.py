"""Animations of cells of a store, for its report: a run is made again with its packets kept."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
from rich.console import Console

from dumbbell.animation.command import Wanted, looking, run_scene
from dumbbell.animation.page import page
from dumbbell.codes import Code
from dumbbell.engines import engine_named
from dumbbell.errors import DumbbellError
from dumbbell.execution.again import made_again, same_flows
from dumbbell.metrics.stretch import passages
from dumbbell.report.animations import GZIP, RunAnimation
from dumbbell.results import Results
from dumbbell.scenario import read_scenario
from dumbbell.store import Store
from dumbbell.store.levels import fits, levels_of
from dumbbell.store.records import Planned, Record
from dumbbell.studies.running import experiment_names, studies_of

#: Word that chooses every cell.
ALL = "all"
#: Hops of an animation in a report, about 2 MB. A longer run is shown from its start up to there.
MOST_HOPS = 300_000


def cell_animations(store: Path, cells: Sequence[str], err: Console) -> list[RunAnimation]:
    """Animations of the experiment run last, of the first finished repeat of each chosen cell.

    Args:
        store: Folder of the store.
        cells: Levels of factors, as `rtt=10 ms,cc=reno`: every cell that has them; or `all`.
        err: Console for progress.

    Raises:
        DumbbellError: No such cell is finished, the experiment belongs to a study, or its runs
            cannot be made again.
        StoreError: The store cannot be read, or a file of the runs is damaged.
    """
    with Store(store, write=False, partial=True) as opened:
        records = opened.experiments()
        if not records:
            raise DumbbellError(f"{store}: no experiment was run here", code=Code.NO_EXPERIMENT)
        record = records[-1]
        for study in studies_of(record.info.name):
            if record.info.name in experiment_names(study):
                raise DumbbellError(
                    f"--animate: {record.info.name} belongs to the study {study.study}:"
                    f" `dumbbell study animate {study.study}` makes its animations",
                    code=Code.SELECTION,
                )
        wanted = _wanted(record, cells)
        fitting = [one for one in record.runs if any(fits(one, of) for of in wanted.values())]
        results, _ = opened.partial_results(replace(record, runs=tuple(fitting)))
    whole = set(results.runs["run"])
    first: dict[tuple[str, ...], Planned] = {}
    for one in fitting:
        if one.run in whole:
            first.setdefault(tuple(one.levels.values()), one)
    chosen = list(first.values())
    for text, levels in wanted.items():
        if not any(fits(one, levels) for one in chosen):
            raise DumbbellError(f"--animate {text}: no run of it is finished yet", code=Code.NO_RUN)
    return [run_animation(record, one, results, err) for one in chosen]


def _wanted(record: Record, cells: Iterable[str]) -> dict[str, dict[str, str]]:
    """Levels that each text chooses. Raises `DumbbellError` for levels that are not combined."""
    wanted = {}
    for text in cells:
        every = text.strip() == ALL
        wanted[text] = {} if every else levels_of(text, record.info.factors, "--animate")
        if not any(fits(one, wanted[text]) for one in record.runs):
            raise DumbbellError(
                f"--animate {text}: the experiment does not combine these levels",
                code=Code.SELECTION,
            )
    return wanted


def run_animation(record: Record, planned: Planned, results: Results, err: Console) -> RunAnimation:
    """Animation of a run, which is made again.

    Args:
        record: Experiment of the run.
        planned: The run.
        results: Tables that hold it.
        err: Console for progress.

    Raises:
        DumbbellError: The run cannot be made again.
    """
    own = pl.col("run") == planned.run
    for name, level in planned.levels.items():  # cells with one scenario share a run
        own &= pl.col(name) == level
    row = results.runs.row(by_predicate=own, named=True)
    end_ns = int(read_scenario(row["scenario"])["duration_ns"])
    hops = passages(results.pipes.filter(own))
    to_ns = end_ns if hops <= MOST_HOPS else max(1, end_ns * MOST_HOPS // hops)
    text = looking(row["scenario"], to_ns, taps=record.engine == "sim")
    again = _made_again(record, planned, text, end_ns, err)
    offered = again.hops["offered_ns"].sort()
    if offered.len() > MOST_HOPS:
        to_ns = int(offered[MOST_HOPS])
    scene = run_scene(again, record.info.name, Wanted(), (0, to_ns), None)
    compress = zlib.compressobj(6, zlib.DEFLATED, GZIP)
    packed = compress.compress(page(scene).encode()) + compress.flush()
    words = ", ".join(f"{name} {level}" for name, level in planned.levels.items())
    notes = [f"repeat {planned.repeat}, seed {planned.seed}"]
    if to_ns < end_ns:
        notes.append(f"the first {to_ns / 1e9:.3g} s of {end_ns / 1e9:g} s")
    if not same_flows(again, results.flows.filter(own)):
        notes.append("made by another version of the engine: it differs from the tables")
    return RunAnimation(words or record.info.name, "; ".join(notes), packed)


def _made_again(
    record: Record, planned: Planned, scenario: str, end_ns: int, err: Console
) -> Results:
    engine = engine_named(record.engine)
    if not engine.repeatable:
        raise DumbbellError(
            f"--animate: runs on the engine {record.engine} cannot be made again: they are in"
            " real time; `dumbbell animate STORE` shows those that kept `sampling: {hops: …}`",
            code=Code.NOT_KEPT,
        )
    return made_again(record, planned, scenario, end_ns, err, engine)
