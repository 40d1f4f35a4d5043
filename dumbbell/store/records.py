"""Experiments as a store keeps them, and the place of each run in the design."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dumbbell.results import ExperimentInfo
from dumbbell.store.segments import seal

_FORMAT = 1
_LEGACY = {
    "format", "name", "yaml", "factors", "repeats", "seed", "engine", "overrides", "updated_ns",
    "runs",
}  # fmt: skip
_SEALED = _LEGACY | {"file", "order", "check"}


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
        updated_ns: When it was last run, in nanoseconds since 1970, as the clock said.
        runs: Its runs, finished or not.
        order: Counts up with each experiment run in the store: the largest was run last.
        file: The experiment file, as the user named it; empty if not known.
    """

    id: str
    info: ExperimentInfo
    engine: str
    overrides: Mapping[str, Sequence[str]]
    updated_ns: int
    runs: tuple[Planned, ...]
    order: int = 0
    file: str = ""

    def fields(self) -> dict[str, Any]:
        """All that it is, without when it was run and from where."""
        return {
            "format": _FORMAT,
            "name": self.info.name,
            "yaml": self.info.yaml,
            "factors": self.info.factors,
            "repeats": self.info.repeats,
            "seed": self.info.seed,
            "engine": self.engine,
            "overrides": {name: list(levels) for name, levels in self.overrides.items()},
            "runs": [[one.run, dict(one.levels), one.repeat, one.seed] for one in self.runs],
        }

    def encoded(self) -> bytes:
        """The file of a store that holds it, sealed."""
        when = {"file": self.file, "updated_ns": self.updated_ns, "order": self.order}
        fields = {**self.fields(), **when}
        return _text({**fields, "check": seal(fields)})


def record_id(info: ExperimentInfo, overrides: Mapping[str, Sequence[str]], engine: str) -> str:
    """The address of an experiment."""
    text = json.dumps([info.name, info.yaml, dict(overrides), engine], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_record(key: str, data: bytes) -> Record:
    """The record that a file of a store holds.

    Raises `ValueError`, `KeyError` or `TypeError` if it is not as it was written.
    """
    fields: dict[str, Any] = json.loads(data)
    if set(fields) != _LEGACY:
        sealed = set(fields) == _SEALED and fields["check"] == seal(fields)
        if not sealed or _text(fields) != data:
            raise ValueError("its checksum is not the one recorded")
    info = ExperimentInfo(
        name=fields["name"],
        yaml=fields["yaml"],
        factors=fields["factors"],
        repeats=fields["repeats"],
        seed=fields["seed"],
    )
    runs = tuple(Planned(*one) for one in fields["runs"])
    if any(set(one.levels) != set(info.factors) for one in runs):
        raise ValueError("a run of it has other factors than the experiment")
    if record_id(info, fields["overrides"], fields["engine"]) != key:
        raise ValueError("it holds another experiment than its name says")
    return Record(
        id=key,
        info=info,
        engine=fields["engine"],
        overrides=fields["overrides"],
        updated_ns=fields["updated_ns"],
        runs=runs,
        order=fields.get("order", 0),
        file=fields.get("file", ""),
    )


def _text(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode()


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
