"""Events of a sweep as lines of JSON, for programs that watch it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.execution.progress import Progress, Sweep, Work
from dumbbell.files.output import PRINTED, OutputError, json_text
from dumbbell.files.whole import write_all
from dumbbell.runs import RunResult


class EventLog(Progress):
    """Progress that writes a line of JSON per event, at once. See docs/command-line.md."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle
        self._open: dict[str, int] | None = None

    def begin(self, sweep: Sweep) -> None:
        """See :class:`Progress`."""
        shard = None if sweep.shard is None else str(sweep.shard)
        about: dict[str, Any] = {
            "experiment": sweep.name, "engine": sweep.engine, "shard": shard
        }  # fmt: skip
        self._open = {"finished": 0, "failed": 0, "left": sweep.runs}
        self._write("begin", **about, runs=sweep.runs, kept=sweep.kept)

    def started(self, work: Work) -> None:
        """See :class:`Progress`."""
        self._write("started", work.begun_s, **_of(work))

    def finished(self, work: Work, result: RunResult) -> None:
        """See :class:`Progress`."""
        self._count("finished")
        self._write("finished", **_of(work), wall_s=result.wall_s, digest=result.digest)

    def failed(self, work: Work, why: str) -> None:
        """See :class:`Progress`."""
        self._count("failed")
        self._write("failed", **_of(work), error=why)

    def end(self) -> None:
        """See :class:`Progress`."""
        if self._open is not None:
            counts, self._open = self._open, None
            self._write("end", **counts)

    def _count(self, what: str) -> None:
        if self._open is not None:
            self._open[what] += 1
            self._open["left"] -= 1

    def _write(self, event: str, time_s: float | None = None, **fields: Any) -> None:
        head = {"event": event, "time": round(time.time() if time_s is None else time_s, 3)}
        line = json_text({**head, **fields}) + "\n"
        try:
            write_all(self._handle, line.encode(errors="replace"))
        except OSError as error:
            raise _unwritable(self._path, error) from None


def _of(work: Work) -> dict[str, Any]:
    return {
        "run": work.run,
        "levels": dict(work.levels),
        "repeat": work.repeat,
        "seed": work.seed,
        "worker": work.worker,
    }


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path}: events cannot be written: {error.strerror or error}")


@contextlib.contextmanager
def event_log(path: Path) -> Iterator[EventLog]:
    """Context with a log that appends to a file, a pipe or a device.

    Raises:
        DumbbellError: The file cannot be written, or is standard output.
    """
    if str(path) == PRINTED:
        raise DumbbellError(
            "--events -: standard output has the tables: name a file, a named pipe, or /dev/stderr",
            code=Code.EXCLUSIVE,
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        yield EventLog(path, handle)
    finally:
        os.close(handle)
