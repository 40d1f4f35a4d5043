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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.errors import StoreError, nearest_name, shortened
from dumbbell.files.whole import sync_path, write_file
from dumbbell.results import LazyResults, Results
from dumbbell.runs import ExperimentInfo, Run, RunResult
from dumbbell.store.adopt import adopt
from dumbbell.store.files import is_refused, mark_of
from dumbbell.store.index import Damage, Index, Kept, Sound
from dumbbell.store.journal import Entry, Journal
from dumbbell.store.large import StoredTables
from dumbbell.store.place import MARK, begin_writing, check_format, check_name, create, is_store
from dumbbell.store.record_files import read_all, read_all_fields, read_one, record_path
from dumbbell.store.records import Planned, Record, index, placed, record_id, record_of
from dumbbell.store.segments import write_segment
from dumbbell.store.tables import LARGE, SMALL, empty, frames_of, parquet, run_fields

SEGMENT_RUNS = 512
SEGMENT_BYTES = 64 << 20
SYNC_S = 1.0


class Store:
    """Open store. Any method may raise `StoreError`, with one message for the user.

    Attributes:
        path: Folder.
        index: Contents when the store was opened, or results were last read.
        sound: Files that were checked.
    """

    def __init__(self, path: Path, *, write: bool) -> None:
        check_name(path)
        self.path = path
        self._write = write
        self._journal: Journal | None = None
        self._entries: list[Entry] = []
        self._bytes = 0
        self._unsynced: list[Path] = []
        self._synced_at = 0.0
        self._known: set[str] = set()
        self.sound = Sound(path)
        with self._clear("opened"):
            self._open()

    # Opening and closing

    def _open(self) -> None:
        if not (self.path / MARK).exists():
            if self._write:
                self._journal = create(self.path)
            elif is_store(self.path):
                raise StoreError(f"{self.path / MARK}: missing; {self.run_again('')} repairs it")
            else:
                raise StoreError(f"{self.path}: not a store of Dumbbell")
        check_format(self.path)
        if self._write:
            adopt(self.path, self._journal, self.sound)
        self.index = Index(self.path, self.sound)
        self._known = self.index.runs()

    def prepare(self) -> None:
        """Opens the journal. An unwritable store raises its error here, before any run."""
        with self._clear("written"):
            self._writer()

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
            raise StoreError(f"{self.path}: the store cannot be {what}: {reason}{kept}") from None
        except pl.exceptions.PolarsError as error:
            raise StoreError(f"{self.path}: damaged: {shortened(str(error), 100)}") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Seals the journal. If that fails, the next process seals it."""
        if self._journal is None:
            return
        journal, self._journal = self._journal, None
        try:
            with self._clear("written"):
                self._sync_files()
                if self._entries:
                    journal.sync()
                    write_segment(self.path, self._entries, journal.owner)
                journal.remove()
        finally:
            journal.close()
            self._entries = []

    # Runs

    def __contains__(self, run: str) -> bool:
        return run in self._known

    def check(self, runs: Collection[str]) -> list[Damage]:
        """Reads all files of some runs and compares checksums. Returns the damage.

        Damaged runs are no longer in the store, until they are added again.
        """
        with self._clear("read"):
            found = self.index.named() & set(runs)
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
            files = dict(self._keep_files(run.id, result, journal))
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

    def _keep_files(
        self, run: str, result: RunResult, journal: Journal
    ) -> Iterator[tuple[str, tuple[int, str]]]:
        """Writes the tables over time and the capture of a run. Returns their names and marks."""
        written: dict[str, bytes] = {}
        for name in LARGE:
            if name in result.tables:
                frame = pl.read_ipc_stream(result.tables[name])
                if frame.height:
                    written[f"{run}.{name}.parquet"] = parquet(frame)
        if result.capture is not None:
            written[self._capture_of(run).name] = result.capture
        for name, data in written.items():
            path, mark = self.path / "runs" / name, mark_of(data)
            write_file(path, data, sync=False, owner=journal.owner)
            self._unsynced.append(path)
            self.sound.trust(name, mark)
            yield name, (mark.size, mark.hash)

    def _capture_of(self, run: str) -> Path:
        return self.path / "runs" / f"{run}.pcapng"

    def capture(self, run: str) -> Path | None:
        """Capture of a run, as pcapng; None: there is none."""
        path = self._capture_of(run)
        return path if path.is_file() else None

    def tick(self) -> None:
        """Flushes finished runs to the disk, at most once a second. Call it regularly."""
        if self._journal is not None and time.monotonic() - self._synced_at >= SYNC_S:
            with self._clear("written"):
                self._sync_files()
                self._journal.sync()
            self._synced_at = time.monotonic()

    def _sync_files(self) -> None:
        for path in self._unsynced:
            sync_path(path)
        if self._unsynced:
            sync_path(self.path / "runs")
        self._unsynced = []

    def _rotate(self, journal: Journal) -> None:
        """Moves the runs of the journal to a segment, and begins a new journal."""
        self._sync_files()
        write_segment(self.path, self._entries, journal.owner)
        self._journal = Journal.create(self.path / "journal")
        self._entries = []
        self._bytes = 0
        journal.remove()

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
        made = Record(key, info, engine, overrides, time.time_ns(), tuple(runs), order, file)
        path = record_path(self.path, key)
        with self._clear("written"):
            before = read_one(path)[0]
            same = before is not None and before.fields() == made.fields()
            if same and before is not None and before.order >= order:
                return key
            try:
                write_file(path, made.encoded(), sync=True, owner=self._writer().owner)
            except OSError as error:
                if not (same and is_refused(error)):
                    raise
        return key

    def experiments(self) -> list[Record]:
        """All experiments, the one run last at the end. Raises `StoreError` for a damaged one."""
        records, wrong = self._records()
        if wrong:
            raise StoreError(self._damaged(wrong[0]))
        return records

    def _damaged(self, experiment: Damage) -> str:
        return f"{experiment}; {self.run_again('')} repairs it, with its file"

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
        wanted = {one.run for one in record.runs}
        with self._clear("read"):
            self.index = Index(self.path, self.sound)
            kept, damages = self.index.sound(wanted)
            self._known = self.index.runs() - (wanted - set(kept))
            if missing := wanted - set(kept):
                damages += self.index.unread(missing)
            if damages:
                others = f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
                raise StoreError(f"{damages[0]}{others}; {self._mended(record.file)}")
            found = self._small(kept)
        design = index(record)
        tables = {name: placed(design, frame) for name, frame in found.items()}
        return LazyResults.of(record.info, tables, StoredTables(self.path, kept, design))

    def run_again(self, file: str) -> str:
        """Command that runs an experiment into this store, for messages."""
        name = shlex.quote(file) if file else "FILE"
        return f"`dumbbell run {name} --store {shlex.quote(str(self.path))}`"

    def _mended(self, file: str) -> str:
        store = shlex.quote(str(self.path))
        return f"{self.run_again(file)} repairs it, or `dumbbell store repair {store}`"

    def _chosen(self, experiment: str | None) -> Record:
        if experiment is not None:
            one, _ = read_one(record_path(self.path, experiment))
            if one is not None:
                return one
        return record_of(*self.chosen(experiment))

    def chosen(self, experiment: str | None) -> tuple[str, Mapping[str, Any]]:
        """Id and fields of an experiment by name or id. Raises `StoreError` if there is none.

        `experiment`: None: the one run last.
        """
        with self._clear("read"):
            found, wrong = read_all_fields(self.path, self.index.segments)
        if wrong:
            raise StoreError(self._damaged(wrong[0]))
        for key, fields in reversed(found.items()):
            if experiment is None or experiment in (fields["name"], key):
                return key, fields
        if not found:
            raise StoreError(f"{self.path}: no experiment was run here")
        names = [fields["name"] for fields in found.values()]
        near = nearest_name(experiment or "", names)
        hint = f"; did you mean {near}?" if near is not None else ""
        raise StoreError(
            f"{self.path}: no experiment {experiment!r}{hint}; there are {', '.join(names)}"
        )

    def _small(self, kept: Mapping[str, Kept]) -> dict[str, pl.DataFrame]:
        parts = self.index.small(kept)
        rest = [one.entry for one in kept.values() if one.entry is not None]
        for name, frame in frames_of(rest).items():
            parts.setdefault(name, []).append(frame)
        return {name: pl.concat(parts.get(name) or [empty(name)]) for name in (*SMALL, "runs")}
