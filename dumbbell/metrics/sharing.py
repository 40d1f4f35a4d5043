"""Shares of a bottleneck that several flows use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from dumbbell.limits.sharing import Bottlenecks, bottlenecks
from dumbbell.metrics.arrivals import without_arrivals
from dumbbell.metrics.definition import (
    CONTROLLED,
    DATA,
    Measurement,
    Metric,
    Tables,
    keys,
    known,
    per_flow,
)
from dumbbell.metrics.goodput import GOODPUT

_NONE = float("nan")
#: Cells with one scenario share a run, which then stands in the tables once for each.
_ONCE = ["run", "flow"]
#: A flow lasts if no other lives more than so many times as long.
_LASTING = 4


#: What a flow got: Mbit/s, or bytes; None where it is not known.
_Amount = float | None


@dataclass(frozen=True)
class _Part:
    """A flow, or a subflow of a connection, with the pipes that limit it."""

    pipes: frozenset[str]
    amount: _Amount


@dataclass(frozen=True)
class _Flow:
    """A flow in a run; a Multipath TCP connection has a part per subflow."""

    name: str
    parts: tuple[_Part, ...]
    lasting: bool

    @cached_property
    def pipes(self) -> frozenset[str]:
        return frozenset().union(*(part.pipes for part in self.parts))

    def at(self, pipe: str) -> _Amount:
        """What it got through a pipe that limits it."""
        return _sum(part.amount for part in self.parts if pipe in part.pipes)


@dataclass(frozen=True)
class _Beside:
    """Flows that a pipe limits: how many, how many last, and the sums of what they got."""

    flows: int
    lasting: int
    whole: _Amount
    lasting_whole: _Amount

    @classmethod
    def of(cls, pipe: str, flows: list[_Flow]) -> _Beside:
        lasting = [one.at(pipe) for one in flows if one.lasting]
        return cls(len(flows), len(lasting), _sum(one.at(pipe) for one in flows), _sum(lasting))


@dataclass(frozen=True)
class _Run:
    run: str
    flows: list[_Flow]

    @cached_property
    def at(self) -> dict[str, _Beside]:
        """The flows at each pipe that limits some."""
        found: dict[str, list[_Flow]] = {}
        for flow in self.flows:
            for pipe in flow.pipes:
                found.setdefault(pipe, []).append(flow)
        return {pipe: _Beside.of(pipe, own) for pipe, own in found.items()}


def lasting_flows(tables: Tables) -> pl.DataFrame:
    """Data flows without those of arrivals, each run once.

    `run`, `flow`, `start_ns`, `end_ns`; `lasting`: it always has data to send, and lives at least
    a quarter as long as any other; `steady`: it is UDP and lives as long.
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
    lasts = (life * _LASTING >= life.max().over("run")).alias("lasts")
    return frame.unique(_ONCE, maintain_order=True).with_columns(lasts)


def _subflows(tables: Tables) -> pl.DataFrame:
    """`run`, `flow`, `connection` of the subflows that began."""
    began = (pl.col("kind") == "subflow") & (pl.col("start_ns") >= 0)
    return tables.flows.filter(began).select(*_ONCE, "connection").unique(_ONCE)


def _runs(frame: pl.DataFrame, tables: Tables) -> Iterator[tuple[str, pl.DataFrame, Bottlenecks]]:
    """Each run with its rows and bottlenecks; runs with one scenario look them up once."""
    scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
    read: dict[tuple[str, ...], Bottlenecks] = {}
    for (run,), own in frame.group_by("run", maintain_order=True):
        if run in scenarios:
            names = own["flow"].to_list()
            key = (scenarios[run], *names)
            places = read.get(key) or read.setdefault(key, bottlenecks(key[0], names))
            yield str(run), own, places


def _with_amounts(tables: Tables, amounts: Measurement) -> Iterator[_Run]:
    """The runs with what each flow got."""
    tables = without_arrivals(tables)
    values = amounts(tables).select(*_ONCE, pl.col("value").fill_nan(None)).unique(_ONCE)
    frame = pl.concat([_once(tables), _subflows(tables)], how="diagonal")
    frame = frame.join(values, on=_ONCE, how="left", maintain_order="left")
    columns = ("flow", "value", "lasts", "connection")
    for run, own, places in _runs(frame, tables):
        parts: dict[str, list[_Part]] = {}
        for name, value, _, connection in own.select(columns).iter_rows():
            if connection is not None:
                parts.setdefault(connection, []).append(_Part(places.pipes[name], value))
        flows = [
            _Flow(
                name,
                tuple(parts.get(name, (_Part(places.pipes[name], value),))),
                lasts and name in places.bulk and name not in places.held,
            )
            for name, value, lasts, connection in own.select(columns).iter_rows()
            if connection is None
        ]
        yield _Run(run, flows)


def _share(flow: _Flow, run: _Run) -> float:
    """What it got of what all flows got, where it is not alone."""
    own: list[_Amount] = []
    whole: list[_Amount] = []
    for part in flow.parts:
        shared = [run.at[pipe].whole for pipe in part.pipes if run.at[pipe].flows > 1]
        if shared:
            own.append(part.amount)
            whole.append(max(shared, key=lambda one: one or 0.0))
    return _quotient(_sum(own), _sum(whole))


def _fair_share(flow: _Flow, run: _Run) -> float:
    """What it got over the mean of the lasting flows, where it is not alone with them."""
    own: list[_Amount] = []
    fair: list[_Amount] = []
    for part in flow.parts if flow.lasting else ():
        shared = [one for pipe in part.pipes if (one := run.at[pipe]).lasting > 1]
        if shared:
            beside = max(shared, key=lambda one: one.lasting)
            own.append(part.amount)
            fair.append(beside.lasting_whole and beside.lasting_whole / beside.lasting)
    return _quotient(_sum(own), _sum(fair))


def _sum(amounts: Iterable[_Amount]) -> _Amount:
    """None if one is not known."""
    total = 0.0
    for one in amounts:
        if one is None:
            return None
        total += one
    return total


def _quotient(part: _Amount, whole: _Amount) -> float:
    return part / whole if part is not None and whole else _NONE


def _of_flows(
    tables: Tables, amounts: Measurement, value: Callable[[_Flow, _Run], float]
) -> pl.DataFrame:
    rows = [
        (run.run, flow.name, value(flow, run))
        for run in _with_amounts(tables, amounts)
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


def shares(tables: Tables, amounts: Measurement) -> pl.DataFrame:
    """Share of each data flow where it is not alone, by these amounts; NaN for one alone."""
    return _of_flows(tables, amounts, _share)


def fair_shares(tables: Tables, amounts: Measurement) -> pl.DataFrame:
    """Amount of each lasting bulk flow over the mean of those at its bottleneck."""
    return _of_flows(tables, amounts, _fair_share)


def bulk_amounts_by_pipe(tables: Tables, amounts: Measurement) -> pl.DataFrame:
    """`run`, `pipe`, `amounts` (list): what the lasting bulk flows got that a pipe limits."""
    rows: list[tuple[str, str, list[float]]] = []
    for run in _with_amounts(tables, amounts):
        of_pipes: dict[str, list[float]] = {}
        for flow in run.flows:
            for pipe in flow.pipes if flow.lasting else ():
                if (own := flow.at(pipe)) is not None:
                    of_pipes.setdefault(pipe, []).append(own)
        rows += [(run.run, pipe, own) for pipe, own in of_pipes.items()]
    names = {"run": pl.String(), "pipe": pl.String()}
    schema: dict[str, pl.DataType] = {**names, "amounts": pl.List(pl.Float64())}
    return pl.DataFrame(rows, schema=schema, orient="row")


_DELIVERED = per_flow(known("delivered_bytes"), (*CONTROLLED, "udp"))


def _measure_min(tables: Tables) -> pl.DataFrame:
    found = fair_shares(tables, GOODPUT.computed).with_columns(pl.col("value").fill_nan(None))
    least = found.group_by(keys(tables), maintain_order=True).agg(pl.col("value").min())
    return least.with_columns(pl.col("value").fill_null(_NONE))


_PLACE = "goodput of each flow, and subflow; its bottleneck is the narrowest pipe of its path"
_WINDOW = "as goodput: each flow over its own life"

SHARE = Metric(
    name="share",
    label="Share of the bottleneck",
    unit="share",
    formula="delivered_bytes / Σ delivered_bytes of the TCP, MPTCP, QUIC and UDP flows with the "
    "same bottleneck (without flows of arrivals); of a Multipath TCP connection over its subflows "
    "that share one. NaN for a flow that has its bottleneck alone",
    place="the receiving applications; a bottleneck is the narrowest pipe of a path",
    window="the whole run: of what flows get while they compete tells joint_share",
    source="RFC 5166 §2.4.1 (fairness between flows)",
    computed=lambda tables: shares(tables, _DELIVERED),
    bounds=(0.0, 1.0),
)

FAIR_SHARE = Metric(
    name="fair_share",
    label="Share of the fair share",
    unit="share",
    formula="goodput / mean goodput of the lasting bulk flows with the same bottleneck: those that "
    "always have data, whose hosts' buffers hold an equal share, and that live at least a quarter "
    "as long as any other; NaN for others, and for one alone",
    place=_PLACE,
    window=_WINDOW,
    source="equal division as in RFC 5166 §2.4.1",
    computed=lambda tables: fair_shares(tables, GOODPUT.computed),
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
