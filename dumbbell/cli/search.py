"""Verb `search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import check_places, guarded, levels
from dumbbell.cli.options import (
    DEFAULT_STORE,
    Allow,
    Cluster,
    EngineName,
    Events,
    File,
    JsonFile,
    Set,
    Shared,
    StoreDir,
    Verbose,
    Workers,
    Yes,
)
from dumbbell.console import say
from dumbbell.files.output import write_json, write_output


def search(
    file: File,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Experiment file (YAML) with the values found."),
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="Number of evaluations [default: as in the file].")
    ] = None,
    set_: Set = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the choice of points, and of the first repeat."),
    ] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Runs per evaluation.")] = None,
    workers: Workers = None,
    engine: EngineName = "sim",
    store: StoreDir = DEFAULT_STORE,
    json_file: JsonFile = None,
    allow: Allow = None,
    cluster: Cluster = None,
    shared: Shared = False,
    yes: Yes = False,
    events: Events = None,
    verbose: Verbose = False,
) -> None:
    """Search for an optimum or a worst case. Finished runs in the store are not repeated."""
    with guarded():
        from dumbbell.cli.sweeps import executed
        from dumbbell.search.display import sentences, table, to_json
        from dumbbell.search.run import search

        check_places(output, json_file)
        with executed(
            yes=yes,
            events=events,
            verbose=verbose,
            cluster=cluster,
            shared=shared,
            workers=workers,
        ):
            outcome = search(
                file,
                store=store,
                set=levels(set_),
                repeats=repeats,
                seed=seed,
                evaluations=evaluations,
                workers=workers,
                engine=engine,
                allow=allow,
            )
        console.out.print(table(outcome, console.out.width))
        for sentence in sentences(outcome):
            console.out.print(f"• {sentence}", soft_wrap=True)
        if output is not None:
            write_output(output, outcome.file)
            say(f"The values found: {output}. Look at them: dumbbell run {output}")
        if json_file is not None:
            write_json(json_file, to_json(outcome))
        say(f"Every evaluation is kept in {store}, as experiment {outcome.name} (search).")
