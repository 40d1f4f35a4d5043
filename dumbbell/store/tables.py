"""Conversion of result tables to and from Parquet."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from dumbbell import _core
from dumbbell.runs import Run, RunResult
from dumbbell.store.journal import Entry

SMALL = ("flows", "pipes", "transfers", "connections")
"""Tables that segments contain for many runs."""
LARGE = (
    "samples", "queues", "drops", "packets", "probes", "hops", "programs", "program_files",
    "sockets",
)  # fmt: skip
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


def run_fields(run: Run, engine: str, version: str, result: RunResult) -> dict[str, Any]:
    """Row of the table `runs`."""
    return {
        "run": run.id,
        "engine": engine,
        "engine_version": version,
        "digest": result.digest,
        "wall_s": result.wall_s,
        "packets": result.packets,
        "events": result.events,
        "scenario": run.scenario,
    }


@cache
def table_schemas() -> dict[str, dict[str, pl.DataType]]:
    """Schema of every result table, as the engines fill it."""
    return {
        table["name"]: {column["name"]: _KINDS[column["kind"]] for column in table["columns"]}
        for table in json.loads(_core.tables())
    }


@cache
def _schema(name: str) -> pl.Schema:
    """Columns of a table of a store: `run`, then those that the engines fill."""
    return pl.Schema(
        _RUN_SCHEMA if name == "runs" else {"run": pl.String(), **table_schemas()[name]}
    )


@cache
def _empty(name: str) -> pl.DataFrame:
    return pl.DataFrame(schema=_schema(name))


def empty(name: str) -> pl.DataFrame:
    """Table without rows."""
    return _empty(name).clone()  # the columns of a frame can be changed in place


def as_now(name: str, frame: pl.DataFrame, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Table with the current columns, or `run` and some of them.

    Columns that an older version did not have are filled with unknown values.
    """
    unknown: dict[Any, int | float | str] = {
        pl.Int64(): -1,
        pl.Float64(): math.nan,
        pl.String(): "",
    }
    schema = _schema(name)
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
        streams = {run: one.tables[name] for run, one in once.items() if name in one.tables}
        frames[name] = frame_of(name, streams)
    frames["runs"] = frame_of_runs([entry.fields for entry in once.values()])
    return frames


def frame_of(name: str, streams: Mapping[str, bytes]) -> pl.DataFrame:
    """Table of some runs, from the Arrow IPC stream of each, by id of the run."""
    parts = []
    for run, stream in streams.items():
        frame = with_constants(pl.read_ipc_stream(stream), {"run": run})
        parts.append(frame if frame.columns == _schema(name).names() else as_now(name, frame))
    return pl.concat(parts) if parts else empty(name)


def with_constants(
    frame: pl.DataFrame, values: Mapping[str, str | int], at: int = 0
) -> pl.DataFrame:
    """The frame with further columns from position `at`, each with one value in every row."""
    for place, (name, value) in enumerate(values.items(), start=at):
        kind = pl.String() if isinstance(value, str) else pl.Int64()
        column = pl.Series(name, [value], dtype=kind).new_from_index(0, frame.height)
        frame.insert_column(place, column)
    return frame


def frame_of_runs(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Table `runs` from the fields of each run."""
    columns = {name: [row[name] for row in rows] for name in _RUN_SCHEMA}
    return pl.DataFrame(columns, schema=_RUN_SCHEMA)


def parquet(frame: pl.DataFrame) -> bytes:
    """Contents of a Parquet file for a frame."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
