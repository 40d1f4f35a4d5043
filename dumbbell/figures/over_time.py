"""A run over time: windows, rates, RTTs, queues and shares, one time axis for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from dumbbell.figures.figure import Figure
from dumbbell.figures.panels import Point, one_run, panels
from dumbbell.figures.thinning import thinned
from dumbbell.limits.outages import outages
from dumbbell.limits.pipes import pipes_of
from dumbbell.metrics import Tables
from dumbbell.metrics.definition import CONNECTIONS, CONTROLLED
from dumbbell.metrics.fairness import jain_index
from dumbbell.metrics.queue_delay import queueing_delay_samples
from dumbbell.metrics.sockets import senders
from dumbbell.scenario import shared_scenario
from dumbbell.summary.flow_names import flow_title, fold_title, stem
from dumbbell.summary.sockets import named

#: Lines of a panel; of more flows, those with one algorithm are one line, their mean.
_MOST_LINES = 6
_MOST_POINTS = 160
#: Stretches of time of which a rate is the mean.
_STRETCHES = 120
_QUEUES = 2
#: A queue is drawn if its mean delay is at least this share of the longest.
_SOME = 0.02
#: Algorithms whose colours queues and Jain's index have: black and grey, as no flow with a window.
_QUEUE_STYLE, _ALL_STYLE = "ping", "udp"
#: Line of Jain's index.
_ALL = "connections"
_DATA = (*CONTROLLED, "udp")


def over_time(
    results: Tables,
    *,
    where: Mapping[str, str] | None = None,
    repeat: int | None = None,
    title: str | None = None,
) -> Figure:
    """One run: window, goodput, RTT of each flow and of the sockets of programs that sent most,
    delay of the longest queues, shares.

    Raises `ValueError` where neither samples nor queues are kept, or factors stay open.
    """
    chosen = dict(where or {})
    points: list[Point] = []
    algorithms: dict[str, str] = {}
    if results.has("samples"):
        points += _flows(results, chosen, repeat, algorithms)
    if results.has("sockets"):
        points += _sockets(results, chosen, repeat, algorithms)
    if results.has("queues"):
        points += (queues := list(_queues(results, chosen, repeat)))
        algorithms |= {line: _QUEUE_STYLE for _, line, *_ in queues}
    algorithms[_ALL] = _ALL_STYLE
    if not points:
        raise ValueError("neither samples nor queues are kept here: see the field sampling")
    names = list(dict.fromkeys(panel for panel, *_ in points))
    text = f"One run over time: {', '.join(names)}."
    return panels(title or "A run over time", text, points, algorithms=algorithms, zoom=True)


def _flows(
    results: Tables, chosen: Mapping[str, str], repeat: int | None, algorithms: dict[str, str]
) -> Iterator[Point]:
    """Points of flows; adds the algorithm of each line."""
    samples = one_run(results, "samples", chosen, repeat)
    if samples.is_empty():
        return
    flows = one_run(results, "flows", chosen, repeat)
    known = set(samples["flow"])
    rows = [row for row in flows.iter_rows(named=True) if row["flow"] in known]
    data = [row for row in rows if row["kind"] in _DATA]
    alone = len(data) <= _MOST_LINES
    titles = _told_apart(data) if alone else _folded(data)
    algorithms |= {titles[row["flow"]]: row["congestion_control"] or row["kind"] for row in data}
    ends = {row["flow"]: row["end_ns"] for row in data}
    # A sender that is done keeps its last window and RTT.
    end = pl.col("flow").replace_strict(ends, default=-1, return_dtype=pl.Int64)
    named = (
        samples.filter(pl.col("flow").is_in(list(titles)))
        .filter((end < 0) | (pl.col("time_ns") <= end))
        .with_columns(
            pl.col("flow").replace_strict(titles, return_dtype=pl.String).alias("line"),
            pl.col("time_ns") / 1e9,
        )
    )
    words = "" if alone else ", mean"
    rates = _rates(named)
    window, rtt = pl.col("cwnd_packets"), pl.col("srtt_ns")
    yield from _lines(f"Window (packets{words})", named.filter(window >= 0), window)
    yield from _lines(f"Goodput (Mbit/s{words})", rates, pl.col("mbps"))
    yield from _lines(f"RTT (ms{words})", named.filter(rtt >= 0), rtt / 1e6)
    # Of Multipath TCP the subflows share links, and the connections are equals.
    whole = {row["flow"] for row in data if row["kind"] == "mptcp"}
    subflows = {row["flow"] for row in data if row["kind"] == "subflow"}
    shared = rates.filter(~pl.col("flow").is_in(list(whole if subflows else ())))
    if shared["line"].n_unique() > 1:
        yield from _lines("Share of all goodput (%)", _shares(shared), pl.col("share"))
    tcp = [row["flow"] for row in data if row["kind"] in CONNECTIONS]
    yield from _fairness(rates.filter(pl.col("flow").is_in(tcp)))


def _sockets(
    results: Tables, chosen: Mapping[str, str], repeat: int | None, algorithms: dict[str, str]
) -> Iterator[Point]:
    """Points of sockets of programs; adds the algorithm of each line."""
    rows = senders(named(one_run(results, "sockets", chosen, repeat)), _MOST_LINES)
    rows = rows.with_columns(pl.col("title").alias("line"), pl.col("time_ns") / 1e9)
    algorithms |= dict(rows.select("line", "congestion_control").unique().iter_rows())
    sent = rows.with_columns(pl.col("socket").alias("flow"), delivered_bytes="acked_bytes")
    # A socket is first seen some time after it began: what it sent before has no rate.
    rates = _rates(sent).filter(pl.col("stretch") > pl.col("stretch").min().over("flow"))
    yield from _lines("Window (packets)", rows, pl.col("cwnd_packets"))
    yield from _lines("Goodput (Mbit/s)", rates, pl.col("mbps"))
    rtt = pl.col("srtt_ns")
    yield from _lines("RTT (ms)", rows.filter(rtt >= 0), rtt / 1e6)


def _told_apart(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Flow → a title that no other has."""
    titles = {row["flow"]: flow_title(row) for row in rows}
    every = list(titles.values())
    return {
        flow: title if every.count(title) == 1 else f"{title} ({flow})"
        for flow, title in titles.items()
    }


def _folded(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Flow → the title of all that differ from it by number alone."""
    folds: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = stem(row["flow"]), row["kind"], row["congestion_control"]
        folds.setdefault(key, []).append(row)
    return {
        row["flow"]: fold_title(own[0], len(own)) if len(own) > 1 else flow_title(row)
        for own in folds.values()
        for row in own
    }


def _lines(panel: str, frame: pl.DataFrame, value: pl.Expr) -> Iterator[Point]:
    """Mean over the flows of each line at each time."""
    means = frame.group_by("line", "time_ns", maintain_order=True).agg(value.mean().alias("value"))
    for (line,), own in means.group_by("line", maintain_order=True):
        times, values = own["time_ns"].to_numpy(), own["value"].to_numpy()
        for place in thinned(values, _MOST_POINTS):
            yield panel, str(line), float(times[place]), float(values[place])


def _rates(samples: pl.DataFrame) -> pl.DataFrame:
    """Mbit/s of each flow in stretches of time, at the middle of each."""
    last = float(samples["time_ns"].max() or 0.0)  # type: ignore[arg-type]
    step_s = max(last / _STRETCHES, 1e-9)
    # The last sample ends the last stretch.
    stretch = (pl.col("time_ns") / step_s).floor().clip(0, _STRETCHES - 1)
    ends = samples.group_by("line", "flow", stretch.alias("stretch"), maintain_order=True).agg(
        pl.col("time_ns").last(), pl.col("delivered_bytes").last().alias("bytes")
    )
    before = {name: pl.col(name).shift(1).over("flow") for name in ("time_ns", "bytes")}
    span_s = pl.col("time_ns") - before["time_ns"].fill_null(0)
    gained = pl.col("bytes") - before["bytes"].fill_null(0)
    rate = (gained * 8e-6 / span_s).alias("mbps")
    return ends.with_columns(rate, ((pl.col("stretch") + 0.5) * step_s).alias("time_ns"))


def _shares(rates: pl.DataFrame) -> pl.DataFrame:
    """Share of each line in the goodput of all, in %."""
    total = pl.col("mbps").sum().over("time_ns")
    shared = rates.filter(total > 0).with_columns((100 * pl.col("mbps") / total).alias("share"))
    return shared.group_by("line", "time_ns", maintain_order=True).agg(pl.col("share").sum())


def _fairness(rates: pl.DataFrame) -> Iterator[Point]:
    """Jain's index of TCP flows and connections."""
    for (at,), own in rates.group_by("time_ns", maintain_order=True):
        if own.height > 1 and own["mbps"].sum() > 0:
            yield "Jain's index", _ALL, float(str(at)), jain_index(own["mbps"].to_numpy())


def _queues(results: Tables, chosen: Mapping[str, str], repeat: int | None) -> Iterator[Point]:
    """Delay in the longest queues."""
    queues = one_run(results, "queues", chosen, repeat)
    if queues.is_empty():
        return
    delays = (
        queueing_delay_samples(results, [queues["run"][0]])
        .select(pl.col("time_ns") / 1e9, pl.col("pipe").alias("line"), "delay_ms")
        .drop_nulls()
        .sort("line", "time_ns", maintain_order=True)
    )
    means = delays.group_by("line", maintain_order=True).agg(pl.col("delay_ms").mean())
    some = means.filter(pl.col("delay_ms") >= _SOME * pl.col("delay_ms").max())
    longest = some.sort("delay_ms", descending=True, maintain_order=True)["line"][:_QUEUES]
    shown = delays.filter(pl.col("line").is_in(longest.implode()))
    down = _outages(results, queues["run"][0], list(longest))
    shown = pl.concat([shown, down]).sort("line", "time_ns", maintain_order=True)
    yield from _lines("Queueing delay (ms)", shown, pl.col("delay_ms"))


def _outages(results: Tables, run: str, pipes: list[str]) -> pl.DataFrame:
    """A row without a value amid each outage of some pipes: `time_ns` (s), `line`, `delay_ms`."""
    text = dict(results.runs.select("run", "scenario").iter_rows()).get(run)
    rows: list[tuple[float, str, float]] = []
    if text:
        spec = shared_scenario(text)
        known = pipes_of(spec)
        for name in sorted(known.keys() & set(pipes)):
            for begin, end in outages(known[name], spec["duration_ns"]):
                rows.append(((begin + end) / 2e9, name, float("nan")))
    schema = {"time_ns": pl.Float64, "line": pl.String, "delay_ms": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
