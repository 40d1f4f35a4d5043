"""Tables of README.md: `dumbbell study tables slow-start`.

All parts on the simulator (four minutes), and the part `kernel` with five repeats on a kernel,
where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dumbbell.studies.pages import Made, Runs, as_json, markdown, number, verdict_lines

PAGE = "README.md"
KERNEL_REPEATS = 5
VALUES = ("exit_bdp", "lost", "rise_s")
Row = dict[str, Any]


def measured(row: Row) -> list[str]:
    """Exit, losses and rise time."""
    return [number(row[f"{name}_measured"]) for name in VALUES]


def starts(rows: list[Row], jitter: bool) -> list[str]:
    """Eight ways to start over 100 Mbit/s and 600 ms, by queue."""
    heads = ["start", "queue", "exit (BDP)", "lost", "90 % after (s)"]
    return markdown(
        heads,
        (
            [row["start"], row["buffer"], *measured(row)]
            for row in rows
            if (row["rate"], row["rtt"]) == ("100 Mbit/s", "600 ms")
            and (row["jitter"] != "0 ms") == jitter
        ),
    )


def engines(ours: list[Row], theirs: list[Row]) -> list[str]:
    """HyStart and none on the simulator and on the kernel."""
    heads = ["start", "rate", "RTT", "jitter"]
    heads += [f"{what}, {engine}" for engine in ("simulator", "kernel")
              for what in ("exit (BDP)", "lost", "90 % after (s)")]  # fmt: skip
    keys = ("start", "rate", "rtt", "jitter")
    kernel = {tuple(row[key] for key in keys): row for row in theirs}
    rows = []
    for row in ours:
        key = tuple(row[name] for name in keys)
        rows.append([*key, *measured(row), *measured(kernel[key])])
    return markdown(heads, rows)


def tables(runs: Runs) -> Iterator[Made]:
    """The tables of the page; those beside the kernel only where it may run."""
    ours = as_json(runs.study())
    yield PAGE, "plain", starts(ours["tables"]["alone"], jitter=False)
    yield PAGE, "jitter", starts(ours["tables"]["alone"], jitter=True)
    if runs.allows("linux"):
        theirs = as_json(runs.study(engine="linux", parts=("kernel",), repeats=KERNEL_REPEATS))
        yield PAGE, "engines", engines(ours["tables"]["kernel"], theirs["tables"]["kernel"])
        yield PAGE, "verdicts", verdict_lines(ours["claims"], theirs["claims"], number)
