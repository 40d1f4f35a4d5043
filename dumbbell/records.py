"""Experiments as a store keeps them, and the place of each run in the design."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dumbbell.results import ExperimentInfo


@dataclass(frozen=True, slots=True)
class Planned:
    """A run of an experiment: its place in the design, and its address."""

    run: str
    levels: Mapping[str, str]
    repeat: int
    seed: int


@dataclass(frozen=True, slots=True)
class Record:
    """An experiment kept in a store.

    Attributes:
        id: Hash of name, text, overrides and engine.
        info: What was run.
        engine: On which engine.
        overrides: What replaced levels and fields of the file.
        updated_ns: When it was last run, in nanoseconds since 1970.
        runs: Its runs, finished or not.
    """

    id: str
    info: ExperimentInfo
    engine: str
    overrides: Mapping[str, Sequence[str]]
    updated_ns: int
    runs: tuple[Planned, ...]


def record_id(info: ExperimentInfo, overrides: Mapping[str, Sequence[str]], engine: str) -> str:
    """The address of an experiment."""
    text = json.dumps([info.name, info.yaml, dict(overrides), engine], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_record(key: str, fields: Mapping[str, Any]) -> Record:
    """The record whose JSON a store holds."""
    info = ExperimentInfo(
        name=fields["name"],
        yaml=fields["yaml"],
        factors=fields["factors"],
        repeats=fields["repeats"],
        seed=fields["seed"],
    )
    runs = tuple(Planned(*one) for one in fields["runs"])
    return Record(key, info, fields["engine"], fields["overrides"], fields["updated_ns"], runs)


def index(record: Record) -> pl.DataFrame:
    """One row per run of an experiment, in the order of its design."""
    columns: dict[str, list[Any]] = {"run": [one.run for one in record.runs]}
    schema: dict[str, pl.DataType] = {"run": pl.String()}
    for name in record.info.factors:
        columns[name] = [one.levels[name] for one in record.runs]
        schema[name] = pl.String()
    columns["repeat"] = [one.repeat for one in record.runs]
    columns["seed"] = [one.seed for one in record.runs]
    return pl.DataFrame(columns, schema={**schema, "repeat": pl.Int64(), "seed": pl.Int64()})


def placed(runs: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """A table with the columns of the index before its own, in the order of the design."""
    return runs.join(frame, on="run", how="inner", maintain_order="left_right")
