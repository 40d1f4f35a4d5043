"""Verb `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.guard import check_places, guarded
from dumbbell.console import say


def report(
    store: Annotated[Path, typer.Argument(help="Store folder.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Output (HTML).")],
) -> None:
    """Write a page of tables and figures from the runs of a store."""
    with guarded():
        from dumbbell.report import write_report

        check_places(output)
        write_report(store, output)
        say(f"The report: {output}")
