"""Folders of captures: their files, and a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dumbbell.capture import CaptureError, Window, survey
from dumbbell.capture.classes import SizeClass
from dumbbell.capture.terminal import plain
from dumbbell.codes import Code
from dumbbell.console.words import many
from dumbbell.errors import DumbbellError, shortened
from dumbbell.files.kinds import is_capture

#: Maximum number of captures in all folders.
MOST = 10_000


def files_of(folder: Path) -> list[str]:
    """Captures in a folder and its subfolders, by name.

    Raises:
        DumbbellError: There are none, there are more than `MOST`, or the folder cannot be read.
    """
    try:
        found = [str(path) for path in sorted(folder.rglob("*")) if is_capture(path)]
    except OSError as error:
        raise DumbbellError(
            f"{folder}: cannot be read: {error.strerror or error}", code=Code.CAPTURE_FOLDER
        ) from None
    if not found:
        raise DumbbellError(f"{folder}: no capture in this folder", code=Code.CAPTURE_FOLDER)
    if len(found) > MOST:
        raise DumbbellError(
            f"{folder}: {len(found)} captures; at most {MOST}", code=Code.CAPTURE_FOLDER
        )
    return found


def read_all(
    files: Sequence[str], classes: Sequence[SizeClass], window: Window, keep: bool
) -> tuple[list[dict[str, Any]], RenderableType]:
    """Reads captures. Returns their contents, if they are kept, and a table with a row for each.

    A line below the table gives the reason for each unreadable file.
    """
    table = Table(title="Captures", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("file", overflow="fold", min_width=24)
    for heading in ("packets", "MB", "s", "TCP", "retransmitted"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("link types, remarks", overflow="fold")
    kept, refused = [], []
    for file in files:
        try:
            found = survey(file, classes, window)
        except CaptureError as error:
            refused.append(Text(shortened(str(error), 400)))
            continue
        table.add_row(*map(Text, _row(found)))
        if keep:
            kept.append(found)
    return kept, Group(table, *refused)


def _row(found: dict[str, Any]) -> tuple[str, ...]:
    file, rows = found["file"], found["connections"]
    data = sum(row["data_packets"] for row in rows)
    again = sum(row["retransmitted_packets"] for row in rows)
    remarks = [one["link_type"] for one in found["link_types"]]
    if file["packets_without_ip"]:
        remarks.append(f"{file['packets_without_ip']} without IP")
    if file["problem_count"]:
        remarks.append(many(file["problem_count"], "problem"))
    if file["broken"]:
        remarks.append("breaks off")
    return (
        file["name"],
        str(file["packets"]),
        plain(file["bytes"] / 1e6),
        "–" if file["duration_s"] is None else plain(file["duration_s"]),
        str(len({row["connection"] for row in rows})),
        f"{again} ({again / data:.2%})" if data else "–",
        ", ".join(remarks),
    )
