"""Event traces of ns-2 and ns-3: reading into result tables, writing from runs."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import _core
from dumbbell._core import Monitor
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.trace.names import Names, read_names, renamed

__all__ = ["Trace", "TraceError", "read_hops", "read_trace"]

#: Callback for the number of bytes read.
Told = Callable[[int], None]
_Found = tuple[str, dict[str, bytes]]
#: Default maximum of hops that `read_hops` returns.
HOPS_MAX = 3_000_000


class TraceError(DumbbellError):
    """Trace that cannot be read."""

    code = Code.TRACE


@dataclass(frozen=True, slots=True)
class Trace:
    """Contents of a trace.

    Attributes:
        name: Path of the file.
        about: `format`, `lines`, `events`, `bytes`, `first_ns`, `last_ns`, `nodes`, `links` (pipe,
            from, to), `flows`, `problems` (line, lines, message), `remarks` (time_ns, text). From
            `read_trace` also `delays` (per link: time in the queue, and from there to the far end)
            and `streams` (per direction of a flow: counts, one-way delays, points of the sequence
            plot). From `read_hops` also `left_out`.
        tables: Result tables as the engines fill them. Values that a trace lacks are unknown.
        names: Names of the run's nodes, links and flows; None: the trace is not from a run.
    """

    name: str
    about: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    names: Names | None


def read_trace(path: str | Path, *, names: Path | None = None, told: Told | None = None) -> Trace:
    """Reads a trace of any length: `flows`, `pipes`, `samples`, `queues`, `drops`.

    Args:
        path: The file, plain, gzip or zstd; `-`: standard input.
        names: File with the names of nodes, links and flows, from `dumbbell run --traces`; None:
            `<path>.json` if it exists.
        told: Called regularly with the number of bytes read.

    Raises:
        TraceError: The file cannot be read, or is not a trace.
    """
    return _read(path, names, told, _core.trace_summary)


def read_hops(
    path: str | Path,
    *,
    from_ns: int = 0,
    to_ns: int = 2**62,
    most: int = HOPS_MAX,
    names: Path | None = None,
    told: Told | None = None,
) -> Trace:
    """Reads the hops of every packet in a time range of a trace: the table `hops`.

    Args as of `read_trace`. `most`: maximum number of hops; the others are counted (`left_out`).

    Raises:
        TraceError: The file cannot be read, or is not a trace.
    """
    return _read(
        path,
        names,
        told,
        lambda name, monitor: _core.trace_hops(name, from_ns, to_ns, most, monitor),
    )


def _read(
    path: str | Path,
    names: Path | None,
    told: Told | None,
    reading: Callable[[str, Monitor], _Found],
) -> Trace:
    name = str(path)
    known = read_names(path, names)
    try:
        text, streams = _watched(lambda monitor: reading(name, monitor), told)
    except OSError as error:
        problem = str(error.strerror or error).partition(" (os error")[0]
        raise TraceError(f"{name}: cannot be read: {problem}") from None
    except ValueError as error:
        raise TraceError(f"{name}: {error}") from None
    tables = {one: pl.read_ipc_stream(io.BytesIO(data)) for one, data in streams.items()}
    about: dict[str, Any] = json.loads(text)
    if known is None:
        return Trace(name, about, tables, None)
    about, tables = renamed(known, about, tables)
    return Trace(name, about, tables, known)


def _watched(reading: Callable[[Monitor], _Found], told: Told | None) -> _Found:
    """Reads in a separate thread, so that Ctrl-C and `told` work meanwhile."""
    monitor = Monitor()
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(reading, monitor)
        try:
            while not wait([found], timeout=0.2).done:
                if told is not None:
                    told(monitor.progress_ns)
        except BaseException:
            monitor.cancel()
            raise
        return found.result()
