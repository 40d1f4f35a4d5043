"""Verb `query`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import guarded
from dumbbell.cli.options import ExperimentName, StoreArgument
from dumbbell.codes import Code
from dumbbell.console import print_text, say
from dumbbell.errors import DumbbellError

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

#: Rows and characters of a column that are shown.
_ROWS, _WIDTH = 40, 40


def query(
    store: StoreArgument,
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="Statement that reads: select … from flows")
    ],
    experiment: ExperimentName = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all rows as CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all rows as JSON.")] = False,
) -> None:
    """Ask the tables of a stored experiment in SQL. Each has a column per factor."""
    with guarded():
        from dumbbell.files.output import json_text
        from dumbbell.store.query import query

        if as_csv and as_json:
            raise DumbbellError("--csv and --json: choose one", code=Code.EXCLUSIVE)
        found = query(store, sql, experiment)
        if as_csv:
            print_text(_flat(found).write_csv())
        elif as_json:
            print_text(json_text(_plain(found).to_dicts(), indent=1) + "\n")
        else:
            table, more = _fitting(found, console.out.width)
            console.out.print(table)
            if more:
                say(f"{more}: --csv or --json prints everything")


def _flat(found: pl.DataFrame) -> pl.DataFrame:
    """The frame with lists and records as JSON: CSV has none."""
    import polars as pl
    from polars import selectors

    from dumbbell.files.output import json_text

    nested = _plain(found).select(selectors.nested())
    texts = {one.name: [json_text(value) for value in one.to_list()] for one in nested}
    return found.with_columns(pl.Series(name, own) for name, own in texts.items())


def _plain(found: pl.DataFrame) -> pl.DataFrame:
    """The frame with values that JSON has: numbers and texts."""
    import polars as pl
    from polars import selectors

    return found.with_columns(
        selectors.decimal().cast(pl.Float64), selectors.temporal().cast(pl.String)
    )


def _fitting(found: pl.DataFrame, width: int) -> tuple[Table, str]:
    """A table that fits, and what it leaves out."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    columns: list[list[str]] = []
    for column in found.iter_columns():
        cells = [_text(value) for value in column.head(_ROWS)]
        wide = max(map(len, (column.name, *cells)))
        width -= min(wide, _WIDTH) + 2
        if columns and width < 0:
            break
        table.add_column(
            column.name,
            justify="right" if column.dtype.is_numeric() else "left",
            no_wrap=True,
            max_width=_WIDTH,
        )
        columns.append(cells)
    for row in zip(*columns, strict=True):
        table.add_row(*row)
    left = []
    if found.height > _ROWS:
        left.append(f"{found.height - _ROWS} of {found.height} rows")
    if found.width > len(columns):
        left.append(f"{found.width - len(columns)} of {found.width} columns")
    return table, f"{' and '.join(left)} are not shown" if left else ""


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    # Six digits, none of them lost before the point.
    return f"{value:.0f}" if 1e6 <= abs(value) < 1e18 else f"{value:.6g}"
