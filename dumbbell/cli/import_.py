"""Verb `import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.guard import guarded, levels
from dumbbell.cli.options import DEFAULT_STORE, StoreDir
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError

#: Names for `--as`. The package `dumbbell.measured` is not imported for a help text.
FORMATS = ("iperf3", "flent", "irtt", "qlog", "ss", "flowmonitor", "csv")
#: Notes and errors that are printed.
_MOST_LINES = 40


def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Result files, also .gz or .bz2.")
    ],
    store: StoreDir = DEFAULT_STORE,
    form: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="FORMAT",
            autocompletion=lambda: FORMATS,
            help=f"Format of the files: {', '.join(FORMATS)} [default: recognised].",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Experiment that receives the runs [default: measured].")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FACTOR=LEVEL",
            help="Cell of the files, which are its repeats; may be repeated "
            "[default: a cell per file].",
        ),
    ] = None,
    flow: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Rename a flow of the files; may be repeated."),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="EXPERIMENT",
            help="Put the runs beside those of this experiment of the store: factor `origin`.",
        ),
    ] = None,
) -> None:
    """Import result files of other tools. Each becomes a run. Exit code 2 for a bad file."""
    with guarded():
        from dumbbell import console
        from dumbbell.console import say
        from dumbbell.console.words import many
        from dumbbell.measured.formats import format_named
        from dumbbell.runs import MEASURED
        from dumbbell.store.importing import Chosen, add_files

        if form is not None:
            format_named(form)
        chosen = Chosen(
            name or (f"{beside} and measured" if beside is not None else MEASURED),
            form,
            _single(set_, "--set"),
            _single(flow, "--flow"),
            beside,
        )
        done = add_files(files, store, chosen, console.Pulse(console.err))
        _say_some(_told(done.notes), "notes")
        again = f", {many(len(done.known), 'file')} known already" if done.known else ""
        say(f"{store}: {many(done.runs, 'run')} added to experiment {done.experiment}{again}")
        if done.runs:
            say(f"Next: dumbbell report {store} -o report.html")
        _say_some([f"dumbbell: {one} [{one.code}]" for one in done.refused], "errors")
        if done.refused:
            raise typer.Exit(2)


def _say_some(lines: list[str], what: str) -> None:
    from dumbbell.console import say

    if len(lines) > _MOST_LINES:
        say(f"{len(lines) - _MOST_LINES} {what} before these:")
    for line in lines[-_MOST_LINES:]:
        say(line)


def _told(notes: list[tuple[str, str]]) -> list[str]:
    """Notes with their files; one that several files have stands once."""
    files: dict[str, list[str]] = {}
    for file, note in notes:
        files.setdefault(note, []).append(file)
    return [
        f"{own[0]}{f' and {len(own) - 1} more' if len(own) > 1 else ''}: {note}"
        for note, own in files.items()
    ]


def _single(words: list[str] | None, option: str) -> dict[str, str]:
    """Values of an option as NAME → VALUE. Raises `DumbbellError` for two values of a name."""
    found = {}
    for name, values in levels(words, option).items():
        if len(values) > 1:
            raise DumbbellError(f"{option} {name}: twice", code=Code.EXCLUSIVE)
        (found[name],) = values
    return found
