"""Source of runs to show: an experiment of a store, or one that was edited here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import polars as pl

from dumbbell.errors import DumbbellError
from dumbbell.results import Results
from dumbbell.store.records import Planned


class Source(Protocol):
    """An experiment with its finished runs."""

    @property
    def results(self) -> Results:
        """Tables; those over time are read on demand."""

    @property
    def notes(self) -> list[str]:
        """Warnings for the reader, a sentence each."""

    @property
    def planned(self) -> Sequence[Planned]:
        """All runs, finished or not."""

    @property
    def engine(self) -> str:
        """Name of the engine."""

    def rows(self, table: str, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        """Rows of a table over time of some runs: `run` and these columns.

        Raises `StoreError` if a file of the runs is damaged or gone.
        """

    def of_run(self, run: str) -> Results:
        """Tables of one run."""


def planned_of(source: Source, run: str) -> Planned:
    """A finished run by its id. Raises `DumbbellError` for another text."""
    finished = set(source.results.runs["run"])
    for one in source.planned:
        if one.run == run and run in finished:
            return one
    raise DumbbellError("no such run in this experiment, or it is not finished yet")


def known_runs(source: Source, text: str, most: int) -> list[str]:
    """Ids of finished runs, separated by commas. Raises `DumbbellError` for others."""
    wanted = list(dict.fromkeys(one for one in text.split(",") if one))
    if not wanted:
        raise DumbbellError("no run is chosen")
    if len(wanted) > most:
        raise DumbbellError(f"{len(wanted)} runs are chosen; at most {most} are shown together")
    finished = set(source.results.runs["run"])
    if not finished.issuperset(wanted):
        raise DumbbellError("no such run in this experiment, or it is not finished yet")
    return wanted


def levels_words(one: Planned) -> str:
    """Levels and repeat of a run in words."""
    parts = [f"{name} {level}" for name, level in one.levels.items()]
    return ", ".join([*parts, f"repeat {one.repeat}"])
