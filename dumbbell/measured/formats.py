"""Formats of result files, and which one a file has."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, did_you_mean, nearest_name
from dumbbell.measured import csv_columns, flent, flowmonitor, iperf3, irtt, qlog, ss
from dumbbell.measured.values import Format, Measured, MeasuredError

#: Formats by name, in the order in which they are tried.
FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        iperf3.FORMAT,
        flent.FORMAT,
        irtt.FORMAT,
        qlog.FORMAT,
        ss.FORMAT,
        flowmonitor.FORMAT,
        csv_columns.FORMAT,
    )
}


def format_named(name: str) -> Format:
    """Format of a name. Raises `DumbbellError`."""
    if name not in FORMATS:
        near = nearest_name(name, FORMATS)
        hint = did_you_mean(near)
        raise DumbbellError(
            f"--as {name}: no such format{hint}; there are {', '.join(FORMATS)}",
            code=Code.SELECTION,
        )
    return FORMATS[name]


def format_of(data: bytes) -> Format:
    """Format that data look like. Raises `MeasuredError` if they look like none."""
    for one in FORMATS.values():
        if one.looks(data):
            return one
    hint = "--as names one"
    if b"[ ID] Interval" in data[:65_536]:
        hint = "iperf3 -J writes what is read"
    elif b"," in data[:4096].partition(b"\n")[0] and data.lstrip()[:1] not in (b"{", b"["):
        hint = "the first line of CSV names columns with their units, as time_s,flow,goodput_mbps"
    raise MeasuredError("", f"none of the known formats: {', '.join(FORMATS)}; {hint}")


def read_as(one: Format, data: bytes) -> Measured:
    """Contents of data in a format, checked. Raises `MeasuredError`."""
    return one.read(data).checked()
