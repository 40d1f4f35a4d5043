"""Records of experiments in a store, with the place of each run in the design."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

from dumbbell.runs import ExperimentInfo
from dumbbell.store.made import Made
from dumbbell.store.made import Planned as Planned
from dumbbell.store.quantities import factor_of, numeric_columns
from dumbbell.store.segments import seal

#: Letters of an id that are enough to name an experiment.
SHORT_ID = 8
_FORMAT = 1
#: Format of the record of a sweep of many cells: the runs that were made so far; see `Made`.
_FORMAT_MADE = 2
_LEGACY = {
    "format", "name", "yaml", "factors", "repeats", "seed", "engine", "overrides", "updated_ns",
    "runs",
}  # fmt: skip
_SEALED = _LEGACY | {"file", "order", "check"}
_MADE = _SEALED - {"runs"} | {"groups", "ids", "planner"}


@dataclass(frozen=True, slots=True)
class Record:
    """Experiment in a store.

    Attributes:
        id: Hash of name, text, overrides and engine.
        info: The experiment.
        engine: Name of the engine.
        overrides: Levels and values that replaced those of the file.
        updated_ns: Time of the last run, in ns since 1970, by the clock of the host.
        runs: Runs of the experiment, finished or not.
        order: Counter of experiments run in the store. The largest was run last.
        file: Path of the experiment file, as the user named it; empty: unknown.
    """

    id: str
    info: ExperimentInfo
    engine: str
    overrides: Mapping[str, Sequence[str]]
    updated_ns: int
    runs: Sequence[Planned]
    order: int = 0
    file: str = ""

    def fields(self) -> dict[str, Any]:
        """Fields of the record, without the time of the last run and the path of the file."""
        return {
            "format": _FORMAT_MADE if isinstance(self.runs, Made) else _FORMAT,
            "name": self.info.name,
            "yaml": self.info.yaml,
            "factors": self.info.factors,
            "repeats": self.info.repeats,
            "seed": self.info.seed,
            "engine": self.engine,
            "overrides": {name: list(levels) for name, levels in self.overrides.items()},
            **self._runs_fields(),
        }

    def _runs_fields(self) -> dict[str, Any]:
        if isinstance(self.runs, Made):
            return self.runs.fields()
        return {"runs": [[one.run, dict(one.levels), one.repeat, one.seed] for one in self.runs]}

    def encoded(self) -> bytes:
        """Contents of its file, with a checksum."""
        when = {"file": self.file, "updated_ns": self.updated_ns, "order": self.order}
        fields = {**self.fields(), **when}
        return _text({**fields, "check": seal(fields)})


def record_id(info: ExperimentInfo, overrides: Mapping[str, Sequence[str]], engine: str) -> str:
    """Id of an experiment."""
    text = json.dumps([info.name, info.yaml, dict(overrides), engine], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_fields(key: str, data: bytes) -> dict[str, Any]:
    """Fields in the file of an experiment, checked.

    Raises `ValueError`, `KeyError` or `TypeError` if the file is damaged.
    """
    fields: dict[str, Any] = orjson.loads(data)
    if set(fields) != _LEGACY:
        sealed = set(fields) in (_SEALED, _MADE) and fields["check"] == seal(fields)
        if not sealed or _text(fields) != data:
            raise ValueError("its checksum is not the one recorded")
    if "runs" not in fields:
        fields["runs"] = Made.read(fields)
    info = info_of(fields)
    factors, runs = set(info.factors), fields["runs"]
    listed = not isinstance(runs, Made)
    if listed and any(len(one) != 4 or set(one[1]) != factors for one in runs):
        raise ValueError("a run of it has other factors than the experiment")
    if record_id(info, fields["overrides"], fields["engine"]) != key:
        raise ValueError("it holds another experiment than its name says")
    return fields


def info_of(fields: Mapping[str, Any]) -> ExperimentInfo:
    """Experiment of the fields of a record."""
    return ExperimentInfo(
        name=fields["name"],
        yaml=fields["yaml"],
        factors=fields["factors"],
        repeats=fields["repeats"],
        seed=fields["seed"],
    )


def read_record(key: str, data: bytes) -> Record:
    """Record in a file of a store.

    Raises `ValueError`, `KeyError` or `TypeError` if the file is damaged.
    """
    return record_of(key, read_fields(key, data))


def record_of(key: str, fields: Mapping[str, Any]) -> Record:
    """Record of checked fields."""
    runs = fields["runs"]
    return Record(
        id=key,
        info=info_of(fields),
        engine=fields["engine"],
        overrides=fields["overrides"],
        updated_ns=fields["updated_ns"],
        runs=runs if isinstance(runs, Made) else tuple(Planned(*one) for one in runs),
        order=fields.get("order", 0),
        file=fields.get("file", ""),
    )


def with_runs_of(
    before: Record | None, info: ExperimentInfo, runs: Iterable[Planned]
) -> Sequence[Planned]:
    """Runs to record: of a large sweep also those that another shard has recorded since."""
    if not isinstance(runs, Made):
        return tuple(runs)
    if before is None or before.info != info or not isinstance(before.runs, Made):
        return runs
    return joined(before.runs, runs) or runs


def joined(one: Sequence[Any], other: Sequence[Any]) -> Made | None:
    """Runs of two records of a large sweep; None: they are of two programs or of other sweeps."""
    if isinstance(one, Made) and isinstance(other, Made) and one.planner == other.planner:
        return one.joined(other)
    return None


def _text(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode()


def index(record: Record) -> pl.DataFrame:
    """One row per run of a recorded experiment, in design order."""
    return design_of(record.info, record.runs)


def design_of(info: ExperimentInfo, runs: Sequence[Planned]) -> pl.DataFrame:
    """One row per run of an experiment, in design order: see :func:`design_of_rows`."""
    return design_of_rows(info, [(one.run, one.levels, one.repeat, one.seed) for one in runs])


def design_of_rows(info: ExperimentInfo, rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """Design of the runs of a record: id, levels, repeat, seed, levels as numbers."""
    columns: dict[str, list[Any]] = {"run": [one[0] for one in rows]}
    schema: dict[str, pl.DataType] = {"run": pl.String()}
    for name in info.factors:
        columns[name] = [one[1][name] for one in rows]
        schema[name] = pl.String()
    columns["repeat"] = [one[2] for one in rows]
    columns["seed"] = [one[3] for one in rows]
    schema |= {"repeat": pl.Int64(), "seed": pl.Int64()}
    for name, numbers in numeric_columns(info.factors).items():
        factor = factor_of(name)
        columns[name] = [numbers.get(one[1][factor], math.nan) for one in rows]
        schema[name] = pl.Float64()
    return pl.DataFrame(columns, schema=schema)


def placed(runs: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Table with the columns of the index before its own, in design order."""
    return runs.join(frame, on="run", how="inner", maintain_order="left_right")


def named(text: str, key: str, fields: Mapping[str, Any]) -> bool:
    """Returns true if a text is the name of an experiment, its id or the first letters of it."""
    return text in (fields["name"], key, key[:SHORT_ID])
