"""Tables over time: separate files for each run, read on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from dumbbell.results import Where, where_rows
from dumbbell.store.index import Kept
from dumbbell.store.records import placed
from dumbbell.store.segments import readable
from dumbbell.store.tables import LARGE, as_now, empty

#: Rows from which on a part of a table is given out.
_PART_ROWS = 100_000


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
        self._files: dict[str, dict[str, Path]] = {name: {} for name in LARGE}
        for run in design["run"].unique(maintain_order=True):
            if run not in kept:
                continue
            noted = kept[run].files
            for name in LARGE:
                path = store / "runs" / f"{run}.{name}.parquet"
                # Older versions did not record the files of a run.
                if path.name in noted if noted is not None else path.exists():
                    self._files[name][run] = path

    def has(self, name: str) -> bool:
        """Returns true if the table has rows. Empty tables have no files."""
        return bool(self._files[name])

    def load(self, name: str) -> pl.DataFrame:
        """Table with the rows of all runs."""
        frames = [self._read(name, run, None) for run in self._files[name]]
        return placed(self._design, pl.concat(frames) if frames else empty(name))

    def parts(self, name: str, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
        """Columns of a table, some runs at a time."""
        frames: list[pl.DataFrame] = []
        rows = 0
        for run in self._files[name]:
            frames.append(self._read(name, run, columns))
            rows += frames[-1].height
            if rows >= _PART_ROWS:
                yield self._part(frames, columns)
                frames, rows = [], 0
        if frames:
            yield self._part(frames, columns)

    def _part(self, frames: list[pl.DataFrame], columns: Sequence[str] | None) -> pl.DataFrame:
        """Rows of some runs; the place in the design is added only where it is asked for."""
        frame = pl.concat(frames)
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
            frames = [
                self._read(name, run, None) for run in design["run"].unique(maintain_order=True)
            ]
            if frames:
                found = where_rows(placed(design, pl.concat(frames)), where)
                if not found.is_empty():
                    return found
        return none

    def _read(self, name: str, run: str, columns: Sequence[str] | None) -> pl.DataFrame:
        path = self._files[name][run]
        with readable(path):
            own = None
            if columns is not None:
                own = [one for one in pl.read_parquet_schema(path) if one in columns]
            frame = pl.read_parquet(path, columns=own, glob=False)
        return as_now(name, frame.with_columns(pl.lit(run).alias("run")), columns)
