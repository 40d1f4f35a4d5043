"""The store: a folder in which runs are kept, found again by the hash of what decides them.

```
store.json                   format of the store
experiments/<id>.json        each experiment with its runs
journal/<writer>.log         finished runs not yet in a segment
segments/<id>/*.parquet      small tables of many runs; counts once manifest.json is there
runs/<id>.<table>.parquet    tables over time, of one run, where they are kept
runs/<id>.pcapng             what passed its taps, where it was captured
```

A finished run is in the journal before it is reported as finished; `fsync` happens at most once
a second. Several processes may write to one store at once.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from dumbbell.engines.base import Run, RunResult
from dumbbell.errors import StoreError, nearest_name, shortened
from dumbbell.files import sync_path, write_file
from dumbbell.journal import Entry, Journal, read
from dumbbell.records import Planned, Record, index, placed, read_record, record_id
from dumbbell.results import ExperimentInfo, Results
from dumbbell.store_tables import LARGE, SMALL, as_now, empty, frames_of, parquet

FORMAT = 1
SEGMENT_RUNS = 512
SEGMENT_BYTES = 64 << 20
SYNC_S = 1.0


class Store:
    """An open store. `StoreError` from any method is one message for the user."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self.path = path
        self._write = write
        self._journal: Journal | None = None
        self._entries: list[Entry] = []
        self._bytes = 0
        self._unsynced: list[Path] = []
        self._synced_at = 0.0
        self._known: set[str] = set()
        with self._clear("opened"):
            self._open()

    # Opening and closing

    def _open(self) -> None:
        mark = self.path / "store.json"
        if not mark.exists():
            if not self._write:
                raise StoreError(f"{self.path}: not a store of Dumbbell")
            if self.path.exists() and any(self.path.iterdir()):
                raise StoreError(
                    f"{self.path}: a folder with other things in it, not a store: choose another"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            write_file(mark, json.dumps({"format": FORMAT}).encode(), sync=True)
        try:
            found = json.loads(mark.read_bytes())["format"]
        except (ValueError, KeyError, TypeError):
            raise StoreError(f'{mark}: damaged; it should hold {{"format": {FORMAT}}}') from None
        if not isinstance(found, int) or found > FORMAT:
            raise StoreError(
                f"{self.path}: written by a newer Dumbbell (format {found}; this one reads "
                f"{FORMAT}); it was left as it is"
            )
        if self._write:
            for folder in ("experiments", "journal", "segments", "runs"):
                (self.path / folder).mkdir(exist_ok=True)
            self._journal = Journal.create(self.path / "journal")
            self._adopt()
        # The journals first: meanwhile another process may move runs from there to segments.
        self._known = {entry.fields["run"] for entry in self._journalled()}
        self._known |= {run for segment in self._segments() for run in segment[1]}

    def _adopt(self) -> None:
        """Seals what dead writers left."""
        for path in sorted((self.path / "journal").glob("*.log")):
            if self._journal is not None and path == self._journal.path:
                continue
            orphan = Journal.adopt(path)
            if orphan is not None:
                entries = read(path)
                if entries:
                    self._seal(entries)
                orphan.remove()

    @contextlib.contextmanager
    def _clear(self, what: str) -> Iterator[None]:
        """Turns errors of the system into one clear message."""
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
        """Seals the journal. If that fails, the journal stays and is sealed the next time."""
        if self._journal is None:
            return
        journal, self._journal = self._journal, None
        try:
            with self._clear("written"):
                self._sync_files()
                if self._entries:
                    journal.sync()
                    self._seal(self._entries)
                journal.remove()
        finally:
            journal.close()
            self._entries = []

    # Runs

    def __contains__(self, run: str) -> bool:
        return run in self._known

    def add(self, run: Run, engine: str, version: str, result: RunResult) -> None:
        """Keeps a finished run. When this returns, the run survives the end of the process."""
        if self._journal is None:
            raise StoreError(f"{self.path}: the store is open for reading")
        fields = {
            "run": run.id,
            "engine": engine,
            "engine_version": version,
            "digest": result.digest,
            "wall_s": result.wall_s,
            "packets": result.packets,
            "events": result.events,
            "scenario": run.scenario,
        }
        small = {name: result.tables[name] for name in SMALL if name in result.tables}
        entry = Entry(fields, small)
        with self._clear("written"):
            for name in LARGE:
                self._keep_large(run.id, name, result.tables.get(name))
            if result.capture is not None:
                path = self._capture_of(run.id)
                write_file(path, result.capture, sync=False)
                self._unsynced.append(path)
            self._journal.append(entry)
            self._known.add(run.id)
            self._entries.append(entry)
            self._bytes += sum(map(len, small.values())) + len(run.scenario)
            self.tick()
            if len(self._entries) >= SEGMENT_RUNS or self._bytes >= SEGMENT_BYTES:
                self._rotate(self._journal)

    def _keep_large(self, run: str, name: str, data: bytes | None) -> None:
        if data is None:
            return
        frame = pl.read_ipc_stream(data)
        if frame.height:
            path = self.path / "runs" / f"{run}.{name}.parquet"
            write_file(path, parquet(frame), sync=False)
            self._unsynced.append(path)

    def _capture_of(self, run: str) -> Path:
        return self.path / "runs" / f"{run}.pcapng"

    def capture(self, run: str) -> Path | None:
        """The capture of a run, as pcapng; None if there is none."""
        path = self._capture_of(run)
        return path if path.is_file() else None

    def tick(self) -> None:
        """Makes finished runs survive a power failure, if a second has passed since the last
        time. Call it now and then."""
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

    # Segments

    def _rotate(self, journal: Journal) -> None:
        """Moves the journal's runs to a segment; a new journal begins."""
        self._sync_files()
        self._seal(self._entries)
        self._journal = Journal.create(self.path / "journal")
        self._entries = []
        self._bytes = 0
        journal.remove()

    def _seal(self, entries: Sequence[Entry]) -> None:
        """Writes a segment: tables first, the manifest last."""
        folder = self.path / "segments" / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}"
        folder.mkdir()
        sizes = {}
        for name, frame in frames_of(entries).items():
            data = parquet(frame)
            write_file(folder / f"{name}.parquet", data, sync=True)
            sizes[name] = len(data)
        runs = [entry.fields["run"] for entry in entries]
        manifest = json.dumps({"format": FORMAT, "tables": sizes, "runs": runs})
        write_file(folder / "manifest.json", manifest.encode(), sync=True)
        sync_path(folder.parent)

    def _segments(self) -> Iterator[tuple[Path, list[str]]]:
        """Every complete segment with its runs."""
        for manifest in sorted((self.path / "segments").glob("*/manifest.json")):
            try:
                found = json.loads(manifest.read_bytes())
                sizes, runs = found["tables"], list(found["runs"])
                whole = all(
                    (manifest.parent / f"{name}.parquet").stat().st_size == size
                    for name, size in sizes.items()
                )
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                continue  # its runs count as not done, and are done again
            if whole:
                yield manifest.parent, runs

    def _journalled(self) -> list[Entry]:
        entries = []
        for path in sorted((self.path / "journal").glob("*.log")):
            entries += read(path)
        return entries

    # Experiments and results

    def record(
        self,
        info: ExperimentInfo,
        engine: str,
        overrides: Mapping[str, Sequence[str]],
        runs: Iterable[Planned],
    ) -> str:
        """Notes an experiment and its runs, done or not; returns its id."""
        key = record_id(info, overrides, engine)
        fields = {
            "format": FORMAT,
            "name": info.name,
            "yaml": info.yaml,
            "factors": info.factors,
            "repeats": info.repeats,
            "seed": info.seed,
            "engine": engine,
            "overrides": {name: list(levels) for name, levels in overrides.items()},
            "updated_ns": time.time_ns(),
            "runs": [[one.run, dict(one.levels), one.repeat, one.seed] for one in runs],
        }
        with self._clear("written"):
            path = self.path / "experiments" / f"{key}.json"
            write_file(path, json.dumps(fields, ensure_ascii=False).encode(), sync=True)
        return key

    def experiments(self) -> list[Record]:
        """All experiments, the one run last at the end."""
        records = []
        with self._clear("read"):
            for path in (self.path / "experiments").glob("*.json"):
                try:
                    fields = json.loads(path.read_bytes())
                    records.append(read_record(path.stem, fields))
                except (ValueError, KeyError, TypeError):
                    raise StoreError(f"{path}: damaged; delete it and run again") from None
        return sorted(records, key=lambda record: record.updated_ns)

    def results(self, experiment: str | Record | None = None) -> Results:
        """The results of an experiment, as far as its runs are done.

        Args:
            experiment: Its name, its id or its record; None: the one run last.

        Raises:
            StoreError: There is no such experiment, or the store cannot be read.
        """
        record = experiment if isinstance(experiment, Record) else self._chosen(experiment)
        wanted = {one.run for one in record.runs}
        with self._clear("read"):
            found = self._small(wanted)
            for name in LARGE:
                found[name] = self._large(name, sorted(wanted & self._known))
        runs = index(record)
        tables = {name: placed(runs, frame) for name, frame in found.items()}
        return Results(experiment=record.info, **tables)

    def _chosen(self, experiment: str | None) -> Record:
        records = self.experiments()
        fitting = [r for r in records if experiment is None or experiment in (r.info.name, r.id)]
        if fitting:
            return fitting[-1]
        if not records:
            raise StoreError(f"{self.path}: no experiment was run here")
        names = [record.info.name for record in records]
        near = nearest_name(experiment or "", names)
        hint = f"; did you mean {near}?" if near is not None else ""
        raise StoreError(
            f"{self.path}: no experiment {experiment!r}{hint}; there are {', '.join(names)}"
        )

    def _small(self, wanted: set[str]) -> dict[str, pl.DataFrame]:
        parts: dict[str, list[pl.DataFrame]] = {name: [] for name in (*SMALL, "runs")}
        missing = set(wanted)
        entries = [e for e in self._journalled() if e.fields["run"] in missing]
        for folder, runs in self._segments():
            here = missing & set(runs)
            if here:
                missing -= here
                for name, frames in parts.items():
                    data = (folder / f"{name}.parquet").read_bytes()
                    frame = pl.read_parquet(io.BytesIO(data))
                    frames.append(as_now(name, frame.filter(pl.col("run").is_in(list(here)))))
        rest = {e.fields["run"]: e for e in entries if e.fields["run"] in missing}
        for name, frame in frames_of(list(rest.values())).items():
            parts[name].append(frame)
        return {name: pl.concat(frames) for name, frames in parts.items()}

    def _large(self, name: str, runs: Sequence[str]) -> pl.DataFrame:
        found = {run: self.path / "runs" / f"{run}.{name}.parquet" for run in runs}
        found = {run: path for run, path in found.items() if path.exists()}
        if not found:
            return empty(name)
        frame = pl.read_parquet(list(found.values()), include_file_paths="path", glob=False)
        runs_of = {str(path): run for run, path in found.items()}
        run_of = pl.col("path").replace_strict(runs_of, return_dtype=pl.String())
        return as_now(name, frame.select(run_of.alias("run"), pl.exclude("path")))
