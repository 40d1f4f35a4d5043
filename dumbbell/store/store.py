"""The store: a folder of runs, addressed by a hash of everything that determines the result.

```
store.json                   format of the store
experiments/<id>.json        each experiment with its runs
journal/<writer>.log         finished runs not yet in a segment; locked while its writer lives
segments/<id>/*.parquet      small tables of many runs; manifest.json has checksums of all of them
runs/<id>.<table>.parquet    tables over time, of one run, where they are kept
runs/<id>.pcapng             capture at its taps, where the experiment asks for it
.<name>.<writer>.tmp         not yet complete; abandoned if the writer's journal is not locked
```

A run is in the journal before it is reported as finished; `fsync` happens at most once a second.
Several processes may create a store and write to it at once. The checksums of a run's files are
compared before the run counts as done, and before it is read. Reading opens no file for writing.
"""

from __future__ import annotations

import contextlib
import errno
import shlex
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import StoreError, did_you_mean, nearest_name, shortened, shown
from dumbbell.files.whole import write_file
from dumbbell.results import LazyResults, Results
from dumbbell.runs import MEASURED, ExperimentInfo, Run, RunResult
from dumbbell.store.adopt import adopt
from dumbbell.store.files import alone, is_refused
from dumbbell.store.index import Damage, Index, Kept, Sound
from dumbbell.store.journal import Entry, Journal
from dumbbell.store.lack import Lack, lack_of, sentence_of
from dumbbell.store.large import StoredTables
from dumbbell.store.place import (
    MARK,
    FormatError,
    begin_writing,
    check_format,
    create,
    is_store,
    no_store,
)
from dumbbell.store.record_files import read_all, read_all_fields, read_one, record_path
from dumbbell.store.records import (
    Planned,
    Record,
    index,
    named,
    placed,
    record_id,
    record_of,
    with_runs_of,
)
from dumbbell.store.remote import entered
from dumbbell.store.run_files import RunFiles
from dumbbell.store.segments import write_segment
from dumbbell.store.tables import SMALL, empty, frames_of, run_fields

SEGMENT_RUNS = 512
SEGMENT_BYTES = 64 << 20
SYNC_S = 1.0


class Store:
    """Open store. Any method may raise `StoreError`, with one message for the user.

    Args:
        path: Folder of the store.
        write: Open it for writing.
        partial: Go on after damage that leaves something to read: a missing mark, unreadable
            experiments. It is listed in `beside`.

    Attributes:
        path: Folder.
        remote: Its remote copy; None: the store is a folder.
        index: Contents when the store was opened, or results were last read.
        sound: Files that were checked.
        beside: Damaged files that were left out, other than those of runs.
    """

    def __init__(self, path: Path, *, write: bool, partial: bool = False) -> None:
        self.path, self.remote = path, entered(path)
        self.beside: list[Damage] = []
        self._write = write
        self._partial = partial and not write
        self._journal: Journal | None = None
        self._entries: list[Entry] = []
        self._bytes = 0
        self._synced_at = 0.0
        self._known: set[str] = set()
        self.sound = Sound(path)
        self._files = RunFiles(path, self.sound)
        with self._clear("opened"):
            self._open()

    # Opening and closing

    def _open(self) -> None:
        if not (self.path / MARK).exists():
            if self._write:
                self._journal = create(self.path)
            elif is_store(self.path) and self._partial:
                self.beside.append(Damage(self.path / MARK, "missing"))
            elif is_store(self.path):
                raise StoreError(
                    f"{self.path / MARK}: missing; {self.run_again('')} repairs it",
                    code=Code.DAMAGED,
                )
            else:
                raise StoreError(f"{self.path}: {no_store(self.path)}", code=Code.NOT_STORE)
        if not self.beside:
            self._check_format()
        if self._write:
            adopt(self.path, self._journal, self.sound)
        self.index = Index(self.path, self.sound)
        self._known = self.index.runs()

    def _check_format(self) -> None:
        try:
            check_format(self.path)
        except FormatError as error:
            if not self._partial:
                raise
            self.beside.append(Damage(self.path / MARK, error.what))

    def prepare(self) -> None:
        """Opens the journal. An unwritable store raises its error here, before any run."""
        with self._clear("written"):
            self._writer()
        if self.remote is not None:
            self.remote.upload()

    def _writer(self) -> Journal:
        if not self._write:
            raise StoreError(f"{self.path}: the store is open for reading")
        if self._journal is None:
            self._journal = begin_writing(self.path)
        return self._journal

    @contextlib.contextmanager
    def _clear(self, what: str) -> Iterator[None]:
        """Context that turns errors of the system into one message."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                reason = "the disk is full"
            kept = "; finished runs are kept" if self._known else ""
            raise StoreError(
                f"{self.path}: the store cannot be {what}: {reason}{kept}", code=Code.STORE_ACCESS
            ) from None
        except pl.exceptions.PolarsError as error:
            raise StoreError(
                f"{self.path}: damaged: {shortened(str(error), 100)}", code=Code.DAMAGED
            ) from None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._close(calm=kind is not None, told=kind is not StoreError)

    def close(self) -> None:
        """Seals the journal, and uploads. If that fails, the next process does it."""
        self._close(calm=False)

    def _close(self, *, calm: bool, told: bool = True) -> None:
        if self._journal is None:
            return
        journal, self._journal = self._journal, None
        try:
            with self._clear("written"):
                self._files.sync()
                if self._entries:
                    journal.sync()
                    write_segment(self.path, self._entries, journal.owner)
                journal.remove()
        finally:
            journal.close()
            self._entries = []
        if self.remote is not None:
            self.remote.upload(calm=calm, told=told)

    # Runs

    def __contains__(self, run: str) -> bool:
        return run in self._known

    def check(self, runs: Collection[str]) -> list[Damage]:
        """Reads all files of some runs and compares checksums. Returns the damage.

        Damaged runs are no longer in the store, until they are added again.
        """
        with self._clear("read"):
            found = self.index.named_of(runs)
            whole, damages = self.index.sound(found)
        self._known -= found - set(whole)
        return damages + self.index.unread(set(runs) - set(whole))

    def walls(self, runs: Collection[str]) -> dict[str, float]:
        """Real time in s of those of some runs that the store has. No checksum is compared."""
        with self._clear("read"):
            return self.index.walls(self._known & set(runs))

    def digest(self, run: str) -> str | None:
        """Recorded digest of a run, damaged or not; None: unreadable."""
        with self._clear("read"):
            return self.index.digest(run)

    def add(self, run: Run, engine: str, version: str, result: RunResult) -> None:
        """Adds a finished run. After the return, the run survives the end of the process."""
        with self._clear("written"):
            journal = self._writer()
            files = dict(self._files.keep(run.id, result, journal.owner))
            fields = {**run_fields(run, engine, version, result), "files": files}
            small = {name: result.tables[name] for name in SMALL if name in result.tables}
            entry = Entry(fields, small)
            journal.append(entry)
            self._known.add(run.id)
            self._entries.append(entry)
            self._bytes += sum(map(len, small.values())) + len(run.scenario)
            self.tick()
            if len(self._entries) >= SEGMENT_RUNS or self._bytes >= SEGMENT_BYTES:
                self._rotate(journal)

    def added_elsewhere(self, run: str) -> None:
        """Counts a run as finished that another process has added."""
        self._known.add(run)

    def capture(self, run: str) -> Path | None:
        """Capture of a run, as pcapng; None: there is none."""
        return self._files.capture(run)

    def tick(self) -> None:
        """Flushes finished runs to the disk, at most once a second. Call it regularly."""
        if self._journal is not None and time.monotonic() - self._synced_at >= SYNC_S:
            with self._clear("written"):
                self._files.sync()
                self._journal.sync()
            self._synced_at = time.monotonic()

    def _rotate(self, journal: Journal) -> None:
        """Moves the runs of the journal to a segment, and begins a new journal."""
        self._files.sync()
        write_segment(self.path, self._entries, journal.owner)
        self._journal = Journal.create(self.path / "journal")
        self._entries = []
        self._bytes = 0
        journal.remove()
        if self.remote is not None:
            self.remote.begin_upload()

    # Experiments and results

    def record(
        self,
        info: ExperimentInfo,
        engine: str,
        overrides: Mapping[str, Sequence[str]],
        runs: Iterable[Planned],
        file: str = "",
    ) -> str:
        """Records an experiment and its runs, finished or not. Returns its id.

        An unchanged experiment is written only to become the one run last. A read-only store stays
        unchanged.
        """
        key = record_id(info, overrides, engine)
        others = [record for record in self._records()[0] if record.id != key]
        order = 1 + max((record.order for record in others), default=0)
        path = record_path(self.path, key)
        with self._clear("written"), alone(path.parent):
            before = read_one(path)[0]
            planned = with_runs_of(before, info, runs)
            made = Record(key, info, engine, overrides, time.time_ns(), planned, order, file)
            same = before is not None and before.fields() == made.fields()
            if same and before is not None and before.order >= order:
                return key
            try:
                write_file(path, made.encoded(), sync=True, owner=self._writer().owner)
            except OSError as error:
                if not (same and is_refused(error)):
                    raise
        return key

    def recorded(
        self, info: ExperimentInfo, engine: str, overrides: Mapping[str, Sequence[str]]
    ) -> tuple[ExperimentInfo, Sequence[Planned]] | None:
        """An experiment and its runs as recorded last; None: it is new, or damaged."""
        with self._clear("read"):
            found, _ = read_one(record_path(self.path, record_id(info, overrides, engine)))
        return None if found is None else (found.info, found.runs)

    def experiments(self) -> list[Record]:
        """All experiments, the one run last at the end.

        Raises `StoreError` for a damaged one; of a partial store, if no other is there.
        """
        records, wrong = self._records()
        self._beside(wrong, records)
        return records

    def _beside(self, wrong: Sequence[Damage], others: Sized) -> None:
        """Leaves damaged experiments out of a partial store with others; else raises an error."""
        if wrong and not (self._partial and others):
            raise StoreError(
                f"{wrong[0]}; {self.run_again('')} repairs it, with its file", code=Code.DAMAGED
            )
        self.beside += [one for one in wrong if one not in self.beside]

    def _records(self) -> tuple[list[Record], list[Damage]]:
        with self._clear("read"):
            return read_all(self.path, self.index.segments)

    def results(self, experiment: str | Record | None = None) -> Results:
        """Results of the finished runs of an experiment.

        Args:
            experiment: Name, id or record of the experiment; None: the one run last.

        Raises:
            StoreError: The experiment is unknown, the store cannot be read, or a file of the runs
                is damaged.
        """
        record = experiment if isinstance(experiment, Record) else self._chosen(experiment)
        kept, damages = self._sound_runs(record)
        if damages:
            raise self._damaged(record, damages)
        return self._results(record, kept)

    def partial_results(self, experiment: str | Record | None = None) -> tuple[Results, Lack]:
        """Results of the finished, undamaged runs of an experiment, and what they lack.

        Raises `StoreError` if the experiment is unknown, or the store cannot be read.
        """
        record = experiment if isinstance(experiment, Record) else self._chosen(experiment)
        kept, damages = self._sound_runs(record)
        found = self._results(record, kept)
        versions = found.runs["engine_version"].unique().to_list()
        repair = self.make_again(record)
        return found, lack_of(self.path, record, kept, damages, versions, repair)

    def sentences(self, lacks: Sequence[Lack]) -> list[str]:
        """What a reader of partial results should know, a sentence each."""
        told = [sentence_of(one, self.path) for one in self.beside]
        for lack in lacks:
            name = f"{shortened(lack.experiment)}: " if len(lacks) > 1 else ""
            told += [name + sentence for sentence in lack.sentences()]
        return [shown(one) for one in told]

    def _sound_runs(self, record: Record) -> tuple[dict[str, Kept], list[Damage]]:
        """Undamaged copies of the runs of an experiment, and the damage of the others."""
        wanted = {one.run for one in record.runs}
        with self._clear("read"):
            self.index = Index(self.path, self.sound)
            kept, damages = self.index.sound(wanted)
            self._known = self.index.runs() - (wanted - set(kept))
            if missing := wanted - set(kept):
                damages += self.index.unread(missing)
        return kept, damages

    def _results(self, record: Record, kept: Mapping[str, Kept]) -> Results:
        with self._clear("read"):
            found = self._small(kept)
        design = index(record)
        tables = {name: placed(design, frame) for name, frame in found.items()}
        return LazyResults.of(record.info, tables, StoredTables(self.path, kept, design))

    def results_so_far(self, experiment: str) -> Results:
        """Results of the finished runs; more may be added. See :meth:`results`."""
        return self.results(experiment)

    def run_again(self, file: str) -> str:
        """Command that runs an experiment into this store, for messages."""
        name = shlex.quote(file) if file else "FILE"
        return f"`dumbbell run {name} --store {shlex.quote(str(self.path))}`"

    def make_again(self, record: Record) -> str:
        """Command that makes the runs of an experiment, for messages."""
        if record.engine == MEASURED:
            name = shlex.quote(record.info.name)
            return f"`dumbbell import FILE… --name {name} --store {shlex.quote(str(self.path))}`"
        return self.run_again(record.file)

    def _damaged(self, record: Record, damages: Sequence[Damage]) -> StoreError:
        others = f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
        store = shlex.quote(str(self.path))
        repair = f"{self.make_again(record)} repairs it, or `dumbbell store repair {store}`"
        return StoreError(f"{damages[0]}{others}; {repair}", code=Code.DAMAGED)

    def _chosen(self, experiment: str | None) -> Record:
        if experiment is not None:
            one, _ = read_one(record_path(self.path, experiment))
            if one is not None:
                return one
        return record_of(*self.chosen(experiment))

    def chosen(self, experiment: str | None) -> tuple[str, Mapping[str, Any]]:
        """Id and fields of an experiment by name or id. Raises `StoreError` if there is none.

        `experiment`: the first letters of an id are enough; None: the one run last.
        """
        with self._clear("read"):
            found, wrong = read_all_fields(self.path, self.index.segments)
        self._beside(wrong, found)
        for key, fields in reversed(found.items()):
            if experiment is None or named(experiment, key, fields):
                return key, fields
        if not found:
            raise StoreError(f"{self.path}: no experiment was run here", code=Code.NO_EXPERIMENT)
        names = [fields["name"] for fields in found.values()]
        near = nearest_name(experiment or "", names)
        hint = did_you_mean(near)
        raise StoreError(
            f"{self.path}: no experiment {experiment!r}{hint}; there are {', '.join(names)}",
            code=Code.NO_EXPERIMENT,
        )

    def _small(self, kept: Mapping[str, Kept]) -> dict[str, pl.DataFrame]:
        parts = self.index.small(kept)
        rest = [one.entry for one in kept.values() if one.entry is not None]
        for name, frame in frames_of(rest).items():
            parts.setdefault(name, []).append(frame)
        return {name: pl.concat(parts.get(name) or [empty(name)]) for name in (*SMALL, "runs")}
