"""Tables of a study: the published columns with ours beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.levels import number_of
from dumbbell.metrics import Tables
from dumbbell.studies.definition import Study, Table
from dumbbell.studies.quantities import Source, evaluate
from dumbbell.studies.verdicts import finite

Row = dict[str, Any]


def build_table(study: Study, name: str, results: Tables, cells: Mapping[str, Source]) -> list[Row]:
    """The rows of a table: key columns, then each column with `_measured`, `_low`, `_high`.

    `_runs_low`, `_runs_high` are the central 95 % of what single repeats show, where there are
    enough of them.

    Columns are named and ordered as in the published file; where nothing is published the plain
    column is left out. Cells that were not run have null. A key whose name carries a unit
    (`delay_ms`) holds a number.
    """
    table = study.tables[name]
    if table.published is None:
        rows = [_own_row(table, where, cells) for where in _combinations(table, results)]
        return [row for row in rows if row is not None]
    return [_published_row(table, row, cells) for row in study.published(name)]


def _combinations(table: Table, results: Tables) -> list[dict[str, str]]:
    """The levels that occur together in the results, in the experiment's order."""
    factors = list(table.rows.values())
    found = results.flows.select(factors).unique(maintain_order=True)
    order = {
        factor: {level: place for place, level in enumerate(results.experiment.factors[factor])}
        for factor in factors
    }
    rows: list[dict[str, str]] = found.to_dicts()
    return sorted(rows, key=lambda row: [order[factor].get(row[factor], 0) for factor in factors])


def _own_row(table: Table, where: Mapping[str, str], cells: Mapping[str, Source]) -> Row | None:
    row: Row = {column: _key(column, where[factor]) for column, factor in table.rows.items()}
    for name in table.columns:
        row |= _measured(table, name, where, cells)
    return row


def _published_row(table: Table, published: Mapping[str, str], cells: Mapping[str, Source]) -> Row:
    where = {factor: published[column] for column, factor in table.rows.items()}
    row: Row = {}
    for column, text in published.items():
        row[column] = _key(column, text) if column in table.rows else _number(text)
        if column in table.columns:
            row |= _measured(table, column, where, cells)
    for column in table.columns:
        if column not in published:
            row |= _measured(table, column, where, cells)
    return row


def _measured(
    table: Table, name: str, where: Mapping[str, str], cells: Mapping[str, Source]
) -> Row:
    drawn = evaluate(table.columns[name], where, table.part, cells)
    found = drawn.interval if drawn is not None else None
    row: Row = {
        f"{name}_measured": finite(found.mean) if found else None,
        f"{name}_low": finite(found.low) if found else None,
        f"{name}_high": finite(found.high) if found else None,
    }
    runs = drawn.single_runs() if drawn is not None else None
    if runs is not None:
        row |= {f"{name}_runs_low": finite(runs[0]), f"{name}_runs_high": finite(runs[1])}
    return row


def outside_single_runs(row: Row, column: str) -> bool:
    """Returns true if the published number lies outside the central 95 % of our single runs."""
    low, high = row.get(f"{column}_runs_low"), row.get(f"{column}_runs_high")
    value = row.get(column)
    if low is None or high is None or not isinstance(value, float):
        return False
    return not low <= value <= high


def _key(column: str, level: str) -> str | float:
    """A level as it stands, or its number where the column's name carries the unit."""
    parsed = number_of(level)
    if parsed is None or "_" not in column:
        return level
    number, unit = parsed
    suffix = column.rsplit("_", 1)[1]
    names = {"%": "percent", "Mbit/s": "mbps"}
    return number if suffix == names.get(unit, unit) else level


def _number(text: str) -> float | str | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        return text
