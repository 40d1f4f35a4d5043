"""Result files as runs of a store."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell.codes import Code
from dumbbell.errors import StoreError
from dumbbell.measured.formats import format_named, format_of, read_as
from dumbbell.measured.source import read_source, unpacked
from dumbbell.measured.values import TABLES, Measured, MeasuredError
from dumbbell.runs import MEASURED, ExperimentInfo, Run, RunResult
from dumbbell.store.measured import NO_SEED, result_of, run_of
from dumbbell.store.records import Planned, record_of
from dumbbell.store.store import Store

#: Factor that tells files apart, if the user names none.
FILE = "file"
#: Factor that tells measured runs from those of an engine.
ORIGIN = "origin"
Told = Callable[[str], None]
_ENDS = re.compile(r"(\.(gz|bz2|json|jsonl|flent|flnt|csv|xml|txt|log|sqlog|qlog))+$")
_TEXT = "# Measured elsewhere, added by `dumbbell import`. There is no experiment file.\n"


@dataclass(slots=True)
class Imported:
    """What an import did.

    Attributes:
        experiment: Name of the experiment.
        runs: Number of runs that were added.
        known: Files whose runs the experiment had.
        notes: File and note.
        refused: Errors of files that could not be read.
    """

    experiment: str
    runs: int = 0
    known: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    refused: list[MeasuredError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where the runs of files go, and how files are read.

    Attributes:
        experiment: Name of the experiment. If the store has a measured experiment of this name and
            these factors, the runs are added to it.
        form: Format of all files; None: recognised for each.
        levels: Factor → level. The files are repeats of this cell. Empty: a factor `file` tells
            the files apart.
        names: Flow in a file → its name in the store.
        beside: Experiment of the store whose runs stand beside; a factor `origin` tells them apart.
    """

    experiment: str = MEASURED
    form: str | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    beside: str | None = None

    def cell(self, label: str) -> dict[str, str]:
        """Levels of a file."""
        if self.beside is not None:
            return {ORIGIN: MEASURED, **self.levels}
        return dict(self.levels) if self.levels else {FILE: label}


@dataclass(frozen=True, slots=True)
class _Read:
    run: Run
    result: RunResult
    engine: str
    version: str


def _quiet(_: str) -> None:
    """Says nothing."""


def add_files(files: Sequence[Path], store: Path, chosen: Chosen, told: Told = _quiet) -> Imported:
    """Adds a run per file to an experiment of a store.

    Args:
        files: The files.
        store: Folder of the store, created if it is missing.
        chosen: Experiment, cell, format and names.
        told: Called with the name of each file.

    Raises:
        StoreError: The store cannot be written, or has this experiment with other factors.
    """
    done = Imported(chosen.experiment)
    with Store(store, write=True) as opened:
        opened.prepare()
        runs = _before(opened, chosen.experiment)
        if chosen.beside is not None:
            runs = _beside(opened, chosen.beside, runs)
        design(chosen.experiment, [*runs, Planned("", chosen.cell(""), 0, NO_SEED)])
        had = {one.run for one in runs}
        opened.check(had)  # a damaged run is read again
        for path, label in zip(files, labels(files), strict=True):
            told(str(path))
            try:
                read = _read(path, chosen, done)
            except MeasuredError as error:
                done.refused.append(error.of(str(path)))
                continue
            key = read.run.id
            if key in had and key in opened:
                done.known.append(str(path))
                continue
            if key not in opened:
                opened.add(read.run, read.engine, read.version, read.result)
            if key not in had:
                runs.append(Planned(key, chosen.cell(label), 0, NO_SEED))
            had.add(key)
            done.runs += 1
        if done.runs:
            info, planned = design(chosen.experiment, runs)
            opened.record(info, MEASURED, {}, planned)
    return done


def _before(store: Store, name: str) -> list[Planned]:
    """Runs of the measured experiment of this name."""
    own = [one for one in store.experiments() if (one.engine, one.info.name) == (MEASURED, name)]
    return list(own[-1].runs) if own else []


def _beside(store: Store, other: str, runs: list[Planned]) -> list[Planned]:
    """Runs of another experiment, whose engine is the level of `origin`, and then `runs`."""
    key, fields = store.chosen(other)
    record = record_of(key, fields)
    had = {one.run for one in runs}
    added = [
        Planned(one.run, {ORIGIN: record.engine, **one.levels}, one.repeat, one.seed)
        for one in record.runs
        if one.run not in had
    ]
    return [*added, *runs]


def _read(path: Path, chosen: Chosen, done: Imported) -> _Read:
    content = unpacked(read_source(path))
    one = format_of(content) if chosen.form is None else format_named(chosen.form)
    found = renamed(read_as(one, content), chosen.names).checked()
    done.notes += [(str(path), note) for note in found.notes]
    run = run_of(one, content, path.name, found, chosen.names)
    return _Read(run, result_of(found), f"{MEASURED}:{one.name}", str(one.version))


def renamed(found: Measured, names: Mapping[str, str]) -> Measured:
    """The contents with other names of flows. Raises `MeasuredError` for a name of no flow."""
    known = [str(one["flow"]) for one in found.flows]
    for name in names:
        if name not in known:
            raise MeasuredError("", f"no flow {name!r}; there are {', '.join(known[:12])}")
    if names:
        for row in (row for table in TABLES for row in getattr(found, table)):
            row["flow"] = names.get(str(row["flow"]), row["flow"])
    return found


def labels(files: Sequence[Path]) -> list[str]:
    """Levels of the factor `file`: names without endings, with folders where names are alike."""
    short = [_ENDS.sub("", one.name) or one.name for one in files]
    if len(set(short)) == len(short):
        return short
    return [str(one) for one in files]


def design(name: str, runs: Sequence[Planned]) -> tuple[ExperimentInfo, list[Planned]]:
    """Experiment of some runs, and the runs with their repeats: by order within a cell.

    Raises `StoreError` if the runs have different factors.
    """
    factors = list(runs[0].levels)
    known: dict[str, list[str]] = {factor: [] for factor in factors}
    counts: dict[tuple[str, ...], int] = {}
    planned = []
    for one in runs:
        if sorted(one.levels) != sorted(factors):
            raise StoreError(
                f"experiment {name} has the factors {', '.join(factors) or 'none'}, and here are "
                f"{', '.join(one.levels)}: --set names levels, --name another experiment",
                code=Code.SET_FORM,
            )
        cell = tuple(one.levels[factor] for factor in factors)
        repeat = counts.get(cell, 0)
        counts[cell] = repeat + 1
        for factor, level in zip(factors, cell, strict=True):
            if level not in known[factor]:
                known[factor].append(level)
        planned.append(Planned(one.run, dict(zip(factors, cell, strict=True)), repeat, one.seed))
    return ExperimentInfo(name, _TEXT, known, max(counts.values()), NO_SEED), planned
