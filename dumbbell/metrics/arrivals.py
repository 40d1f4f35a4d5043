"""Flow completion times of flows that arrive at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import polars as pl

from dumbbell.limits.flows import least_transfer
from dumbbell.metrics.definition import Metric, Tables, keys
from dumbbell.scenario import shared_scenario

_WINDOW = "each flow that finishes before the end of the run; others are left out"


def processes(tables: Tables) -> list[str]:
    """Names of the arrivals of an experiment: their flows are `name.1`, `name.2`, …"""
    names: dict[str, None] = {}
    for scenario in tables.runs["scenario"].unique(maintain_order=True):
        names |= dict.fromkeys(one["name"] for one in shared_scenario(scenario).get("arrivals", ()))
    return list(names)


def _finished(tables: Tables) -> pl.DataFrame:
    """Their transfers, with the name of the process and the seconds that each took."""
    process = pl.col("flow").str.replace(r"\.\d+$", "")
    return (
        tables.transfers.filter((pl.col("session") == "") & pl.col("flow").str.contains(r"\.\d+$"))
        .with_columns(process.alias("arrivals"))
        .filter(pl.col("arrivals").is_in(processes(tables)))
        .with_columns(((pl.col("end_ns") - pl.col("start_ns")) / 1e9).alias("took_s"))
    )


def _over(tables: Tables, value: pl.Expr) -> pl.DataFrame:
    columns = [*keys(tables), "arrivals"]
    return (
        _finished(tables)
        .group_by(columns, maintain_order=True)
        .agg(value.cast(pl.Float64).alias("value"))
    )


def _measure_slowdown(tables: Tables) -> pl.DataFrame:
    """The time of each over that in an empty network, for each process."""
    columns = [*keys(tables), "arrivals"]
    found = _finished(tables)
    scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
    wanted = found.select("run", "arrivals", "transfer_bytes").unique(maintain_order=True)
    of: dict[tuple[str, str], Callable[[float], float]] = {}
    rows = []
    for run, name, size in wanted.iter_rows():
        key = (scenarios[run], name)
        if key not in of:
            of[key] = least_transfer(scenarios[run], f"{name}.1")
        rows.append((run, name, size, of[key](size)))
    types = {"run": pl.String, "arrivals": pl.String, "transfer_bytes": pl.Int64}
    known = pl.DataFrame(rows, schema={**types, "least_s": pl.Float64}, orient="row")
    return (
        found.join(known, on=list(types), how="left", maintain_order="left")
        .group_by(columns, maintain_order=True)
        .agg((pl.col("took_s") / pl.col("least_s")).mean().alias("value"))
    )


def _metric(name: str, label: str, unit: str, formula: str, value: pl.Expr) -> Metric:
    return Metric(
        name=name,
        label=label,
        unit=unit,
        formula=formula,
        place="from the sender's SYN to the last byte at the receiving application (transfers)",
        window=_WINDOW,
        source="flow completion time: Dukkipati and McKeown, CCR 36(1), 2006",
        computed=lambda tables: _over(tables, value),
        of=("arrivals",),
    )


COUNT = _metric("fct_count", "Finished flows", "flows", "number of finished flows", pl.len())
MEAN = _metric(
    "fct_mean_ms",
    "Flow completion time",
    "ms",
    "mean of (end_ns − start_ns) / 10⁶",
    pl.col("took_s").mean() * 1e3,
)
MEDIAN = _metric(
    "fct_median_ms",
    "Median flow completion time",
    "ms",
    "median of (end_ns − start_ns) / 10⁶",
    pl.col("took_s").median() * 1e3,
)
P99 = _metric(
    "fct_p99_ms",
    "Flow completion time, 99 %",
    "ms",
    "99th percentile of (end_ns − start_ns) / 10⁶, nearest rank",
    pl.col("took_s").quantile(0.99, "higher") * 1e3,
)
SLOWDOWN = Metric(
    name="fct_slowdown",
    label="Slowdown of flows",
    unit="",
    formula="mean of (end_ns − start_ns) / (base RTT + transfer_bytes · 8 · 1514 / 1448 / rate). "
    "Base RTT: of the shortest path of the flow. Rate: the highest that this path ever has; of a "
    "packet-delivery trace the densest stretch. The bytes that a token bucket lets through at once "
    "take no time. 1514 and 1448: full frame and its payload, as the hosts' MTU and timestamps "
    "make them",
    place=MEAN.place,
    window=_WINDOW,
    source="flow completion time over that in an empty network: Alizadeh et al., pFabric, SIGCOMM "
    "2013, §5; with the handshake it is never below 1",
    computed=_measure_slowdown,
    of=("arrivals",),
    bounds=(1.0, float("inf")),
)

METRICS = (COUNT, MEAN, MEDIAN, P99, SLOWDOWN)


class _WithoutArrivals:
    """Tables of which `flows` lacks the flows that arrived."""

    def __init__(self, tables: Tables, flows: pl.DataFrame) -> None:
        self._tables = tables
        self.flows = flows

    def __getattr__(self, name: str) -> object:
        return getattr(self._tables, name)


def arrived(names: list[str]) -> pl.Expr:
    """True for flows of these arrivals."""
    process = pl.col("flow").str.replace(r"\.\d+$", "")
    return pl.col("flow").str.contains(r"\.\d+$") & process.is_in(names)


def without_arrivals(tables: Tables) -> Tables:
    """Tables without the flows of arrivals, of which there may be thousands."""
    names = processes(tables)
    if not names:
        return tables
    return cast("Tables", _WithoutArrivals(tables, tables.flows.filter(~arrived(names))))
