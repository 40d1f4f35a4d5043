"""Tables over time: separate files for each run, read on demand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from dumbbell.rows import Where, where_rows
from dumbbell.store.index import Kept
from dumbbell.store.records import placed
from dumbbell.store.segments import readable
from dumbbell.store.tables import LARGE, as_now, empty

#: Bytes of files from which on a part of a table is given out: some 100 000 rows.
_BATCH_BYTES = 1000000
#: Column with the path of a file, while several are read.
_FILE = "\0file"


class StoredTables:
    """Large tables of some runs of a store.

    Args:
        store: Folder of the store.
        kept: Undamaged copies of the runs.
        design: Place of each run in its experiment.
    """

    def __init__(self, store: Path, kept: Mapping[str, Kept], design: pl.DataFrame) -> None:
        self.place = str(store)
        self._design = design
        folder = store / "runs"
        self._files: dict[str, dict[str, Path]] = {name: {} for name in LARGE}
        for run in design["run"].unique(maintain_order=True):
            if run not in kept:
                continue
            noted = kept[run].files
            for name in LARGE:
                file = f"{run}.{name}.parquet"
                # Older versions did not record the files of a run.
                if file in noted if noted is not None else (folder / file).exists():
                    self._files[name][run] = folder / file

    def has(self, name: str) -> bool:
        """Returns true if the table has rows. Empty tables have no files."""
        return bool(self._files[name])

    def load(self, name: str) -> pl.DataFrame:
        """Table with the rows of all runs."""
        frames = [self._read(name, runs, None) for runs in self._batches(name)]
        return placed(self._design, pl.concat(frames) if frames else empty(name))

    def parts(self, name: str, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
        """Columns of a table, some runs at a time."""
        for runs in self._batches(name):
            yield self._part(self._read(name, runs, columns), columns)

    def _batches(self, name: str) -> Iterator[list[str]]:
        """Runs whose files are read together: reading one costs more than its rows."""
        batch: list[str] = []
        size = 0
        for run, path in self._files[name].items():
            batch.append(run)
            with contextlib.suppress(OSError):  # reading names a missing file
                size += path.stat().st_size
            if size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _part(self, frame: pl.DataFrame, columns: Sequence[str] | None) -> pl.DataFrame:
        """Rows of some runs; the place in the design is added only where it is asked for."""
        wanted = None if columns is None else list(dict.fromkeys(["run", *columns]))
        if wanted is None or not set(wanted) <= set(frame.columns):
            frame = placed(self._design, frame)
        return frame if wanted is None else frame.select(wanted)

    def of_repeat(self, name: str, where: Where, repeat: int | None) -> pl.DataFrame:
        """Rows with these levels of one repeat. Default: the first repeat with such rows.

        Reads no file of later repeats.
        """
        none = placed(self._design, empty(name))
        where_rows(none, where)  # raises an error for unknown columns
        placing = {column: level for column, level in where.items() if column in self._design}
        kept = self._design.filter(pl.col("run").is_in(list(self._files[name])))
        runs = where_rows(kept, placing).sort("repeat", maintain_order=True)
        for shown in runs["repeat"].unique(maintain_order=True) if repeat is None else [repeat]:
            design = runs.filter(pl.col("repeat") == shown)
            chosen = design["run"].unique(maintain_order=True).to_list()
            if chosen:
                found = where_rows(placed(design, self._read(name, chosen, None)), where)
                if not found.is_empty():
                    return found
        return none

    def of_runs(self, name: str, runs: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        """See :meth:`Results.of_runs`."""
        kept = [run for run in runs if run in self._files[name]]
        if not kept:
            return empty(name).select("run", *columns)
        return self._read(name, kept, columns).select("run", *columns)

    def _read(self, name: str, runs: Sequence[str], columns: Sequence[str] | None) -> pl.DataFrame:
        """Rows of some runs, in the order of the runs."""
        paths = [self._files[name][run] for run in runs]
        wanted = empty(name).columns[1:]
        if columns is not None:
            wanted = [one for one in wanted if one in columns]
        try:
            read = pl.scan_parquet(paths, glob=False, include_file_paths=_FILE)
            frame = read.select(*wanted, _FILE).collect()
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            # Older versions had other columns; a message names the one file that is damaged.
            frames = [self._read_one(name, run, columns) for run in runs]
            return pl.concat(frames)
        before, after = len(f"{paths[0].parent}/"), len(f".{name}.parquet")
        run = pl.col(_FILE).str.slice(before).str.head(-after).alias("run")
        return frame.select(run, *wanted)

    def _read_one(self, name: str, run: str, columns: Sequence[str] | None) -> pl.DataFrame:
        path = self._files[name][run]
        with readable(path):
            own = None
            if columns is not None:
                own = [one for one in pl.read_parquet_schema(path) if one in columns]
            frame = pl.read_parquet(path, columns=own, glob=False)
        return as_now(name, frame.with_columns(pl.lit(run).alias("run")), columns)
