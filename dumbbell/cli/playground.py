"""Verb `playground`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import HtmlOutput
from dumbbell.console import say


def playground(
    output: HtmlOutput,
    file: Annotated[
        Path | None,
        typer.Argument(help="Experiment that the page opens with [default: an example]."),
    ] = None,
) -> None:
    """Write a page with an editor and the simulator. It works without a network."""
    with guarded():
        from dumbbell.files.output import write_output
        from dumbbell.playground.command import page_of

        check_places(output)
        write_output(output, page_of(file))
        say(f"The playground: {output}")
