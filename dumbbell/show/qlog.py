"""Logs of the QUIC connections of a stored run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dumbbell import _core
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.files.output import write_output
from dumbbell.show.chosen import ChosenRun

_ENDS = ("client", "server")


def write_logs(chosen: ChosenRun, folder: Path) -> Iterator[Path]:
    """Writes a file per flow and end; yields each. The run is executed again, with logs.

    Raises:
        DumbbellError: The run is of another engine, has no such connection, or gives another
            result now.
    """
    row = chosen.results.runs.to_dicts()[0]
    scenario = row["scenario"]
    if chosen.record.engine != "sim":
        raise DumbbellError(
            f"a run of engine {chosen.record.engine}: only runs of the simulator can be made again "
            "with logs",
            code=Code.ENGINE,
        )
    if '"plugin":{' in scenario:
        raise DumbbellError("a run with plug-ins cannot be made again with logs", code=Code.NO_RUN)
    output = _core.run(scenario, row["seed"], logged=True)
    logged = {flow: logs for flow, logs in output.logs.items() if any(logs)}
    if not logged:
        stacks = "; of the stacks, only quinn writes logs" if output.logs else ""
        raise DumbbellError(f"no QUIC flow in this run{stacks}", code=Code.NO_RUN)
    if output.digest != row["digest"]:
        raise DumbbellError(
            "this build gives another result than the one in the store; run the experiment again",
            code=Code.NO_RUN,
        )
    for flow, logs in logged.items():
        for end, log in zip(_ENDS, logs, strict=True):
            path = folder / f"{flow.replace('/', '_')}.{end}.sqlog"
            folder.mkdir(parents=True, exist_ok=True)
            write_output(path, log)
            yield path
