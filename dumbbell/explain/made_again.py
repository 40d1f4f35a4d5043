"""A stored run made again with what an explanation needs, and its explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from dumbbell.codes import Code
from dumbbell.engines import engine_named
from dumbbell.errors import DumbbellError, did_you_mean, nearest_name, shortened
from dumbbell.execution.again import made_again, same_flows
from dumbbell.explain.chain import explain
from dumbbell.explain.elsewhere import elsewhere
from dumbbell.explain.explanation import Explanation
from dumbbell.explain.incident import near_ns
from dumbbell.explain.observed import observe
from dumbbell.explain.stretch import stretch_around
from dumbbell.explain.watched import interval_ns, watched
from dumbbell.explain.words import moment, span
from dumbbell.metrics.stretch import lives_ns
from dumbbell.results import Results
from dumbbell.scenario import Scenario, read_scenario
from dumbbell.show.chosen import ChosenRun, choose_run
from dumbbell.units import TIME, QuantityError, whole

#: Tables of a run that an explanation reads.
TABLES = ("flows", "hops", "packets", "samples", "queues")
#: Kinds of flows that can be explained.
_TCP = ("tcp", "subflow")
_SHOWN = 8
#: Runs at most, each with an earlier start of its packets.
_TRIES = 4


@dataclass(frozen=True, slots=True)
class Explained:
    """Explanation of an incident in a stored run.

    Attributes:
        run: The run.
        explanation: Chain of causes.
        notes: What the reader must know about it.
    """

    run: ChosenRun
    explanation: Explanation
    notes: Sequence[str]


def explain_stored(
    store: Path,
    flow: str,
    at: str,
    cell: str | None,
    repeat: int | None,
    err: Console,
    experiment: str | None = None,
) -> Explained:
    """Explains what happened to a flow of a stored run near a time.

    Args:
        store: Folder of the store.
        flow: Name of the flow.
        at: Time with its unit.
        cell: Levels of factors, as `rtt=10 ms,cc=reno`; None: any.
        repeat: Repeat, counted from 0; None: the first.
        err: Console for progress.
        experiment: Name or id of the experiment; None: the one run last.

    Raises:
        DumbbellError: There is no such run, flow or time, the run cannot be made again, or nothing
            happened to the flow near the time.
        StoreError: The store cannot be read.
    """
    return explain_run(choose_run(store, cell, repeat, experiment), flow, at, err)


def explain_run(run: ChosenRun, flow: str, at: str, err: Console) -> Explained:
    """Explains what happened to a flow of a chosen run near a time, see :func:`explain_stored`."""
    row = run.results.runs.row(0, named=True)
    scenario = read_scenario(row["scenario"])
    at_ns = _time(at, scenario["duration_ns"])
    totals = _flow(run, flow, at_ns)
    engine = engine_named(run.record.engine)
    if not engine.repeatable:
        raise DumbbellError(
            f"runs on the engine {run.record.engine} cannot be made again, they are in real time:"
            " nothing in them can be explained",
            code=Code.NOT_KEPT,
        )
    simulated = run.record.engine == "sim"
    stretch = stretch_around(run.results.pipes, at_ns, scenario["duration_ns"], guest=not simulated)
    hosts = [str(totals["from_host"])] if simulated else []
    interval = interval_ns(scenario, lives_ns(run.results.flows), guest=not simulated)
    for left in reversed(range(_TRIES)):
        text = watched(scenario, (stretch.kept_ns, stretch.to_ns), interval, hosts)
        again = made_again(run.record, run.planned, text, scenario["duration_ns"], err, engine)
        whole_ns = (stretch.from_ns, stretch.to_ns)
        explanation = explanation_of(again, scenario, flow, at_ns, whole_ns, at)
        earlier = stretch.earlier() if explanation.cut and left else None
        if earlier is None:
            break
        stretch = earlier
    notes = (
        [] if simulated else [f"Causes of retransmissions are not known on {run.record.engine}."]
    )
    if not same_flows(again, run.results.flows):
        notes.append(
            "The run was made by another version of the engine: made again, it differs from its"
            " tables in the store."
        )
    if explanation.cut:
        notes.append(
            f"Packets are kept from {moment(stretch.from_ns)} on, and the incident may have begun"
            " before: its earlier drops are not counted."
        )
    return Explained(run, explanation, notes)


def explanation_of(
    results: Results,
    scenario: Scenario,
    flow: str,
    at_ns: int,
    stretch: tuple[int, int],
    at: str,
) -> Explanation:
    """Explanation from the tables of a watched run. Raises `DumbbellError` if nothing is near."""
    tables = {name: getattr(results, name) for name in TABLES}
    seen = observe(scenario, flow, tables, stretch)
    found = explain(seen, at_ns)
    if found is not None:
        return found
    other = elsewhere(tables["samples"], flow, at_ns)
    nearest = (
        f'the nearest incident is at {moment(other)}: --at "{moment(other)}"'
        if other is not None
        else "the run has no retransmission of it, and no state Recovery, CWR or Loss"
    )
    raise DumbbellError(
        f"--at {shortened(at)}: nothing happened to {flow} within {span(near_ns(seen))} of it;"
        f" {nearest}",
        code=Code.EXPLAIN,
    )


def _time(text: str, end_ns: int) -> int:
    """Value of `--at` in ns."""
    try:
        at_ns = whole(text, TIME)
    except QuantityError as error:
        hint = did_you_mean(error.nearest)
        raise DumbbellError(
            f"--at {shortened(text)}: {error.message}{hint}", code=error.code
        ) from None
    if not 0 <= at_ns <= end_ns:
        raise DumbbellError(
            f"--at {shortened(text)}: the run lies between 0 s and {moment(end_ns)}",
            code=Code.MOMENT,
        )
    return at_ns


def _flow(run: ChosenRun, flow: str, at_ns: int) -> dict[str, Any]:
    """Row of `flows` of a TCP flow."""
    flows = run.results.flows
    names = flows.filter(pl.col("kind").is_in(_TCP))["flow"].to_list()
    rows = flows.filter(pl.col("flow") == flow)
    if not names:
        raise DumbbellError(
            f"{run.title}: no TCP runs here, and only TCP is explained", code=Code.EXPLAIN
        )
    if rows.is_empty():
        near = nearest_name(flow, names)
        hint = did_you_mean(near, ".")
        listed = ", ".join(shortened(name) for name in names[:_SHOWN])
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        raise DumbbellError(
            f"--flow {shortened(flow)}: no such flow{hint} TCP flows: {listed}{more}",
            code=Code.SELECTION,
        )
    row = rows.row(0, named=True)
    if row["kind"] not in _TCP:
        own = flows.filter(pl.col("connection") == flow)["flow"].to_list()
        instead = f"; its subflows are {', '.join(own)}" if own else ""
        raise DumbbellError(
            f"--flow {flow}: it is {row['kind']}, and only TCP is explained{instead}",
            code=Code.EXPLAIN,
        )
    start, end = int(row["start_ns"]), int(row["end_ns"])
    if start < 0:
        raise DumbbellError(f"--flow {shortened(flow)}: it never began", code=Code.EXPLAIN)
    if at_ns < start or (0 <= end < at_ns):
        lived = f"from {moment(start)} to {moment(end)}"
        raise DumbbellError(f"--at {moment(at_ns)}: {flow} lived {lived}", code=Code.MOMENT)
    return row
