"""Tables of README.md: `dumbbell study tables l4s`.

All parts on the simulator (two minutes), and two parts with two repeats on a kernel with Prague,
where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dumbbell.engines.linux.kernel import kernels
from dumbbell.studies.pages import Made, Runs, as_json, markdown, number, verdict_lines

PAGE = "README.md"
KERNEL = "prague"
PARTS = ("coexistence", "queues")
Row = dict[str, Any]


def measured(row: Row, column: str) -> str:
    """Measured value of a column."""
    return number(row[f"{column}_measured"])


def coexistence(rows: list[Row]) -> list[str]:
    """Rates and delays beside CUBIC."""
    heads = [
        "rate", "base RTT", "Prague (Mbit/s)", "CUBIC (Mbit/s)", "RTT of Prague (ms)",
        "RTT of CUBIC (ms)",
    ]  # fmt: skip
    columns = ("prague_mbps", "classic_mbps", "prague_rtt_ms", "classic_rtt_ms")
    return markdown(
        heads,
        (
            [row["rate"], row["rtt"], *(measured(row, column) for column in columns)]
            for row in rows
            if row["other"] == "cubic"
        ),
    )


def queues(rows: list[Row]) -> list[str]:
    """Rates and delays of Prague beside CUBIC, by queue."""
    heads = [
        "queue", "Prague (Mbit/s)", "CUBIC (Mbit/s)", "RTT of Prague (ms)", "RTT of CUBIC (ms)"
    ]  # fmt: skip
    columns = ("l4s_mbps", "classic_mbps", "l4s_rtt_ms", "classic_rtt_ms")
    return markdown(
        heads,
        (
            [row["queue"], *(measured(row, column) for column in columns)]
            for row in rows
            if row["cc"] == "prague"
        ),
    )


def tables(runs: Runs) -> Iterator[Made]:
    """The tables of the page; without the kernel of Prague, its column is empty."""
    ours = as_json(runs.study())
    yield PAGE, "coexistence", coexistence(ours["tables"]["coexistence"])
    yield PAGE, "queues", queues(ours["tables"]["queues"])
    if runs.allows("linux") and KERNEL in {kernel.name for kernel in kernels()}:
        theirs = as_json(runs.study(engine=f"linux:{KERNEL}", parts=PARTS, repeats=2))
        yield PAGE, "verdicts", verdict_lines(ours["claims"], theirs["claims"], number)
