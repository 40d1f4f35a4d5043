"""One run: facts, flows, links, sentences, incidents."""

from __future__ import annotations

from typing import Any

import polars as pl

from dumbbell.errors import StoreError, shortened
from dumbbell.explore.sources import Source, levels_words, planned_of
from dumbbell.metrics import METRICS
from dumbbell.metrics.numbers import number
from dumbbell.results import Results
from dumbbell.scenario import read_scenario
from dumbbell.summary.cells import cells
from dumbbell.summary.programs import programs, seconds
from dumbbell.summary.sentences import sentences
from dumbbell.summary.sockets import HEADINGS, sockets

#: Metrics of a flow that the view shows.
_FLOW_METRICS = ("goodput_mbps", "srtt_mean_ms", "rtt_mean_ms", "retransmissions")
_FLOW_COLUMNS = (
    "flow", "kind", "congestion_control", "from_host", "to_host", "timeouts", "recoveries",
    "dropped_packets",
)  # fmt: skip
_PIPE_COLUMNS = (
    "pipe", "arrived_packets", "left_packets", "dropped_overflow_packets",
    "dropped_random_packets", "dropped_aqm_packets", "marked_packets", "queue_max_packets",
)  # fmt: skip
#: Rows of a table, sentences, and marks on charts, at most.
_MOST_ROWS, _MOST_SENTENCES, _MOST_MARKS = 200, 4, 400
#: Letters of a command, and of what a program said.
_MOST_LETTERS = 80
_LOSS_STATES = ("CWR", "Recovery", "Loss")
#: Tables with a row per packet.
_PACKETS = ("packets", "hops", "drops")


def run_facts(source: Source, run: str) -> dict[str, Any]:
    """View of a run without its charts.

    Raises `DumbbellError` for an unknown run, `StoreError` if its files are damaged.
    """
    planned = planned_of(source, run)
    notes: list[str] = []
    results = source.of_run(run)
    row = results.runs.row(0, named=True)
    scenario = read_scenario(row["scenario"])
    try:
        marks = _marks(results)
    except StoreError as error:
        marks, notes = [], [str(error)]
    return {
        "run": run,
        "title": results.experiment.name,
        "words": levels_words(planned),
        "levels": dict(planned.levels),
        "facts": [
            ["repeat", planned.repeat],
            ["seed", planned.seed],
            ["engine", f"{row['engine']} {row['engine_version']}"],
            ["duration", f"{scenario['duration_ns'] / 1e9:g} s"],
            ["packets", row["packets"]],
            ["events", row["events"]],
            ["took", f"{number(round(row['wall_s'], 3))} s"],
            ["digest", str(row["digest"])[:16]],
        ],
        "flows": _flows(results),
        "links": _table(results.pipes, _PIPE_COLUMNS),
        "programs": _programs(results, planned.repeat),
        "sockets": _sockets(results, planned.repeat),
        "sentences": sentences(results, cells(results), _MOST_SENTENCES),
        "marks": marks,
        "tables": [name for name in ("samples", "queues", *_PACKETS) if results.has(name)],
        "duration_s": scenario["duration_ns"] / 1e9,
        "same": [
            {"run": one.run, "repeat": one.repeat}
            for one in source.planned
            if one.levels == planned.levels
        ][:_MOST_ROWS],
        "notes": notes,
    }


def _flows(results: Results) -> dict[str, Any]:
    flows = results.flows
    for name in _FLOW_METRICS:
        own = METRICS[name].computed(results).select("flow", pl.col("value").alias(name))
        flows = flows.join(own.unique("flow"), on="flow", how="left", maintain_order="left")
    found = _table(flows, (*_FLOW_COLUMNS, *_FLOW_METRICS))
    found["labels"] = {name: METRICS[name].axis for name in _FLOW_METRICS}
    return found


def _programs(results: Results, repeat: int) -> dict[str, Any]:
    every = programs(results, repeat)
    rows: list[list[Any]] = []
    for one in every[:_MOST_ROWS]:
        texts = [shortened(text, _MOST_LETTERS) for text in (one.command, one.end, one.said)]
        rows.append([one.name, one.host, *texts, *map(seconds, (one.from_s, one.to_s))])
    columns = ["program", "on", "command", "end", "said", "from s", "to s"]
    return {"columns": columns, "rows": rows, "total": len(every)}


def _sockets(results: Results, repeat: int) -> dict[str, Any]:
    every = sockets(results, repeat)
    rows = [
        [
            one.name, one.congestion_control, one.from_s, one.to_s, one.sent_bytes * 1e-3,
            one.rate_mbps, one.cwnd_mean, one.cwnd_max, one.rtt_mean_ms, one.rtt_min_ms,
            one.retransmissions,
        ]
        for one in every[:_MOST_ROWS]
    ]  # fmt: skip
    return {"columns": list(HEADINGS), "rows": rows, "total": len(every)}


def _table(frame: pl.DataFrame, columns: tuple[str, ...]) -> dict[str, Any]:
    shown = frame.select(columns)
    rows = [
        [None if isinstance(one, int) and one < 0 else one for one in row]
        for row in shown.head(_MOST_ROWS).iter_rows()
    ]
    return {"columns": list(columns), "rows": rows, "total": frame.height}


def _marks(results: Results) -> list[dict[str, Any]]:
    """Incidents of flows: entries into Recovery, CWR and Loss, which can be explained."""
    if not results.has("samples"):
        return []
    samples = results.samples.select("time_ns", "flow", "state")
    before = pl.col("state").shift(1).over("flow")
    entered = samples.filter(
        pl.col("state").is_in(_LOSS_STATES) & (before.is_null() | (pl.col("state") != before))
    )
    rows = entered.sort("time_ns").head(_MOST_MARKS).iter_rows(named=True)
    return [
        {"time_s": row["time_ns"] / 1e9, "flow": row["flow"], "state": row["state"]} for row in rows
    ]
