"""Conversion of result tables to and from Parquet."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import polars as pl

from dumbbell import _core
from dumbbell.store.journal import Entry

SMALL = ("flows", "pipes", "transfers", "connections")
"""Tables that segments contain for many runs."""
LARGE = ("samples", "queues", "drops", "packets", "probes", "hops")
"""Tables in a separate file per run."""

_KINDS: dict[str, pl.DataType] = {"int": pl.Int64(), "float": pl.Float64(), "text": pl.String()}
_RUN_SCHEMA: dict[str, pl.DataType] = {
    "run": pl.String(),
    "engine": pl.String(),
    "engine_version": pl.String(),
    "digest": pl.String(),
    "wall_s": pl.Float64(),
    "packets": pl.Int64(),
    "events": pl.Int64(),
    "scenario": pl.String(),
}


@cache
def table_schemas() -> dict[str, dict[str, pl.DataType]]:
    """Schema of every result table, as the engines fill it."""
    return {
        table["name"]: {column["name"]: _KINDS[column["kind"]] for column in table["columns"]}
        for table in json.loads(_core.tables())
    }


def empty(name: str) -> pl.DataFrame:
    """Table without rows."""
    if name == "runs":
        return pl.DataFrame(schema=_RUN_SCHEMA)
    return pl.DataFrame(schema={"run": pl.String(), **table_schemas()[name]})


def as_now(name: str, frame: pl.DataFrame, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Table with the current columns, or `run` and some of them.

    Columns that an older version did not have are filled with unknown values.
    """
    unknown: dict[Any, int | float | str] = {
        pl.Int64(): -1,
        pl.Float64(): math.nan,
        pl.String(): "",
    }
    schema = empty(name).schema
    if columns is not None:
        wanted = ("run", *columns)
        schema = pl.Schema({one: kind for one, kind in schema.items() if one in wanted})
    new = [
        pl.lit(unknown[kind], kind).alias(column)
        for column, kind in schema.items()
        if column not in frame.columns
    ]
    return frame.with_columns(new).select(schema.names())


def frames_of(entries: Sequence[Entry]) -> dict[str, pl.DataFrame]:
    """Small tables of some runs, each run once."""
    once = {entry.fields["run"]: entry for entry in entries}
    frames = {}
    for name in SMALL:
        parts = [empty(name)]
        for run, entry in once.items():
            if name in entry.tables:
                frame = pl.read_ipc_stream(entry.tables[name])
                parts.append(as_now(name, frame.with_columns(pl.lit(run).alias("run"))))
        frames[name] = pl.concat(parts)
    rows = [{name: entry.fields[name] for name in _RUN_SCHEMA} for entry in once.values()]
    frames["runs"] = pl.DataFrame(rows, schema=_RUN_SCHEMA) if rows else empty("runs")
    return frames


def parquet(frame: pl.DataFrame) -> bytes:
    """Contents of a Parquet file for a frame."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
