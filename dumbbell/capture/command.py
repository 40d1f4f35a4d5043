"""The verb `capture`: what is asked for, and doing it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from dumbbell.capture import survey
from dumbbell.capture.classes import DEFAULT_CLASSES, parse_classes
from dumbbell.capture.tables import frames, write
from dumbbell.capture.terminal import shown
from dumbbell.capture_cli import PRINTED
from dumbbell.errors import DumbbellError


@dataclass(frozen=True)
class Wanted:
    """What is to be made of captures.

    Attributes:
        json: A file, or `-`: printed.
        csv: A folder, or `-`: the table of connections, printed.
        parquet: A folder.
        html: A file.
        classes: Of connections by size, as written.
        connections: Those whose packets the page shows; none: the largest.
    """

    json: str | None = None
    csv: str | None = None
    parquet: Path | None = None
    html: Path | None = None
    classes: Sequence[str] = ()
    connections: Sequence[int] = ()

    @property
    def is_printed(self) -> bool:
        """Does standard output belong to a program?"""
        return PRINTED in (self.json, self.csv)


def tell(files: Sequence[str], wanted: Wanted, out: Console) -> None:
    """Reads captures and makes of them what is wanted; the terminal's view unless it is printed.

    Raises:
        DumbbellError: A capture cannot be read, or a file not be written.
    """
    classes = parse_classes(wanted.classes) if wanted.classes else DEFAULT_CLASSES
    found = []
    for file in files:
        found.append(survey(file, classes))
        if not wanted.is_printed:
            out.print(shown(found[-1]))
    if wanted.json is not None:
        text = json.dumps(found[0] if len(found) == 1 else {"files": found}, allow_nan=False)
        _write(wanted.json, text + "\n")
    if wanted.csv == PRINTED:
        tables = [
            frames(one)["connections"].with_columns(file=pl.lit(one["file"]["name"]))
            for one in found
        ]
        sys.stdout.write(pl.concat(tables, how="diagonal_relaxed").write_csv())
    for kind, folder in (("csv", wanted.csv), ("parquet", wanted.parquet)):
        if folder is not None and folder != PRINTED:
            for one in found:
                write(one, _folder(Path(folder), one, len(found)), kind)
    if wanted.html is not None:
        from dumbbell.capture.page import page

        _write(str(wanted.html), page(found, wanted.connections))


def _folder(folder: Path, found: dict[str, Any], files: int) -> Path:
    """Several captures have a folder each."""
    name = found["file"]["name"]
    return folder if files == 1 else folder / ("standard-input" if name == "-" else Path(name).name)


def _write(name: str, text: str) -> None:
    if name == PRINTED:
        sys.stdout.write(text)
        return
    path = Path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DumbbellError(f"{path}: cannot be written: {error.strerror or error}") from None
