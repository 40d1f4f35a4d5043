"""Shared steps of the verbs that run sweeps: consent, progress, events, forecasts."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from dumbbell import console
from dumbbell.cli.options import Execution
from dumbbell.codes import Code
from dumbbell.console.words import noun
from dumbbell.errors import DumbbellError
from dumbbell.execution import use_progress
from dumbbell.execution.bar import duration_text, progress_on
from dumbbell.execution.elsewhere import opened_executor, refuse_shared_alone
from dumbbell.execution.events import event_log
from dumbbell.execution.forecast import Forecast
from dumbbell.execution.progress import Progress, Several, Sweep

if TYPE_CHECKING:
    from rich.table import Table

#: Number of runs from which on a sweep is only begun with consent.
MOST_RUNS = 10_000


class _Consent(Progress):
    """Asks once before more than `MOST_RUNS` runs; refuses them where nobody can be asked.

    Runs of the parts of a study, and of rounds of repeats, count together.
    """

    def __init__(self) -> None:
        self._runs, self._given = 0, False

    def begin(self, sweep: Sweep) -> None:
        """See :class:`Progress`."""
        self._runs += sweep.runs
        if self._given or self._runs <= MOST_RUNS:
            return
        text = f"{sweep.title}: {self._runs} runs are to be made, more than {MOST_RUNS}"
        if not (sys.stdin is not None and sys.stdin.isatty() and console.err.is_terminal):
            raise DumbbellError(
                f"{text}: --yes makes them, --dry-run says what they take", code=Code.NO_ANSWER
            )
        if not typer.confirm(f"{text}. Make them?", err=True):
            raise DumbbellError(f"{sweep.title}: these runs were not made", code=Code.NO_ANSWER)
        self._given = True


@contextlib.contextmanager
def executed(options: Execution, workers: int | None) -> Iterator[None]:
    """Context in which runs are consented to, shown, and executed, by a cluster if one is named.

    A dry run executes nothing, and writes no file of events.
    """
    refuse_shared_alone(options.cluster, shared=options.shared)
    with contextlib.ExitStack() as stack:
        receivers: list[Progress] = [] if options.yes else [_Consent()]
        receivers.append(progress_on(console.err, verbose=options.verbose))
        if options.events is not None and not options.dry_run:
            receivers.append(stack.enter_context(event_log(options.events)))
        stack.enter_context(use_progress(Several(receivers)))
        if not options.dry_run:
            opened = opened_executor(options.cluster, workers, shared=options.shared)
            stack.enter_context(opened)
        yield


def forecast_table(found: Sequence[Forecast]) -> Table:
    """A row per experiment, and their sum."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("experiment", overflow="fold")
    table.add_column("engine")
    for name in ("cells", "runs", "done", "to do", "size", "time"):
        table.add_column(name, justify="right")
    table.add_column("time is")
    for one in found:
        name = one.name if one.shard is None else f"{one.name}, shard {one.shard}"
        source = f"of {one.measured} stored runs" if one.measured else "estimated"
        table.add_row(name, one.engine, *_numbers([one]), source)
    if len(found) > 1:
        table.add_section()
        table.add_row("all", "", *_numbers(found), "")
    return table


def _numbers(found: Sequence[Forecast]) -> list[str]:
    counts = [sum(getattr(one, name) for one in found) for name in ("cells", "runs", "done")]
    missing = sum(one.missing for one in found)
    size = sum(one.bytes for one in found) / 1e6
    time_s = sum(one.time_s for one in found)
    time = "under 1 s" if time_s < 1 else duration_text(time_s)
    return [*map(str, counts), str(missing), f"{size:.3g} MB", time]


def forecast_lines(found: Sequence[Forecast]) -> Iterator[str]:
    """Lines below the table: kept tables, number of workers, whether `--yes` is needed."""
    for kept in dict.fromkeys(tuple(one.kept) for one in found):
        names = ", ".join(one.name for one in found if tuple(one.kept) == kept)
        over_time = f"over time: {', '.join(kept)}" if kept else "nothing over time"
        yield f"{names}: each run keeps flows, pipes, transfers, connections; {over_time}."
    workers = sorted({one.workers for one in found})
    at_once = f"{' or '.join(map(str, workers))} {noun(workers[-1] if workers else 0, 'run')}"
    yield f"Times are of {at_once} at once. Nothing was run."
    large = [one.name for one in found if one.missing > MOST_RUNS]
    if large:
        yield f"More than {MOST_RUNS} runs ({', '.join(large)}): --yes makes them without asking."


def say_forecasts(found: Sequence[Forecast]) -> None:
    """Prints what sweeps would take."""
    console.out.print(forecast_table(found))
    for line in forecast_lines(found):
        console.out.print(line, soft_wrap=True)
