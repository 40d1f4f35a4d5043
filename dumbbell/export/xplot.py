"""Time–sequence graphs for xplot, drawn as tcptrace does: from the packets at a tap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.export.run import OneRun

SUFFIX = ".xpl"


def encode(run: OneRun) -> Mapping[str, bytes]:
    """A graph per TCP flow and tap: segments, retransmissions, ACKs, SACKs, receive window.

    Raises `DumbbellError` if the run kept no packets of TCP.
    """
    packets = run.results.packets
    found = {}
    for (flow, tap), own in packets.group_by("flow", "tap", maintain_order=True):
        if (own["seq_bytes"] >= 0).any():
            title = f"{run.title}: {flow} at {tap} (time sequence graph)"
            lines = ["timeval double", "title", title, "xlabel", "time", "ylabel", "byte"]
            found[f"{flow}-{tap}"] = "\n".join([*lines, *_graph(own), "go", ""]).encode()
    if not found:
        raise DumbbellError(
            "no packets of TCP are kept: `sampling: {packets: {from: 0 s, to: 10 s}}` keeps them",
            code=Code.NOT_KEPT,
        )
    return found


def _graph(packets: pl.DataFrame) -> Iterator[str]:
    """Commands of a graph, in order of time."""
    highest = -1
    ack: tuple[float, int] | None = None
    window: tuple[float, int] | None = None
    for row in packets.sort("time_ns", maintain_order=True).iter_rows(named=True):
        time = row["time_ns"] / 1e9
        if row["direction"] == "out":
            if row["payload_bytes"] > 0:
                first, last = row["seq_bytes"], row["seq_bytes"] + row["payload_bytes"]
                again = first < highest
                highest = max(highest, last)
                yield "red" if again else "white"
                yield f"uarrow {time:.9f} {last}"
                yield f"darrow {time:.9f} {first}"
                yield f"line {time:.9f} {first} {time:.9f} {last}"
                if again:
                    yield f"atext {time:.9f} {last}\nR"
            continue
        if row["ack_bytes"] < 0:
            continue
        edge = row["ack_bytes"] + row["window_bytes"]
        yield from _step("green", ack, time, row["ack_bytes"])
        ack = (time, row["ack_bytes"])
        if row["window_bytes"] >= 0:
            yield from _step("yellow", window, time, edge)
            window = (time, edge)
        for block in row["sack_ranges_bytes"].split():
            low, _, high = block.partition("-")
            yield "purple"
            yield f"line {time:.9f} {low} {time:.9f} {high}"


def _step(colour: str, before: tuple[float, int] | None, time: float, value: int) -> Iterator[str]:
    """A level that holds until now, and then changes."""
    if before is not None:
        yield colour
        yield f"line {before[0]:.9f} {before[1]} {time:.9f} {before[1]}"
        if value != before[1]:
            yield f"line {time:.9f} {before[1]} {time:.9f} {value}"
