"""Verb `search`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded
from dumbbell.cli.options import Allow, Execution, File, JsonFile, OnEngine, grouped
from dumbbell.console import say
from dumbbell.files.output import write_json, write_output


@dataclass(frozen=True)
class _Design(OnEngine):
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the choice of points, and of the first repeat."),
    ] = None
    repeats: Annotated[int | None, typer.Option(min=1, help="Runs per evaluation.")] = None


@grouped
def search(
    file: File,
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Experiment file (YAML) with the values found."),
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="Number of evaluations [default: as in the file].")
    ] = None,
    design: _Design,
    json_file: JsonFile = None,
    allow: Allow = None,
    execution: Execution,
) -> None:
    """Search for an optimum or a worst case. Finished runs in the store are not repeated."""
    with guarded():
        from dumbbell.cli.sweeps import executed
        from dumbbell.search.display import sentences, table, to_json
        from dumbbell.search.run import search

        check_places(output, json_file)
        with executed(execution, design.workers):
            outcome = search(file, evaluations=evaluations, allow=allow, **design.given())
        console.out.print(table(outcome, console.out.width))
        for sentence in sentences(outcome):
            console.out.print(f"• {sentence}", soft_wrap=True)
        if output is not None:
            write_output(output, outcome.file)
            say(f"The values found: {output}. Look at them: dumbbell run {output}")
        if json_file is not None:
            write_json(json_file, to_json(outcome))
        say(f"Every evaluation is kept in {design.store}, as experiment {outcome.name} (search).")
