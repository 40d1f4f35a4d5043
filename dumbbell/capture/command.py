"""Implementation of the verb `capture`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from dumbbell.capture import Window, survey, survey_json
from dumbbell.capture.chosen import chosen
from dumbbell.capture.classes import DEFAULT_CLASSES, SizeClass, parse_classes
from dumbbell.capture.folder import files_of, read_all
from dumbbell.capture.packet_table import packet_table
from dumbbell.capture.tables import frames, write
from dumbbell.capture.terminal import shown
from dumbbell.codes import Code
from dumbbell.console import print_text, say
from dumbbell.errors import DumbbellError, shortened
from dumbbell.files.kinds import is_capture
from dumbbell.files.output import PRINTED, json_text, write_output


@dataclass(frozen=True)
class Wanted:
    """Outputs of `capture`, and selections.

    Attributes:
        json: File for JSON; `-`: printed.
        csv: Folder for CSV files; `-`: the table of connections is printed.
        parquet: Folder for Parquet files.
        html: File for the page.
        classes: Size classes of connections, as written.
        connections: Connections with packets on the page (none: the largest), or in the table of
            packets (none: all).
        packets: File for the table of packets; `-`: printed.
        host, port: Selected conversations.
        start, end: Time range of the analysed frames: `2 s` after the first timestamp.
    """

    json: str | None = None
    csv: str | None = None
    parquet: Path | None = None
    html: Path | None = None
    classes: Sequence[str] = ()
    connections: Sequence[int] = ()
    packets: str | None = None
    host: str | None = None
    port: int | None = None
    start: str | None = None
    end: str | None = None

    @property
    def is_printed(self) -> bool:
        """Returns true if standard output is for a program."""
        return PRINTED in (self.json, self.csv, self.packets)

    @property
    def is_more(self) -> bool:
        """Returns true if there are outputs besides the view for the terminal."""
        places = (self.json, self.csv, self.parquet, self.html, self.packets)
        return any(place is not None for place in places)


def tell(files: Sequence[str], wanted: Wanted, out: Console) -> None:
    """Reads captures and writes the outputs. Prints the view unless standard output is in use.

    Raises:
        DumbbellError: A capture cannot be read, or a file cannot be written.
    """
    _check(files, wanted)
    classes = parse_classes(wanted.classes) if wanted.classes else DEFAULT_CLASSES
    only_json = Wanted(json=PRINTED, classes=wanted.classes)
    if wanted == only_json and not any(_is_folder(file) for file in files):
        _print_json(files, classes)
        return
    found = _read(files, wanted, classes, out, _window(wanted))
    if not found:
        return
    files = [one["file"]["name"] for one in found]
    if wanted.json is not None:
        text = json_text(found[0] if len(found) == 1 else {"files": found})
        _write(wanted.json, text + "\n")
    found_all, found = found, [chosen(one, wanted.host, wanted.port) for one in found]
    if wanted.packets is not None:
        _write(wanted.packets, _packets(found, wanted.connections))
    if wanted.csv == PRINTED:
        tables = [
            frames(one)["connections"].with_columns(file=pl.lit(one["file"]["name"]))
            for one in found
        ]
        print_text(pl.concat(tables, how="diagonal_relaxed").write_csv())
    for kind, folder in (("csv", wanted.csv), ("parquet", wanted.parquet)):
        if folder is not None and folder != PRINTED:
            for one, name in zip(found, _names(files), strict=True):
                write(one, Path(folder) / name if len(found) > 1 else Path(folder), kind)
    if wanted.html is not None:
        from dumbbell.capture.page import page

        _write(str(wanted.html), page(found_all, wanted.connections))
        say(f"The page: {wanted.html}")


def _read(
    files: Sequence[str], wanted: Wanted, classes: Sequence[SizeClass], out: Console, window: Window
) -> list[dict[str, Any]]:
    """Reads captures and prints the view of each; for a folder, a line per capture."""
    folders = {file for file in files if _is_folder(file)}
    if folders:
        every = [files_of(Path(file)) if file in folders else [file] for file in files]
        found, table = read_all(
            [one for some in every for one in some], classes, window, wanted.is_more
        )
        if not wanted.is_printed:
            out.print(table)
        return found
    found = []
    for file in files:
        found.append(survey(file, classes, window))
        if not wanted.is_printed:
            out.print(shown(chosen(found[-1], wanted.host, wanted.port)))
    return found


def _window(wanted: Wanted) -> Window:
    """Time range of the options, in ns. Raises `DumbbellError`."""
    from dumbbell import units

    ends: list[int | None] = []
    for option, text in (("--from", wanted.start), ("--to", wanted.end)):
        try:
            ends.append(None if text is None else units.whole(text, units.TIME))
        except units.QuantityError as error:
            likely = ", ".join(error.allowed)
            hint = f"; units: {likely}" if likely else ""
            raise DumbbellError(
                f"{option} {shortened(text)}: {error.message}{hint}", code=error.code
            ) from None
    start, end = ends
    if end is not None and end <= (start or 0):
        raise DumbbellError(f"--to {wanted.end}: it should be later than --from", code=Code.MOMENT)
    return start, end


def _packets(found: Sequence[dict[str, Any]], connections: Sequence[int]) -> str:
    """Packets of all files as CSV. With several files, the first column is the file."""
    tables = [packet_table(one, connections) for one in found]
    if len(tables) > 1:
        names = [one["file"]["name"] for one in found]
        tables = [
            table.select(pl.lit(name).alias("file"), pl.all())
            for table, name in zip(tables, names, strict=True)
        ]
    return pl.concat(tables).write_csv()


def _is_folder(file: str) -> bool:
    return file != PRINTED and Path(file).is_dir()


def _print_json(files: Sequence[str], classes: Iterable[SizeClass]) -> None:
    """Prints one survey, or several, with none in memory as a whole."""
    # Errors of unreadable captures come before any output.
    read = [survey_json(file, classes) for file in files]
    if len(read) > 1:
        print_text('{"files":[')
    for number, pieces in enumerate(read):
        if number:
            print_text(",")
        for piece in pieces:
            print_text(piece)
    print_text("]}\n" if len(read) > 1 else "\n")


def _check(files: Sequence[str], wanted: Wanted) -> None:
    """Refuses contradicting options, and outputs that would overwrite a capture."""
    printed = [
        option
        for option, target in (
            ("--json", wanted.json),
            ("--csv", wanted.csv),
            ("--packets", wanted.packets),
        )
        if target == PRINTED
    ]
    if len(printed) > 1:
        first, second = printed[:2]
        raise DumbbellError(
            f"{first} and {second} cannot both be printed: give one of them a place",
            code=Code.EXCLUSIVE,
        )
    if wanted.connections and wanted.html is None and wanted.packets is None:
        raise DumbbellError(
            "--connection chooses what a page or --packets shows: it needs --html or --packets",
            code=Code.EXCLUSIVE,
        )
    targets = (("--json", wanted.json), ("--html", wanted.html), ("--packets", wanted.packets))
    for option, target in targets:
        path = Path(str(target))
        if target is not None and target != PRINTED and (str(path) in files or is_capture(path)):
            raise DumbbellError(
                f"{option} {path}: this would overwrite a capture", code=Code.OVERWRITE
            )


def _names(files: Sequence[str]) -> list[str]:
    """Distinct folder names for several captures."""
    names: list[str] = []
    for file in files:
        stem = "standard-input" if file == "-" else Path(file).name
        name, number = stem, 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names


def _write(name: str, text: str) -> None:
    if name == PRINTED:
        print_text(text)
    else:
        write_output(name, text)
