"""Arguments and options of several verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell.errors import StoreError
from dumbbell.files.urls import store_path

File = Annotated[Path, typer.Argument(help="Experiment file (YAML).")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="FACTOR=LEVEL", help="Use this level of a factor; may be repeated."
    ),
]
Repeats = Annotated[int | None, typer.Option(min=1, help="Runs per combination of levels.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the first repeat.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Runs at once [default: all cores].")]


def _store(text: str) -> Path:
    """Place of a store. As a `Path`, a URL would lose one of its slashes."""
    try:
        return store_path(text)
    except StoreError as error:
        raise typer.BadParameter(f"{error} [{error.code}]") from None


_PLACE: Any = {"parser": _store, "metavar": "STORE"}
StoreDir = Annotated[
    Path, typer.Option(help="Store, folder or URL: finished runs are not repeated.", **_PLACE)
]
StoreArgument = Annotated[Path, typer.Argument(help="Store: folder or URL.", **_PLACE)]
OtherStore = Annotated[
    Path | None,
    typer.Argument(help="A store to compare with.", parser=_store, metavar="OTHER"),
]
Stores = Annotated[
    list[Path], typer.Argument(help="Stores to merge.", parser=_store, metavar="STORE...")
]
StoreOutput = Annotated[
    Path, typer.Option("-o", "--output", help="Store that receives all runs.", **_PLACE)
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="File for the results.")]
EngineName = Annotated[
    str,
    typer.Option(
        help="Engine that executes the runs: sim, linux, linux:NAME, netns.",
        autocompletion=lambda: ("sim", "linux", "netns"),
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMIT=NUMBER",
        help="Raise a limit of a run: events=5e9, rows=1e8, memory=16GB, captures=8GB, all.",
    ),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard", metavar="K/N", help="Only the K-th of N parts of the runs, balanced by cost."
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Cluster that executes the runs: dask://HOST:PORT, dask-slurm, …",
    ),
]
Shared = Annotated[
    bool,
    typer.Option("--shared", help="Workers of the cluster write the store, which they share."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print what the runs would take; run nothing.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before more than 10000 runs.")]
Events = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Append a line of JSON per event: started, finished, …"),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show what each worker does.")]
DEFAULT_STORE = Path("store")
