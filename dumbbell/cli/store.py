"""Verbs of `dumbbell store`."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import console
from dumbbell.cli.guard import guarded
from dumbbell.cli.options import ExperimentName, OtherStore, StoreArgument, StoreOutput, Stores
from dumbbell.console.words import many

if TYPE_CHECKING:
    from rich.table import Table

    from dumbbell.store.contents import Contents
    from dumbbell.store.verify import Examination, Leftover

store_app = typer.Typer(help="Stores: contents, damage, repair.", no_args_is_help=True)
_DIGITS = 16
#: Formats of tables, and those of other tools.
_TABLES = ("parquet", "csv")
FORMATS = (*_TABLES, "flent", "iperf3", "qlog", "xplot", "latex")


@store_app.callback()
def _group() -> None:
    """Stores: contents, damage, repair."""


@store_app.command()
def verify(store: StoreArgument) -> None:
    """Read every file and compare checksums. Exit code 1 if something is damaged."""
    with guarded():
        from dumbbell.store.verify import examine

        found = examine(store)
        _tell(store, found)
        if found.damages:
            raise typer.Exit(1)


@store_app.command()
def repair(
    store: StoreArgument,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs at once.")] = None,
) -> None:
    """Rerun damaged runs and compare their digests. Exit code 1 if some remain."""
    with guarded():
        from dumbbell.execution import use_progress
        from dumbbell.execution.bar import progress_on
        from dumbbell.execution.repair import repair

        with use_progress(progress_on(console.err)):
            found, failed = repair(store, workers=workers)
        for why in failed:
            _say(why)
        _tell(store, found)
        if found.damages:
            raise typer.Exit(1)


@store_app.command()
def gc(
    store: StoreArgument,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would be removed, remove nothing.")
    ] = False,
) -> None:
    """Remove leftovers of crashes. In a store, and of runs without a store."""
    with guarded():
        from dumbbell.store.leftovers import collect

        gone = collect(store, dry=dry_run)
        for one in gone:
            _say(_words(one))
        size = _bytes(sum(one.size for one in gone))
        _say(
            f"{size} {'would be removed' if dry_run else 'removed'}"
            if gone
            else "nothing to remove"
        )


@store_app.command()
def digest(
    store: StoreArgument,
    other: OtherStore = None,
) -> None:
    """Print the digest of each run and of all. With two stores: the differences (exit code 1)."""
    with guarded():
        from dumbbell.store.digest import compared, digests, of_all

        runs = digests(store)
        if other is None:
            for run in runs:
                _say(f"{run.digest}  {run.words()}")
            _say(f"{of_all(runs)}  {store}: all {many(len(runs), 'run')}")
            return
        others = digests(other)
        unlike = compared(runs, others)
        for pair in unlike:
            first, second = (
                text[:_DIGITS] if text else "none" for text in (pair.first, pair.second)
            )
            _say(f"{pair.words}: {first}, {second}")
        _say(f"{of_all(runs)}  {store}: all {many(len(runs), 'run')}")
        _say(f"{of_all(others)}  {other}: all {many(len(others), 'run')}")
        if unlike:
            _say(f"{many(len(unlike), 'run differs', 'runs differ')}")
            raise typer.Exit(1)
        _say("no run differs")


@store_app.command()
def merge(stores: Stores, output: StoreOutput) -> None:
    """Add the runs of stores to one store. An example is the shards of a sweep."""
    with guarded():
        from dumbbell.console import Pulse
        from dumbbell.errors import shown
        from dumbbell.store.merge import merge

        pulse = Pulse(console.err)
        with console.err.status("") as status:

            def tell(text: str) -> None:
                status.update(shown(text))
                pulse(text)

            done = merge(stores, output, tell)
        for path, added, duplicates in done.sources:
            again = f", {_count(duplicates, 'duplicate')}" if duplicates else ""
            _say(f"{path}: {_count(added, 'run')} added{again}")
        undone = f", {done.undone} not done yet" if done.undone else ""
        experiments = _count(done.experiments, "experiment")
        _say(f"{output}: {_count(done.runs, 'run')} of {experiments}{undone}")


@store_app.command()
def compact(
    store: StoreArgument,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, change nothing.")
    ] = False,
) -> None:
    """Join small segments. Runs that no experiment needs are removed."""
    with guarded():
        from dumbbell.store.compact import compact

        done = compact(store, dry=dry_run)
        if not done.old:
            _say(f"{store}: {_count(done.kept, 'segment')}, nothing to compact")
            return
        would = "would become" if dry_run else "became"
        _say(f"{_count(len(done.old), 'segment')} {would} {done.new}, {done.kept} stay as they are")
        if done.unneeded:
            gone = "would be removed" if dry_run else "removed"
            count = _count(len(done.unneeded), "run")
            _say(f"{count} of no experiment {gone}, with files of {_bytes(done.freed)}")


@store_app.command("ls")
def list_store(store: StoreArgument) -> None:
    """List the experiments of a store. Runs done and planned, size, engine version, last run."""
    with guarded():
        from dumbbell.store.contents import contents

        found = contents(store)
        console.out.print(_experiments(found))
        unneeded = f", {found.unneeded} of no experiment" if found.unneeded else ""
        _say(f"{store}: {_count(found.runs, 'run')}{unneeded}, {_bytes(found.size)}")
        if found.damaged:
            others = f" and {len(found.damaged) - 1} more" if len(found.damaged) > 1 else ""
            name = shlex.quote(str(store))
            _say(f"{found.damaged[0]}{others}: cannot be read; see `dumbbell store verify {name}`")


@store_app.command("show")
def show_run(
    store: StoreArgument,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or its first letters.")],
    scenario: Annotated[
        bool, typer.Option("--scenario", help="Print its scenario (JSON) in place of the rest.")
    ] = False,
    yaml: Annotated[
        bool, typer.Option("--yaml", help="Print its experiment file in place of the rest.")
    ] = False,
) -> None:
    """Print where a run comes from. Experiments, engine, seed, digest, files."""
    with guarded():
        from dumbbell.metrics.numbers import number as plain
        from dumbbell.store.provenance import provenance

        found = provenance(store, run)
        if scenario or yaml:
            console.print_text(f"{(found.scenario if scenario else found.yaml).rstrip()}\n")
            return
        events = f", {many(found.events, 'event')}" if found.events else ""
        _say(f"run      {found.run}")
        for place in found.places:
            _say(f"of       {place}")
        _say(f"engine   {found.engine} {found.version}")
        _say(f"seed     {found.seed}")
        _say(f"digest   {found.digest}")
        _say(f"took     {plain(round(found.wall_s, 3))} s, {many(found.packets, 'packet')}{events}")
        for path, size in found.files:
            _say(f"file     {path} ({_bytes(size)})")


@store_app.command("export")
def export_store(
    store: StoreArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the files.")],
    experiment: ExperimentName = None,
    table: Annotated[
        list[str] | None, typer.Option(help="Only this table; may be repeated.")
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            autocompletion=lambda: FORMATS,
            help=f"Format of the files: {', '.join(FORMATS)}.",
        ),
    ] = "parquet",
) -> None:
    """Write tables as Parquet or CSV, or a file per run in a format of another tool."""
    with guarded():
        from dumbbell.codes import Code
        from dumbbell.errors import DumbbellError, did_you_mean, nearest_name
        from dumbbell.store.export import export

        if form not in FORMATS:
            near = nearest_name(form, FORMATS)
            hint = did_you_mean(near)
            there = f"there are {', '.join(FORMATS)}"
            raise DumbbellError(
                f"--format {form}: no such format{hint}; {there}", code=Code.SELECTION
            )
        if form not in _TABLES:
            _export_runs(store, output, form, experiment, table)
            return
        for path, rows in export(store, output, experiment=experiment, tables=table, form=form):
            _say(f"{path}: {_count(rows, 'row')}")


def _export_runs(
    store: Path, output: Path, form: str, experiment: str | None, table: list[str] | None
) -> None:
    from dumbbell.codes import Code
    from dumbbell.errors import DumbbellError
    from dumbbell.export.formats import export_runs

    if table:
        raise DumbbellError(f"--table: not with --format {form}", code=Code.EXCLUSIVE)
    for path, notes in export_runs(store, output, form, experiment):
        _say(str(path))
        for note in notes:
            console.say(f"{path}: {note}")


def _experiments(found: Contents) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("experiment", overflow="fold")
    for name in ("engine", "version"):
        table.add_column(name, overflow="fold")
    for name in ("cells", "done", "planned", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("last run", no_wrap=True)
    for one in found.experiments:
        changed = [f"{name}={','.join(levels)}" for name, levels in one.overrides.items()]
        name = " ".join([one.name, *changed])
        when = datetime.fromtimestamp(one.updated_ns / 1e9).strftime("%Y-%m-%d %H:%M")
        numbers = (str(one.cells), str(one.done), str(one.planned), _bytes(one.size))
        table.add_row(one.id, name, one.engine, one.version[:_DIGITS], *numbers, when)
    return table


def _tell(store: Path, found: Examination) -> None:
    """Prints damage and leftovers, with the commands that repair them."""
    name = shlex.quote(str(store))
    for damage in found.damages:
        runs = f" ({_count(len(damage.runs), 'run')})" if damage.runs else ""
        _say(f"{damage}{runs}")
    for one in found.leftovers:
        _say(f"left behind: {_words(one)}")
    if found.leftovers:
        _say(f"`dumbbell store gc {name}` removes what was left behind")
    if found.unchecked:
        count = _count(len(found.unchecked), "run")
        _say(f"{count} made before checksums were kept: only the length of tables was compared")
    if found.undone:
        _say(f"{_count(len(found.undone), 'run')} of its experiments not done yet")
    experiments, runs = _count(len(found.records), "experiment"), _count(len(found.runs), "run")
    if any(damage.path.parent.name == "experiments" for damage in found.damages):
        _say(f"An experiment is written again by `dumbbell run FILE --store {name}` with its file")
    if found.damages:
        lost = f"{_count(len(found.lost()), 'run')} lost, {len(found.runs)} whole"
        _say(
            f"{store}: {_count(len(found.damages), 'file')} damaged, {lost}; "
            f"`dumbbell store repair {name}` reruns damaged runs"
        )
    else:
        _say(f"{store}: {experiments}, {runs}, nothing found damaged")


def _words(one: Leftover) -> str:
    return f"{one.path}: {_bytes(one.size)}, {one.what}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _bytes(size: int) -> str:
    """`1536` → `1.50 kB`; a kilobyte is 1024 bytes as everywhere."""
    from dumbbell.metrics.numbers import number as plain

    amount = float(size)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1024:
            return f"{plain(amount)} {unit}" if unit != "bytes" else f"{size} bytes"
        amount /= 1024
    return f"{plain(amount)} GB"


def _say(line: str) -> None:
    console.out.print(line, soft_wrap=True)
