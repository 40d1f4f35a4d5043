"""Runs without a store: their tables stay as the engines gave them until they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dumbbell.results import IN_MEMORY, LazyResults, Results
from dumbbell.rows import Where, parts_of, repeat_of, runs_of
from dumbbell.runs import ExperimentInfo, Run, RunResult
from dumbbell.store.index import Damage
from dumbbell.store.made import Made
from dumbbell.store.records import Planned, design_of, placed
from dumbbell.store.tables import frame_of, frame_of_runs, run_fields, with_constants


@dataclass(slots=True)
class _Runs:
    """Runs of an experiment: fields of each, and streams of each table, by id of the run."""

    fields: dict[str, Mapping[str, Any]]
    streams: dict[str, dict[str, bytes]]


class MemoryStore:
    """Store of one experiment in memory, for one process. It keeps no captures.

    The methods are those of :class:`dumbbell.store.Store` that the execution of runs needs.
    """

    def __init__(self) -> None:
        self._runs = _Runs({}, {})
        self._info: ExperimentInfo | None = None
        self._planned: Sequence[Planned] = ()

    def __contains__(self, run: str) -> bool:
        return run in self._runs.fields

    def prepare(self) -> None:
        """Nothing to prepare: nothing is written."""

    def check(self, runs: Collection[str]) -> list[Damage]:
        """No damage: there are no files."""
        del runs
        return []

    def digest(self, run: str) -> str | None:
        """No recorded digest: no run of another process is here."""
        del run
        return None

    def tick(self) -> None:
        """Nothing to flush."""

    def add(self, run: Run, engine: str, version: str, result: RunResult) -> None:
        """Adds a finished run."""
        self._runs.fields[run.id] = run_fields(run, engine, version, result)
        for name, stream in result.tables.items():
            self._runs.streams.setdefault(name, {})[run.id] = stream

    def added_elsewhere(self, run: str) -> None:
        """Nobody else can add runs."""
        raise LookupError(run)

    def record(
        self,
        info: ExperimentInfo,
        engine: str,
        overrides: Mapping[str, Sequence[str]],
        runs: Iterable[Planned],
        file: str = "",
    ) -> str:
        """Records the experiment. Returns its name."""
        del engine, overrides, file
        self._info, self._planned = info, runs if isinstance(runs, Made) else tuple(runs)
        return info.name

    def recorded(
        self, info: ExperimentInfo, engine: str, overrides: Mapping[str, Sequence[str]]
    ) -> tuple[ExperimentInfo, Sequence[Planned]] | None:
        """The experiment and its runs as recorded last; None: there is none."""
        del info, engine, overrides
        return None if self._info is None else (self._info, self._planned)

    def results(self, experiment: str) -> Results:
        """Results of the finished runs, after which no run is added.

        Raises `LookupError` for an experiment not recorded.
        """
        return self._results(experiment, self._runs)

    def results_so_far(self, experiment: str) -> Results:
        """Results of the finished runs; more may be added. See :meth:`results`."""
        return self._results(experiment, _Runs(self._runs.fields, dict(self._runs.streams)))

    def _results(self, experiment: str, runs: _Runs) -> Results:
        if self._info is None or self._info.name != experiment:
            raise LookupError(experiment)
        return LazyResults.of(self._info, {}, _Tables(self._info, self._planned, runs))


class _Tables:
    """Tables made from the streams of runs. A table and its streams are not both kept."""

    place = IN_MEMORY

    def __init__(self, info: ExperimentInfo, planned: Sequence[Planned], runs: _Runs) -> None:
        self._info = info
        self._planned = [one for one in planned if one.run in runs.fields]
        self._runs = runs
        self._made: dict[str, pl.DataFrame] = {}

    def load(self, name: str) -> pl.DataFrame:
        """Table with the rows of all runs."""
        if name not in self._made:
            self._made[name] = self._placed(self._frame(name))
            self._runs.streams.pop(name, None)
        return self._made[name]

    def parts(self, name: str, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
        """Columns of a table, as one part."""
        yield from parts_of(self.load(name), columns)

    def has(self, name: str) -> bool:
        """Returns true if the table has rows."""
        return not self.load(name).is_empty()

    def of_repeat(self, name: str, where: Where, repeat: int | None) -> pl.DataFrame:
        """See :meth:`Results.of_repeat`."""
        return repeat_of(self.load(name), where, repeat)

    def of_runs(self, name: str, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        """See :meth:`Results.of_runs`."""
        return runs_of(self.load(name), runs, columns)

    def _frame(self, name: str) -> pl.DataFrame:
        ids = dict.fromkeys(one.run for one in self._planned)
        if name == "runs":
            return frame_of_runs([self._runs.fields[run] for run in ids])
        streams = self._runs.streams.get(name, {})
        return frame_of(name, {run: streams[run] for run in ids if run in streams})

    def _placed(self, frame: pl.DataFrame) -> pl.DataFrame:
        if len(self._planned) != 1:
            return placed(design_of(self._info, self._planned), frame)
        # One run, as in a loop of calls: the columns of its place are constants, without a join.
        one = self._planned[0]
        levels = {name: one.levels[name] for name in self._info.factors}
        return with_constants(frame, {**levels, "repeat": one.repeat, "seed": one.seed}, at=1)
