"""Experiments that are edited in the page: checked, run on the simulator, drawn."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import _core
from dumbbell.engines import engine_named
from dumbbell.engines.base import Monitor
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.execution.budget import check, estimated_s
from dumbbell.experiment import Experiment
from dumbbell.experiment.load import canonical, load_text
from dumbbell.experiment.load import explain as explain_refusal
from dumbbell.experiment.source import Node, parse
from dumbbell.explore.series import Lines
from dumbbell.results import Results
from dumbbell.runs import Run, run_id
from dumbbell.scenario import read_scenario
from dumbbell.store import MemoryStore
from dumbbell.store.records import Planned
from dumbbell.summary.cells import cells
from dumbbell.summary.sentences import sentences

#: Name of the text in messages, and id of the experiment in addresses.
NAME, KEY = "experiment.yaml", "edited"
#: Cells, and estimated time of all in s, above which nothing is run.
MOST_CELLS, MOST_S = 32, 20.0
#: Memory of a run as estimated, and rows over time of each.
_MOST_MEMORY = 1e9
_ROWS = 4000
#: Fields that read files, or run programs.
_OUTSIDE = frozenset({"file", "trace", "rates", "programs"})
_MOST_SENTENCES = 4


class OutdatedError(DumbbellError):
    """A newer text was sent meanwhile."""


@dataclass
class EditedExperiment:
    """An experiment that was run here; nothing of it is on the disk."""

    results: Results
    planned: Sequence[Planned]
    notes: list[str]
    engine: str = "sim"

    def rows(self, table: str, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        """See :meth:`dumbbell.explore.sources.Source.rows`."""
        return self.results.of_runs(table, list(runs), list(columns))

    def of_run(self, run: str) -> Results:
        """See :meth:`dumbbell.explore.sources.Source.of_run`."""
        tables = {}
        for name in ("flows", "pipes", "transfers", "connections", "samples", "queues", "runs"):
            tables[name] = getattr(self.results, name).filter(pl.col("run") == run)
        return self.results.with_tables(**tables)


class Editing:
    """Edited experiments: one run at a time; a new text cancels the run of the one before.

    Attributes:
        shown: The experiment that was run last; None: none yet.
        lines: Its lines over time.
    """

    def __init__(self) -> None:
        self.shown: EditedExperiment | None = None
        self.lines: Lines | None = None
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._monitors: list[Monitor] = []
        self._latest = 0

    def answer(self, text: str, *, run: bool) -> dict[str, Any]:
        """Error of a text with its line, or what came of its run.

        Raises `OutdatedError` if another text was sent before this was done.
        """
        with self._lock:
            self._latest += 1
            number = self._latest
            for monitor in self._monitors:
                monitor.cancel()
        with self._turn:
            self._current(number)
            try:
                experiment = _read(text)
                if not run:
                    return {"error": None, "cells": len(experiment.cells)}
                made = self._run(experiment, number)
            except _core.Cancelled:
                raise OutdatedError("outdated: a newer text is being run") from None
            except ExperimentError as error:
                return {"error": {"line": error.line, "field": error.field, "words": str(error)}}
            except OutdatedError:
                raise
            except DumbbellError as error:
                return {"error": {"line": None, "field": "", "words": str(error)}}
            self._current(number)
            self.shown, self.lines = made, Lines(made)
        results = made.results
        return {
            "error": None,
            "cells": len(experiment.cells),
            "stamp": number,
            "name": results.experiment.name,
            "runs": [
                {"run": one.run, "words": ", ".join(f"{k} {v}" for k, v in one.levels.items())}
                for one in made.planned
            ],
            "sentences": sentences(results, cells(results), _MOST_SENTENCES),
            "wall_s": float(results.runs["wall_s"].sum()),
        }

    def _current(self, number: int) -> None:
        if number != self._latest:
            raise OutdatedError("outdated: a newer text is being run")

    def _run(self, experiment: Experiment, number: int) -> EditedExperiment:
        """Runs the first repeat of each cell."""
        engine = engine_named("sim")
        monitors = [Monitor() for _ in experiment.cells]
        with self._lock:
            self._current(number)
            self._monitors = monitors
        kept, planned, runs = MemoryStore(), [], []
        seed = experiment.info.seed
        for cell in experiment.cells:
            scenario = _watched(cell.scenario)
            key = run_id(scenario, seed, engine.name, engine.version)
            runs.append(Run(key, scenario, seed, cell.duration_ns))
            planned.append(Planned(key, cell.levels, 0, seed))
        with ThreadPoolExecutor(2, thread_name_prefix="edited") as pool:
            done = [pool.submit(engine.execute, *pair) for pair in zip(runs, monitors, strict=True)]
            for place, (one, future) in enumerate(zip(runs, done, strict=True)):
                try:
                    result = future.result()
                except _core.ScenarioError as error:
                    raise explain_refusal(experiment, place, error) from None
                kept.add(one, engine.name, engine.version, result)
        name = kept.record(experiment.info, engine.name, {}, planned)
        return EditedExperiment(kept.results(name), planned, [])


def _read(text: str) -> Experiment:
    """Experiment of a text that names no files and is cheap to run. Raises `ExperimentError`."""
    _refuse_outside(parse(text, NAME))
    experiment = load_text(text, Path(NAME), repeats=1)
    count = len(experiment.cells)
    if count > MOST_CELLS:
        raise ExperimentError(
            f"{count} cells; at most {MOST_CELLS} are run here: `dumbbell run` runs all", file=NAME
        )
    took = 0.0
    for place, cell in enumerate(experiment.cells):
        scenario = _watched(cell.scenario)
        try:
            check(scenario, {"memory": _MOST_MEMORY})
        except _core.ScenarioError as error:
            raise explain_refusal(experiment, place, error) from None
        took += estimated_s("sim", scenario, cell.duration_ns)
    if took > MOST_S:
        raise ExperimentError(
            f"running it would take some {took:.0f} s, more than the {MOST_S:.0f} s that are run"
            " here: `dumbbell run` runs it",
            file=NAME,
        )
    return experiment


def _refuse_outside(root: Node) -> None:
    """Raises `ExperimentError` for a field that reads files or runs programs."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node.value, list):
            waiting += node.value
        elif isinstance(node.value, dict):
            for name in node.value:
                if not _OUTSIDE.isdisjoint(re.split(r"\W+", name)):  # also in paths of fields
                    message = "files and programs are not used here: `dumbbell run` takes them"
                    line = node.key_lines.get(name)
                    raise ExperimentError(message, file=NAME, line=line, field=name)
            waiting += node.value.values()


def _watched(text: str) -> str:
    """Scenario that keeps windows and queues over time, and nothing of single packets."""
    spec: Any = dict(read_scenario(text))
    flows = max(1, len(spec["flows"]) + 2 * len(spec["links"]))
    interval = max(spec["duration_ns"] // _ROWS, spec["duration_ns"] * flows // 400_000, 1_000_000)
    spec["sampling"] = {
        **spec["sampling"],
        "interval_ns": min(interval, spec["duration_ns"]),
        "samples": True,
        "queues": True,
        "drops": False,
        "probes": False,
        "packets": None,
        "capture": None,
        "hops": None,
    }
    return canonical(spec)
