"""Shares of a bottleneck that several flows use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from dumbbell.limits.sharing import Bottlenecks, bottlenecks
from dumbbell.metrics.arrivals import without_arrivals
from dumbbell.metrics.definition import Metric, Tables, keys
from dumbbell.metrics.goodput import GOODPUT

_DATA = ("tcp", "mptcp", "udp")
_NONE = float("nan")


@dataclass(frozen=True)
class _Flow:
    """A flow in a run. `lasting`: it has data for at least half as long as any other lives."""

    name: str
    mbps: float
    lasting: bool


def _share(flow: _Flow, flows: Iterable[_Flow], places: Bottlenecks) -> float:
    """Goodput over that of all flows at its bottleneck."""
    sharing = [_beside(pipe, flows, places) for pipe in sorted(places.pipes[flow.name])]
    total = max((sum(one.mbps for one in own) for own in sharing if len(own) > 1), default=0.0)
    return flow.mbps / total if total > 0 else _NONE


def _fair_share(flow: _Flow, flows: Iterable[_Flow], places: Bottlenecks) -> float:
    """Goodput over the mean of the lasting flows at its bottleneck."""
    lasting = [one for one in flows if one.lasting]
    sharing = [_beside(pipe, lasting, places) for pipe in sorted(places.pipes[flow.name])]
    beside = max(sharing, key=len, default=[])
    total = sum(one.mbps for one in beside)
    if not flow.lasting or len(beside) < 2 or total <= 0:
        return _NONE
    return flow.mbps * len(beside) / total


def _beside(pipe: str, flows: Iterable[_Flow], places: Bottlenecks) -> list[_Flow]:
    return [one for one in flows if pipe in places.pipes[one.name]]


def _measure(tables: Tables) -> pl.DataFrame:
    """Rows of data flows with `share` and `fair_share`; flows of arrivals are left out."""
    tables = without_arrivals(tables)
    columns = [*keys(tables), "flow", "kind", "congestion_control"]
    measured = GOODPUT.measure(tables).filter(pl.col("kind").is_in(_DATA))
    # Cells with one scenario share a run, which then stands in the tables once for each.
    once = ["run", "flow"]
    life = (pl.col("end_ns") - pl.col("start_ns")).alias("ns")
    lives = tables.flows.select(*once, life).unique(once)
    frame = measured.join(lives, on=once, maintain_order="left").with_columns(
        (pl.col("ns") * 2 >= pl.col("ns").max().over("run")).alias("lasts")
    )
    scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
    frame = frame.filter(pl.col("run").is_in(list(scenarios)))
    known: dict[tuple[str, ...], Bottlenecks] = {}
    done: list[dict[str, Any]] = []
    for (run,), own in frame.unique(once, maintain_order=True).group_by("run", maintain_order=True):
        names = own["flow"].to_list()
        key = (scenarios[run], *names)
        places = known.get(key) or known.setdefault(key, bottlenecks(key[0], names))
        flows = [
            _Flow(name, 0.0 if value != value else value, lasts and name in places.bulk)
            for name, value, lasts in own.select("flow", "value", "lasts").iter_rows()
        ]
        done += [
            {"run": run, "flow": flow.name, "share": _share(flow, flows, places),
             "fair_share": _fair_share(flow, flows, places)}
            for flow in flows
        ]  # fmt: skip
    schema = {"run": pl.String, "flow": pl.String, "share": pl.Float64, "fair_share": pl.Float64}
    shares = pl.DataFrame(done, schema=schema)
    return frame.select(columns).join(shares, on=once, maintain_order="left")


def _measure_min(tables: Tables) -> pl.DataFrame:
    found = _measure(tables).with_columns(pl.col("fair_share").fill_nan(None))
    least = found.group_by(keys(tables), maintain_order=True).agg(pl.col("fair_share").min())
    return least.with_columns(pl.col("fair_share").fill_null(_NONE)).rename({"fair_share": "value"})


def _column(name: str) -> Any:
    other = {"share", "fair_share"} - {name}
    return lambda tables: _measure(tables).drop(other).rename({name: "value"})


_PLACE = "goodput of each flow; its bottleneck is the narrowest pipe of its path"
_WINDOW = "as goodput: each flow over its own life"

SHARE = Metric(
    name="share",
    label="Share of the bottleneck",
    unit="share",
    formula="goodput / Σ goodput of the TCP, MPTCP and UDP flows with the same bottleneck (without "
    "flows of arrivals); NaN for "
    "a flow that has its bottleneck alone",
    place=_PLACE,
    window=_WINDOW,
    source="RFC 5166 §2.4.1 (fairness between flows)",
    computed=_column("share"),
    bounds=(0.0, 1.0),
)

FAIR_SHARE = Metric(
    name="fair_share",
    label="Share of the fair share",
    unit="share",
    formula="goodput / mean goodput of the lasting bulk flows with the same bottleneck: those that "
    "always have data and live at least half as long as any other; NaN for others, and for one "
    "alone",
    place=_PLACE,
    window=_WINDOW,
    source="equal division as in RFC 5166 §2.4.1; what `dumbbell run` calls starvation below 10 %",
    computed=_column("fair_share"),
)

FAIR_SHARE_MIN = Metric(
    name="fair_share_min",
    label="Smallest share of the fair share",
    unit="share",
    formula="smallest fair_share of the flows of a run",
    place=_PLACE,
    window=_WINDOW,
    source="as fair_share",
    computed=_measure_min,
    of=(),
    bounds=(0.0, 1.0),
)

METRICS = (SHARE, FAIR_SHARE, FAIR_SHARE_MIN)
