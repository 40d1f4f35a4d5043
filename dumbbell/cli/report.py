"""Verb `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import DEFAULT_STORE, HtmlOutput, StoreArgument
from dumbbell.console import say

if TYPE_CHECKING:
    from dumbbell.report.animations import RunAnimation


def report(
    output: HtmlOutput,
    store: StoreArgument = DEFAULT_STORE,
    animate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVELS",
            help="Also show every packet of these cells: 'rtt=10 ms,cc=reno' or all; may be"
            " repeated.",
        ),
    ] = None,
) -> None:
    """Write a page of tables and figures from the runs of a store."""
    with guarded():
        from dumbbell.vega.drawing import Drawer

        check_places(output)
        with Drawer() as drawer:  # it starts while the rest is imported
            from dumbbell.report import write_report

            write_report(store, output, _animations(store, animate or []), drawer)
        say(f"The report: {output}")


def _animations(store: Path, cells: list[str]) -> list[RunAnimation]:
    if not cells:
        return []
    from dumbbell.animation.cells import cell_animations

    return cell_animations(store, cells, console.err)
