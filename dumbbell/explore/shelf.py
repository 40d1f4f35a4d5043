"""Store as the explorer sees it: experiments, read again when files change."""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import StoreError
from dumbbell.results import LazyResults, Results
from dumbbell.store import Store
from dumbbell.store.index import Damage, Kept
from dumbbell.store.lack import lack_of
from dumbbell.store.large import StoredTables
from dumbbell.store.place import MARK
from dumbbell.store.records import Planned, Record, index, placed
from dumbbell.store.tables import SMALL, as_now, empty, frames_of

#: Shortest time between two looks at the files, s.
_PAUSE_S = 0.4
_FOLDERS = ("experiments", "journal", "segments")


@dataclass
class StoredExperiment:
    """An experiment of a store.

    Files of runs are checked only when tables over time are read: a list of 10 000 runs needs none.
    """

    record: Record
    store: Store
    results: Results
    notes: list[str]
    #: Files of runs that were checked.
    _whole: set[str] = field(default_factory=set)

    @property
    def planned(self) -> Sequence[Planned]:
        """All runs, finished or not."""
        return self.record.runs

    @property
    def engine(self) -> str:
        """Name of the engine."""
        return self.record.engine

    def rows(self, table: str, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        """See :meth:`dumbbell.explore.sources.Source.rows`."""
        self._check(runs)
        return self.results.of_runs(table, list(runs), list(columns))

    def of_run(self, run: str) -> Results:
        """See :meth:`dumbbell.explore.sources.Source.of_run`."""
        self._check([run])
        one = next(one for one in self.record.runs if one.run == run)
        small = {name: getattr(self.results, name).filter(_at(one)) for name in (*SMALL, "runs")}
        kept, _ = self.store.index.sound({run})
        design = index(self.record).filter(_at(one))
        lazy = StoredTables(self.store.path, kept, design)
        return LazyResults.of(self.record.info, small, lazy)

    def _check(self, runs: Collection[str]) -> None:
        new = set(runs) - self._whole
        if new:
            whole, damages = self.store.index.sound(new)
            if damages:
                raise StoreError(f"damaged: {damages[0]}")
            self._whole |= set(whole)


def _at(one: Planned) -> pl.Expr:
    """Rows of a run at one place of the design: cells with one scenario share a run."""
    own = pl.col("run") == one.run
    for name, level in one.levels.items():
        own &= pl.col(name) == level
    return own


class Shelf:
    """Experiments of a store, the one run last first.

    Attributes:
        place: Folder of the store.
        stamp: Counter of changes.
        banner: What a reader must know of the store; empty: all is well.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.stamp = 0
        self.banner: list[str] = []
        self._print: object = None
        self._looked = 0.0
        self._lock = threading.RLock()
        self._records: dict[str, Record] = {}
        self._store: Store | None = None
        self._made: dict[str, StoredExperiment] = {}
        self.refresh(at_once=True)

    def refresh(self, *, at_once: bool = False) -> None:
        """Reads the store again if its files have changed. What was read last stays on errors.

        Raises:
            StoreError: The store cannot be read, and never was.
        """
        with self._lock:
            if not at_once and time.monotonic() - self._looked < _PAUSE_S:
                return
            self._looked = time.monotonic()
            found = _fingerprint(self.place)
            if found == self._print and self._store is not None:
                return
            self._print = found
            self.stamp += 1
            try:
                if self._store is not None and not self.place.is_dir():
                    raise StoreError(f"{self.place}: the store is gone")
                store = Store(self.place, write=False, partial=True)
                records = {one.id: one for one in reversed(store.experiments())}
                if not records:
                    raise StoreError(
                        f"{self.place}: no experiment was run here; "
                        f"`dumbbell run FILE --store {shlex.quote(str(self.place))}` runs one",
                        code=Code.NO_EXPERIMENT,
                    )
            except StoreError as error:
                if self._store is None:
                    raise
                self.banner = [f"{error}. The last picture is shown."]
                return
            self._store, self._records, self._made = store, records, {}
            self.banner = store.sentences([])

    @property
    def records(self) -> list[Record]:
        """Experiments, the one run last first."""
        return list(self._records.values())

    def experiment(self, key: str | None) -> StoredExperiment:
        """An experiment by its id; None: the one run last. Raises `StoreError` for another."""
        with self._lock:
            key = next(iter(self._records)) if key is None else key
            if key not in self._records or self._store is None:
                raise StoreError("no such experiment in this store")
            if key not in self._made:
                self._made[key] = _read(self._store, self._records[key])
            return self._made[key]

    def finished(self, record: Record) -> int:
        """Number of finished runs of an experiment."""
        with self._lock:
            store = self._store
            return 0 if store is None else sum(one.run in store for one in record.runs)


def _read(store: Store, record: Record) -> StoredExperiment:
    """Small tables of an experiment; those of damaged segments are left out."""
    kept: dict[str, Kept] = {}
    damages: list[Damage] = []
    wanted = {one.run for one in record.runs}
    for run in wanted:
        wrong: list[tuple[Path, str]] = []
        for one in store.index.copies(run):
            wrong = [] if one.segment is None else list(store.sound.of_segment(one.segment))
            if not wrong:
                kept[run] = one
                break
        damages += [Damage(path, what, (run,)) for path, what in wrong if run not in kept]
    missing = wanted - set(kept)
    damages += store.index.unread(missing) if missing else []
    parts = _small(store, kept)
    entries = [one.entry for one in kept.values() if one.entry is not None]
    for name, frame in frames_of(entries).items():
        parts.setdefault(name, []).append(frame)
    design = index(record)
    tables: dict[str, Any] = {
        name: placed(design, pl.concat(parts.get(name) or [empty(name)]))
        for name in (*SMALL, "runs")
    }
    results = LazyResults.of(record.info, tables, StoredTables(store.path, kept, design))
    versions = tables["runs"]["engine_version"].unique().to_list()
    lack = lack_of(store.path, record, kept, damages, versions, store.run_again(record.file))
    return StoredExperiment(record, store, results, store.sentences([lack]))


def _small(store: Store, kept: Mapping[str, Kept]) -> dict[str, list[pl.DataFrame]]:
    """Small tables of runs in segments, whole files of a table at once where all runs are meant."""
    of_runs = [one.segment for one in kept.values() if one.segment is not None]
    segments = list({one.path: one for one in of_runs}.values())
    if sum(len(one.runs) for one in segments) != len(of_runs):
        return store.index.small(kept)
    paths: dict[str, list[Path]] = {}
    for segment in segments:
        for name in segment.tables:
            paths.setdefault(name, []).append(segment.table(name))
    try:
        return {
            name: [as_now(name, pl.read_parquet(some, glob=False))] for name, some in paths.items()
        }
    except (pl.exceptions.PolarsError, OSError):  # of versions with other columns
        return store.index.small(kept)


def _fingerprint(place: Path) -> object:
    """Names, lengths and times of the files by which a change is seen."""
    found: list[tuple[str, int, int]] = []
    with contextlib.suppress(OSError):
        found.append((MARK, 0, (place / MARK).stat().st_mtime_ns))
    for folder in _FOLDERS:
        try:
            with os.scandir(place / folder) as entries:
                for entry in entries:
                    facts = entry.stat()
                    found.append((entry.path, facts.st_size, facts.st_mtime_ns))
        except OSError:
            found.append((folder, -1, -1))
    return sorted(found)
