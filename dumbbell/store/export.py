"""Tables of an experiment as files that other programs read: Parquet or CSV, factors as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import StoreError, did_you_mean, nearest_name
from dumbbell.files.output import replacing
from dumbbell.store.store import Store
from dumbbell.store.tables import LARGE, SMALL

TABLES = ("runs", *SMALL, *LARGE)


def export(
    store: Path,
    folder: Path,
    *,
    experiment: str | None = None,
    tables: Sequence[str] | None = None,
    form: str = "parquet",
) -> Iterator[tuple[Path, int]]:
    """Writes a file per table that has rows. Each begins with run, factors, repeat and seed.

    A table over time is read and written some runs at a time.

    Args:
        store: Folder of the store.
        folder: Folder of the files, created if it is missing.
        experiment: Name or id of the experiment; None: the one run last.
        tables: Names of tables; None: all.
        form: `parquet` or `csv`.

    Yields:
        Path and number of rows of each file.

    Raises:
        StoreError: A table or the form is unknown, the store cannot be read or is damaged.
        OutputError: A file cannot be written.
    """
    _check("table", tables or (), TABLES)
    _check("format", [form], tuple(_WRITERS))
    with Store(store, write=False) as opened:
        results = opened.results(experiment)
    for name in tables or TABLES:
        if results.has(name) if name in LARGE else not getattr(results, name).is_empty():
            path = folder / f"{name}.{form}"
            with replacing(path) as place:
                rows = _WRITERS[form](place, results.parts(name))
            yield path, rows


def _write_parquet(path: Path, parts: Iterable[pl.DataFrame]) -> int:
    """Writes parts of a table, and returns the number of rows."""
    from pyarrow.parquet import ParquetWriter  # type: ignore[import-untyped]

    rows, writer = 0, None
    for part in parts:
        table = part.to_arrow()
        if writer is None:
            writer = ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
        rows += part.height
    if writer is not None:
        writer.close()
    return rows


def _write_csv(path: Path, parts: Iterable[pl.DataFrame]) -> int:
    rows = 0
    with path.open("wb") as file:
        for part in parts:
            part.write_csv(file, include_header=not rows)
            rows += part.height
    return rows


_WRITERS = {"parquet": _write_parquet, "csv": _write_csv}


def _check(what: str, chosen: Sequence[str], known: Sequence[str]) -> None:
    for name in chosen:
        if name not in known:
            near = nearest_name(name, known)
            hint = did_you_mean(near)
            raise StoreError(
                f"no {what} {name!r}{hint}; there are {', '.join(known)}", code=Code.SELECTION
            )
