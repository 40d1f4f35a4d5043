"""Tables of README.md: `dumbbell study tables quic`.

All parts on the simulator (a minute), and two of them on a kernel, where there is one (six).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dumbbell.studies.pages import Made, Runs, as_json, markdown, number, verdict_lines

PAGE = "README.md"
ON_KERNEL = ("media", "queues")
KERNEL_REPEATS = 3
Row = dict[str, Any]


def share(value: float) -> str:
    """A share in percent."""
    return f"{number(100 * value)} %"


def measured(row: Row) -> list[str]:
    """Goodput and RTT."""
    return [number(row["mbps_measured"]), number(row["rtt_ms_measured"])]


def alone(rows: list[Row], heads: dict[str, str]) -> list[str]:
    """Goodput and packets sent again of a flow that has the line alone."""
    return markdown(
        [*heads.values(), "Mbit/s", "sent again"],
        (
            [
                *(row[name] for name in heads),
                number(row["mbps_measured"]),
                share(row["again_measured"]),
            ]
            for row in rows
        ),
    )


def media(ours: list[Row], theirs: list[Row]) -> list[str]:
    """Goodput and RTT of a flow that has the line alone, on both engines."""
    heads = ["sender", "Mbit/s, simulator", "RTT (ms)", "Mbit/s, kernel", "RTT (ms)"]
    kernel = {row["sender"]: row for row in theirs}
    return markdown(
        heads,
        ([row["sender"], *measured(row), *measured(kernel[row["sender"]])] for row in ours),
    )


def beside(rows: list[Row], against: str) -> list[str]:
    """Shares over buffers, a row per control and path."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        if row["against"] == against:
            key = (row["cc"], row["rate"], row["rtt"])
            found.setdefault(key, {})[row["buffer"]] = share(row["share_measured"])
    buffers = list(next(iter(found.values())))
    return markdown(
        ["control", "rate", "RTT", *buffers],
        ([*key, *(cells[buffer] for buffer in buffers)] for key, cells in found.items()),
    )


def shared(row: Row) -> list[str]:
    """Share, RTT and packets sent again of the QUIC connection."""
    again = share(row["again_measured"])
    return [share(row["share_measured"]), number(row["rtt_ms_measured"]), again]


def queues(ours: list[Row], theirs: list[Row]) -> list[str]:
    """Shares below managed queues, on both engines."""
    heads = ["control", "queue", "share, simulator", "RTT (ms)", "sent again"]
    heads += ["share, kernel", "RTT (ms)", "sent again"]
    kernel = {(row["cc"], row["queue"]): shared(row) for row in theirs}
    keys = [(row["cc"], row["queue"]) for row in ours]
    return markdown(
        heads,
        ([*key, *shared(row), *kernel[key]] for key, row in zip(keys, ours, strict=True)),
    )


def user(rows: list[Row]) -> list[str]:
    """Shares over buffers beside Linux's CUBIC, a row per sender and RTT."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        key = (row["stack"], row["cc"], row["rtt"])
        found.setdefault(key, {})[row["buffer"]] = share(row["share_measured"])
    buffers = list(next(iter(found.values())))
    return markdown(
        ["stack", "control", "RTT", *buffers],
        ([*key, *(cells[buffer] for buffer in buffers)] for key, cells in found.items()),
    )


def tables(runs: Runs) -> Iterator[Made]:
    """The tables of the page."""
    ours = as_json(runs.study())
    made = ours["tables"]
    yield PAGE, "order", alone(made["order"], {"wan": "delay", "sender": "sender"})
    yield PAGE, "late", alone(made["late"], {"late": "late", "sender": "sender"})
    yield PAGE, "beside", beside(made["beside"], "cubic")
    yield PAGE, "bbr3", beside(made["beside"], "bbr3")
    yield PAGE, "user", user(made["user"])
    heads = {"stack": "stack", "cc": "control", "rtt": "RTT", "loss": "loss"}
    yield PAGE, "alone", alone(made["user_alone"], heads)
    if runs.allows("linux"):
        theirs = as_json(runs.study(engine="linux", parts=ON_KERNEL, repeats=KERNEL_REPEATS))
        yield PAGE, "verdicts", verdict_lines(ours["claims"], theirs["claims"], number)
        yield PAGE, "media", media(made["media"], theirs["tables"]["media"])
        yield PAGE, "queues", queues(made["queues"], theirs["tables"]["queues"])
