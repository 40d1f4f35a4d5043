"""Verb `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import Allow, Design, Execution, File, JsonFile, grouped
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.files.output import write_json

if TYPE_CHECKING:
    from dumbbell.compare import Comparison


@grouped
def compare(
    file: File,
    *,
    engines: Annotated[
        str, typer.Option(help="Two engines; the second is the reference: `sim,linux`.")
    ] = "sim,linux",
    design: Design,
    json_file: JsonFile = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the congestion windows of both (.html, .svg, .png)."
        ),
    ] = None,
    allow: Allow = None,
    execution: Execution,
) -> None:
    """Run an experiment on two engines and compare. Exit code 1 for a difference."""
    with guarded():
        from dumbbell.cli.sweeps import executed
        from dumbbell.compare import compare_engines
        from dumbbell.compare.display import comparison_table, summary_line

        check_places(json_file, figure)
        with executed(execution, design.workers):
            found = compare_engines(file, engines.split(","), allow=allow, **design.given())
        console.out.print(comparison_table(found))
        console.out.print(summary_line(found))
        if json_file is not None:
            write_json(json_file, found.to_json())
        if figure is not None:
            _write_windows(found, figure)
        if not found.agrees:
            raise typer.Exit(1)


def _write_windows(found: Comparison, path: Path) -> None:
    from dumbbell.figures import plot

    try:
        plot(found.together(), "window", over="engine").save(path)
    except ValueError as error:
        raise DumbbellError(f"{path}: not drawn: {error}", code=Code.OPTION) from None
