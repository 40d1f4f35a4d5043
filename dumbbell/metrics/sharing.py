"""Shares of a bottleneck that several flows use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from dumbbell.limits.sharing import Bottlenecks, bottlenecks
from dumbbell.metrics.arrivals import without_arrivals
from dumbbell.metrics.definition import DATA, Metric, Tables, keys
from dumbbell.metrics.goodput import GOODPUT

_NONE = float("nan")
#: Cells with one scenario share a run, which then stands in the tables once for each.
_ONCE = ["run", "flow"]


@dataclass(frozen=True)
class _Flow:
    """A flow in a run; `mbps` is None where it is not known."""

    name: str
    mbps: float | None
    lasting: bool


@dataclass(frozen=True)
class _Beside:
    """Flows that a pipe limits: how many, how many last, and the sums of their rates."""

    flows: int
    lasting: int
    mbps: float | None
    lasting_mbps: float | None

    @classmethod
    def of(cls, flows: list[_Flow]) -> _Beside:
        lasting = [one for one in flows if one.lasting]
        return cls(len(flows), len(lasting), _sum(flows), _sum(lasting))


@dataclass(frozen=True)
class _Run:
    run: str
    flows: list[_Flow]
    places: Bottlenecks

    def beside(self, flow: _Flow) -> Iterator[_Beside]:
        """The flows at each of its bottlenecks, itself included."""
        return (self._at[pipe] for pipe in sorted(self.places.pipes[flow.name]))

    @cached_property
    def _at(self) -> dict[str, _Beside]:
        found: dict[str, list[_Flow]] = {}
        for flow in self.flows:
            for pipe in self.places.pipes[flow.name]:
                found.setdefault(pipe, []).append(flow)
        return {pipe: _Beside.of(own) for pipe, own in found.items()}


def lasting_flows(tables: Tables) -> pl.DataFrame:
    """Data flows without those of arrivals, each run once.

    `run`, `flow`, `start_ns`, `end_ns`; `lasting`: it always has data to send, and lives at least
    half as long as any other; `steady`: it is UDP and lives as long.
    """
    frame = _once(without_arrivals(tables))
    rows = []
    for run, own, places in _runs(frame, tables):
        for name, kind, start, end, lasts in own.select(
            "flow", "kind", "start_ns", "end_ns", "lasts"
        ).iter_rows():
            bulk = bool(lasts) and name in places.bulk
            rows.append((run, name, start, end, bulk, bool(lasts) and kind == "udp"))
    schema = {"run": pl.String, "flow": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64}
    flags = {"lasting": pl.Boolean, "steady": pl.Boolean}
    return pl.DataFrame(rows, schema={**schema, **flags}, orient="row")


def _once(tables: Tables) -> pl.DataFrame:
    """Data flows that began; a connection that a page never opened shares nothing."""
    began = pl.col("kind").is_in(DATA) & (pl.col("start_ns") >= 0)
    frame = tables.flows.filter(began).select(*_ONCE, "kind", "start_ns", "end_ns")
    life = pl.col("end_ns") - pl.col("start_ns")
    lasts = (life * 2 >= life.max().over("run")).alias("lasts")
    return frame.unique(_ONCE, maintain_order=True).with_columns(lasts)


def _runs(frame: pl.DataFrame, tables: Tables) -> Iterator[tuple[str, pl.DataFrame, Bottlenecks]]:
    """Each run with its rows and bottlenecks; runs with one scenario look them up once."""
    scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
    known: dict[tuple[str, ...], Bottlenecks] = {}
    for (run,), own in frame.group_by("run", maintain_order=True):
        if run in scenarios:
            names = own["flow"].to_list()
            key = (scenarios[run], *names)
            places = known.get(key) or known.setdefault(key, bottlenecks(key[0], names))
            yield str(run), own, places


def _with_rates(tables: Tables, rate: Metric) -> Iterator[_Run]:
    """The runs with this rate of each flow."""
    tables = without_arrivals(tables)
    values = rate.computed(tables).select(*_ONCE, "value").unique(_ONCE)
    frame = _once(tables).join(values, on=_ONCE, how="left", maintain_order="left")
    for run, own, places in _runs(frame, tables):
        flows = [
            _Flow(
                name,
                None if value is None or value != value else value,
                lasts and name in places.bulk,
            )
            for name, value, lasts in own.select("flow", "value", "lasts").iter_rows()
        ]
        yield _Run(run, flows, places)


def _share(flow: _Flow, run: _Run) -> float:
    """Its rate over that of all flows at its bottleneck."""
    totals = [own.mbps for own in run.beside(flow) if own.flows > 1]
    return _quotient(flow.mbps, max(totals, key=lambda one: one or 0.0, default=None))


def _fair_share(flow: _Flow, run: _Run) -> float:
    """Its rate over the mean of the lasting flows at its bottleneck."""
    beside = max(run.beside(flow), key=lambda one: one.lasting, default=None)
    if not flow.lasting or beside is None or beside.lasting < 2:
        return _NONE
    return beside.lasting * _quotient(flow.mbps, beside.lasting_mbps)


def _sum(flows: list[_Flow]) -> float | None:
    """Sum of the rates; None if one is not known."""
    known = [one.mbps for one in flows if one.mbps is not None]
    return sum(known) if len(known) == len(flows) else None


def _quotient(part: float | None, whole: float | None) -> float:
    return part / whole if part is not None and whole else _NONE


def _of_flows(tables: Tables, rate: Metric, value: Callable[[_Flow, _Run], float]) -> pl.DataFrame:
    rows = [
        (run.run, flow.name, value(flow, run))
        for run in _with_rates(tables, rate)
        for flow in run.flows
    ]
    schema = {"run": pl.String, "flow": pl.String, "value": pl.Float64}
    found = pl.DataFrame(rows, schema=schema, orient="row")
    flows = without_arrivals(tables).flows.filter(pl.col("kind").is_in(DATA))
    columns = [*keys(tables), "flow", "kind", "congestion_control"]
    return (
        flows.select(columns)
        .join(found, on=_ONCE, how="left", maintain_order="left")
        .with_columns(pl.col("value").fill_null(_NONE))
    )


def shares(tables: Tables, rate: Metric) -> pl.DataFrame:
    """Share of each data flow at its bottleneck, by this rate; NaN for a flow alone there."""
    return _of_flows(tables, rate, _share)


def fair_shares(tables: Tables, rate: Metric) -> pl.DataFrame:
    """Rate of each lasting bulk flow over the mean of those at its bottleneck."""
    return _of_flows(tables, rate, _fair_share)


def bulk_rates_by_pipe(tables: Tables, rate: Metric) -> pl.DataFrame:
    """`run`, `pipe`, `mbps` (list): rates of the lasting bulk flows that a pipe limits."""
    rows: list[tuple[str, str, list[float]]] = []
    for run in _with_rates(tables, rate):
        rates: dict[str, list[float]] = {}
        for flow in run.flows:
            if flow.lasting and flow.mbps is not None:
                for pipe in run.places.pipes[flow.name]:
                    rates.setdefault(pipe, []).append(flow.mbps)
        rows += [(run.run, pipe, own) for pipe, own in rates.items()]
    names = {"run": pl.String(), "pipe": pl.String()}
    schema: dict[str, pl.DataType] = {**names, "mbps": pl.List(pl.Float64())}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _measure_min(tables: Tables) -> pl.DataFrame:
    found = fair_shares(tables, GOODPUT).with_columns(pl.col("value").fill_nan(None))
    least = found.group_by(keys(tables), maintain_order=True).agg(pl.col("value").min())
    return least.with_columns(pl.col("value").fill_null(_NONE))


_PLACE = "goodput of each flow; its bottleneck is the narrowest pipe of its path"
_WINDOW = "as goodput: each flow over its own life"

SHARE = Metric(
    name="share",
    label="Share of the bottleneck",
    unit="share",
    formula="goodput / Σ goodput of the TCP, MPTCP, QUIC and UDP flows with the same bottleneck "
    "(without flows of arrivals); NaN for "
    "a flow that has its bottleneck alone",
    place=_PLACE,
    window=_WINDOW,
    source="RFC 5166 §2.4.1 (fairness between flows)",
    computed=lambda tables: shares(tables, GOODPUT),
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
    source="equal division as in RFC 5166 §2.4.1",
    computed=lambda tables: fair_shares(tables, GOODPUT),
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
