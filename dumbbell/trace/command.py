"""Implementation of the verb `trace`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from dumbbell.codes import Code
from dumbbell.console import Pulse, print_text
from dumbbell.errors import DumbbellError
from dumbbell.files.output import json_text, write_output, write_parquet
from dumbbell.trace import Told, Trace, read_trace

_PRINTED = "-"


@dataclass(frozen=True)
class Wanted:
    """Outputs of `trace`.

    Attributes:
        json: File for JSON; `-`: printed.
        parquet: Folder for Parquet files.
        html: File for the page.
        names: File with the names of nodes, links and flows; None: the file beside the trace.
    """

    json: str | None = None
    parquet: Path | None = None
    html: Path | None = None
    names: Path | None = None


def tell(file: str, wanted: Wanted, out: Console, err: Console) -> None:
    """Reads a trace and writes the outputs. Prints the view unless JSON is printed.

    Raises:
        DumbbellError: The trace cannot be read, or a file cannot be written.
    """
    refuse_loss([file], {"--json": wanted.json, "--html": wanted.html})
    with reading(file, err) as told:
        trace = read_trace(file, names=wanted.names, told=told)
    if wanted.json == _PRINTED:
        print_text(_json(trace))
    else:
        from dumbbell.trace.terminal import shown

        out.print(shown(trace))
        if wanted.json is not None:
            write_output(wanted.json, _json(trace))
    if wanted.parquet is not None:
        _write_tables(trace, wanted.parquet)
    if wanted.html is not None:
        from dumbbell.trace.page import page

        write_output(wanted.html, page(trace))


def refuse_loss(sources: Sequence[str], targets: Mapping[str, str | Path | None]) -> None:
    """Raises `DumbbellError` if an output would overwrite an input."""
    for option, target in targets.items():
        if target is None or str(target) == _PRINTED:
            continue
        for source in sources:
            with contextlib.suppress(OSError):
                if Path(target).samefile(source):
                    message = f"{option} {target}: this is what is read, and would be lost"
                    raise DumbbellError(message, code=Code.OVERWRITE)


@contextlib.contextmanager
def reading(file: str, err: Console) -> Iterator[Told]:
    """Context with a progress bar of the bytes read, on a terminal."""
    path = Path(file)
    total = None
    # A pipe can be read only once. For a compressed file, uncompressed bytes are counted.
    with contextlib.suppress(OSError):
        if path.is_file() and not begins(path).startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
            total = path.stat().st_size
    columns = (TextColumn("{task.description}", markup=False), BarColumn())
    pulse = Pulse(err)
    with Progress(
        *columns,
        DownloadColumn(),
        TransferSpeedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    ) as bar:
        task = bar.add_task(f"reading {path.name}", total=total)

        def told(bytes_: int) -> None:
            bar.update(task, completed=bytes_)
            of = "" if total is None else f" of {total / 1e6:.0f}"
            pulse(f"reading {path.name}: {bytes_ / 1e6:.0f}{of} MB")

        yield told


def begins(path: Path) -> bytes:
    """First bytes of a file; none for pipes and the like."""
    if not path.is_file():
        return b""
    with path.open("rb") as stream:
        return stream.read(4)


def _json(trace: Trace) -> str:
    tables = {name: trace.tables[name].to_dicts() for name in ("flows", "pipes", "drops")}
    return json_text({"file": trace.name, **trace.about, "tables": tables}) + "\n"


def _write_tables(trace: Trace, folder: Path) -> None:
    for name, frame in trace.tables.items():
        write_parquet(folder / f"{name}.parquet", frame)
