"""Arguments and options of several verbs, and groups of options.

A group is a dataclass. `grouped` gives a verb the options of a group in place of the parameter of
its type. A field of a plain type, without `Annotated`, is no option of this group.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from dumbbell.cli.guard import levels
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


#: Ends of names that promise another format than a page's.
_NO_PAGES = (".csv", ".gif", ".json", ".md", ".mp4", ".pdf", ".png", ".svg", ".xml", ".yaml")


def html_file(path: Path | None) -> Path | None:
    """Name of a page, which is HTML. Refuses the names of other formats."""
    if path is not None and path.suffix.lower() in _NO_PAGES:
        raise typer.BadParameter(f"a page is HTML, as {path.stem}.html; found {path.name}")
    return path


def page_file(path: Path | None) -> Path | None:
    """Name of a page that may be Markdown, too."""
    return path if path is not None and path.suffix == ".md" else html_file(path)


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
StoreOfStudy = Annotated[
    Path | None,
    typer.Option(
        help="Store, folder or URL: finished runs are not repeated. Of a scorecard: folder of its "
        "stores [default: store; of a scorecard: scorecards].",
        **_PLACE,
    ),
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
ExperimentName = Annotated[
    str | None, typer.Option(help="Experiment of the store [default: the one run last].")
]
HtmlOutput = Annotated[
    Path, typer.Option("-o", "--output", help="Output (HTML).", callback=html_file)
]
Junit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML.")]
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


@dataclass(frozen=True)
class Design:
    """Options of verbs that run an experiment file: what is run, and where runs are kept."""

    set_: Set = None
    seed: Seed = None
    repeats: Repeats = None
    workers: Workers = None
    engine: str = "sim"
    store: StoreDir = DEFAULT_STORE

    def given(self) -> dict[str, Any]:
        """Options as arguments of `dumbbell.run`. Raises `DumbbellError` for a bad `--set`."""
        own = {name: getattr(self, name) for name in _hints(type(self))}
        return {"set": levels(own.pop("set_")), **own}


@dataclass(frozen=True)
class OnEngine(Design):
    """Those of verbs that run it on one engine."""

    engine: EngineName = "sim"


@dataclass(frozen=True)
class Execution:
    """Options of verbs that make runs: by whom, with whose consent, what is told meanwhile."""

    cluster: Cluster = None
    shared: Shared = False
    dry_run: bool = False
    yes: Yes = False
    events: Events = None
    verbose: Verbose = False


@dataclass(frozen=True)
class Rehearsed(Execution):
    """Those of verbs that can tell beforehand what the runs would take."""

    dry_run: DryRun = False


@dataclass(frozen=True)
class StoredRun:
    """Options of verbs that look at one run of a store."""

    experiment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Experiment of the store [default: the one run last]."),
    ] = None
    cell: Annotated[
        str | None,
        typer.Option(
            metavar="LEVELS", help="Levels of factors: 'rtt=10 ms,cc=reno' [default: the first]."
        ),
    ] = None
    repeat: Annotated[
        int | None, typer.Option(min=0, help="Repeat, counted from 0 [default: the first].")
    ] = None


def _hints(group: Any) -> dict[str, Any]:
    """Options of a group, by field."""
    hints = get_type_hints(group, include_extras=True)
    return {
        one.name: hint for one in fields(group) if hasattr(hint := hints[one.name], "__metadata__")
    }


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with options in place of groups, as typer reads signatures."""
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: one for name, one in hints.items() if is_dataclass(one)}
    parameters = []
    for name, parameter in inspect.signature(verb).parameters.items():
        if name in groups:
            parameters += [
                parameter.replace(name=one, default=getattr(groups[name], one), annotation=hint)
                for one, hint in _hints(groups[name]).items()
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(verb)
    def flat(**given: Any) -> None:
        own = {
            name: group(**{one: given.pop(one) for one in _hints(group)})
            for name, group in groups.items()
        }
        verb(**given, **own)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {one.name: one.annotation for one in parameters}
    return flat
