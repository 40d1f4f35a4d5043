"""Rows of a file as the result tables of a run, as an engine gives them."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping

import polars as pl

from dumbbell.measured.values import TABLES, Format, Measured, Row
from dumbbell.runs import ID_LENGTH, MEASURED, Run, RunResult
from dumbbell.store.tables import table_schemas

#: Seed of a run that has none.
NO_SEED = -1


def run_of(one: Format, data: bytes, name: str, found: Measured, names: Mapping[str, str]) -> Run:
    """Run of a file. Its id is a hash of content, format, version of the reader, and new names.

    The scenario has no network. Its field `measured` says where the run is from.
    """
    content = hashlib.sha256(data).hexdigest()
    key = json.dumps([MEASURED, one.name, one.version, content, sorted(names.items())])
    probes, samples = bool(found.probes), bool(found.samples)
    scenario = {
        "version": 1,
        "name": name,
        "duration_ns": found.duration_ns,
        **{part: [] for part in ("nodes", "links", "routes", "flows", "taps")},
        "sampling": {
            "interval_ns": 0,
            "samples": samples,
            "queues": False,
            "drops": False,
            "probes": probes,
        },
        MEASURED: {
            "file": name,
            "format": one.name,
            "reader": one.version,
            "sha256": content,
            "about": found.about,
            "notes": found.notes,
        },
    }
    text = json.dumps(scenario, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    run = hashlib.sha256(key.encode()).hexdigest()[:ID_LENGTH]
    return Run(run, text, NO_SEED, found.duration_ns)


def result_of(found: Measured) -> RunResult:
    """Tables of a file. What it does not have is unknown: real time, packets sent by hosts."""
    tables = {name: _stream(name, rows) for name in TABLES if (rows := getattr(found, name))}
    digest = hashlib.sha256()
    for name, data in tables.items():
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    return RunResult(tables, digest.hexdigest(), wall_s=math.nan, packets=-1, events=0)


def _stream(name: str, rows: list[Row]) -> bytes:
    frame = frame_of(name, rows)
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer)
    return buffer.getvalue()


def frame_of(name: str, rows: list[Row]) -> pl.DataFrame:
    """Table with all its columns; a column that a row lacks is unknown there."""
    unknown: Mapping[pl.DataType, int | float | str] = {
        pl.Int64(): -1,
        pl.Float64(): math.nan,
        pl.String(): "",
    }
    schema = table_schemas()[name]
    filled = {key for row in rows for key in row}
    columns = {}
    for column, kind in schema.items():
        none = unknown[kind]
        if column in filled:
            columns[column] = pl.Series(column, [row.get(column, none) for row in rows], kind)
        else:
            columns[column] = pl.Series(column, [none], kind).new_from_index(0, len(rows))
    return pl.DataFrame(columns)
