"""Programs of a run: how each ended, and what it said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.console import Group
from rich.table import Table

from dumbbell.console.words import noun
from dumbbell.errors import shortened
from dumbbell.measured import iperf3
from dumbbell.measured.values import MeasuredError
from dumbbell.metrics import Tables
from dumbbell.metrics.numbers import number
from dumbbell.summary.fit import WIDTH, fitted, plain_table, titled

#: Programs of a terminal's table.
_MOST = 30
#: Letters of a name.
_NAME = 24
#: Letters of a command, and of what a program said, on a terminal.
_COMMAND, _SAID = 34, 40


@dataclass(frozen=True)
class Ended:
    """A program of a run.

    Attributes:
        levels: Factor → level of its run.
        repeat: Repeat of its run.
        name: Its name.
        host: Host on which it ran.
        command: Program and arguments.
        end: How it ended: `exit 0`, `stopped`, …
        from_s: Start; None: it did not start.
        to_s: End.
        said: Result that its output tells, or its last line.
        output: Standard output, its beginning.
        errors: Standard error, its beginning.
        files: Path and size in bytes of the files that it left.
    """

    levels: dict[str, str]
    repeat: int
    name: str
    host: str
    command: str
    end: str
    from_s: float | None
    to_s: float | None
    said: str
    output: str
    errors: str
    files: list[tuple[str, int]]


def programs(tables: Tables, repeat: int = 0) -> list[Ended]:
    """Programs of one repeat of each cell, in order."""
    if not tables.has("programs"):
        return []
    files: dict[tuple[str, str], list[tuple[str, int]]] = {}
    if tables.has("program_files"):
        for row in _of_repeat(tables, "program_files", repeat).iter_rows(named=True):
            own = files.setdefault((row["run"], row["program"]), [])
            own.append((row["path"], row["size_bytes"]))
    return [
        Ended(
            levels={name: row[name] for name in tables.experiment.factors},
            repeat=row["repeat"],
            name=row["program"],
            host=row["host"],
            command=row["command"],
            end=_end(row),
            from_s=_seconds(row["start_ns"]),
            to_s=_seconds(row["end_ns"]),
            said=said(row["output"], row["errors"]),
            output=row["output"],
            errors=row["errors"],
            files=files.get((row["run"], row["program"]), []),
        )
        for row in _of_repeat(tables, "programs", repeat).iter_rows(named=True)
    ]


def _of_repeat(tables: Tables, name: str, repeat: int) -> pl.DataFrame:
    """Rows of one repeat of all cells, in design order."""
    runs = tables.runs.filter(pl.col("repeat") == repeat)
    factors = list(tables.experiment.factors)
    if not factors:
        return tables.of_repeat(name, {}, repeat)
    cells = [
        dict(zip(factors, row, strict=True))
        for row in runs.select(factors).unique(maintain_order=True).iter_rows()
    ]
    return pl.concat([tables.of_repeat(name, cell, repeat) for cell in cells])


def _end(row: dict[str, Any]) -> str:
    """`exit 0`, `stopped`, `signal 9`, or why it did not start."""
    if row["outcome"] == "exited":
        return f"exit {row['exit_code']}"
    if row["outcome"] == "signalled":
        return f"signal {row['signal']}"
    return str(row["outcome"])


def seconds(time_s: float | None) -> str:
    """A time to the millisecond; empty where there is none."""
    return "" if time_s is None else f"{time_s:.3f}".rstrip("0").rstrip(".")


def _seconds(time_ns: int) -> float | None:
    return time_ns * 1e-9 if time_ns >= 0 else None


def said(output: str, errors: str) -> str:
    """Result of a program: of iperf3's JSON its rates, of others the last line."""
    found = _iperf3(output)
    if found:
        return found
    for text in (output, errors):
        lines = [line.strip() for line in text.splitlines() if line.strip(" \t-")]
        if lines:
            return lines[-1]
    return ""


def _iperf3(output: str) -> str:
    """`19.04 Mbit/s, 10 retransmissions` of iperf3's `-J`; empty for anything else."""
    if not output.lstrip().startswith("{"):
        return ""
    try:
        flows = iperf3.read(output.encode(errors="replace")).flows
    except MeasuredError as error:
        return error.what.removeprefix(iperf3.SAYS) if error.place == "error" else ""
    found = iperf3.totals(flows)
    if found.mbps is None:
        return ""
    words = f"{number(found.mbps)} Mbit/s"
    again = found.retransmissions
    if again is not None:
        words += f", {number(again)} {noun(again, 'retransmission')}"
    if found.lost_percent is not None:
        words += f", {number(found.lost_percent)} % lost"
    if found.back_mbps is not None:  # of --bidir
        words += f"; back {number(found.back_mbps)} Mbit/s"
    return words


def table(tables: Tables, width: int = WIDTH) -> Group | None:
    """The programs of the first repeat for a terminal; None without any."""
    every = programs(tables)
    if not every:
        return None
    factors = list(tables.experiment.factors)

    def make(form: tuple[int, int]) -> Table:
        made = plain_table()
        for heading in (*(shortened(name, _NAME) for name in factors), "program", "on", "command"):
            made.add_column(heading)
        for heading in ("from s", "to s"):
            made.add_column(heading, justify="right", no_wrap=True)
        made.add_column("end", no_wrap=True)
        made.add_column("said")
        for one in every[:_MOST]:
            made.add_row(
                *(shortened(one.levels[name], _NAME) for name in factors),
                shortened(one.name, _NAME),
                one.host,
                shortened(one.command, form[0]),
                *map(seconds, (one.from_s, one.to_s)),
                shortened(one.end, 24),
                shortened(one.said, form[1]),
            )
        if len(every) > _MOST:
            made.caption = f"{len(every) - _MOST} more programs: dumbbell report, or --json"
            made.caption_justify = "left"
        return made

    forms = ((_COMMAND, _SAID), (20, 28), (12, 20), (8, 12))
    return titled("Programs", fitted(make, forms, width))


def to_json(tables: Tables) -> list[dict[str, Any]]:
    """Programs of the first repeat, for `--json`."""
    return [
        {
            **one.levels,
            "program": one.name,
            "host": one.host,
            "command": one.command,
            "end": one.end,
            "from_s": one.from_s,
            "to_s": one.to_s,
            "said": one.said,
        }
        for one in programs(tables)
    ]
