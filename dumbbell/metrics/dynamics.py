"""Rates over time: how smooth a flow is, and how soon a new flow has its share (RFC 5166)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.limits.flows import flow_limits
from dumbbell.metrics.definition import CONNECTIONS, DATA, Metric, Tables, keys

#: Base RTTs of a stretch in which a rate is measured.
RTTS = 10
#: Fewer stretches say nothing about smoothness.
LEAST_STRETCHES = 10
#: More are no finer than the samples, whose default is 500 in a run.
MOST_STRETCHES = 100_000
#: A share of (1 − δ) / n is fair to n flows.
DELTA = 0.2
#: So many stretches in a row are fair before the share counts as reached: one alone may be chance.
LASTING = 5
_NS = 1e9
_Row = tuple[str, str, float]


def _stretch_ns(scenario: str, flow: str) -> int | None:
    """Length of a stretch; None: of a flow of a page, no path is known."""
    try:
        return max(1, round(RTTS * flow_limits(scenario, flow).base_rtt_s * _NS))
    except (KeyError, ValueError):
        return None


def gained(
    times_ns: npt.NDArray[np.int64], delivered: npt.NDArray[np.int64], edges_ns: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Bytes delivered in each stretch between edges, read off between samples.

    Args:
        times_ns: Times of the samples, ascending.
        delivered: Bytes delivered up to each.
        edges_ns: Edges of the stretches, ascending.
    """
    return np.diff(np.interp(np.asarray(edges_ns, dtype=np.float64), times_ns, delivered))


def variation(amounts: npt.ArrayLike) -> float:
    """Standard deviation over mean of the amounts; NaN with too few, or nothing."""
    x = np.asarray(amounts, dtype=np.float64)
    if x.size < LEAST_STRETCHES or x.mean() <= 0:
        return float("nan")
    return float(x.std(ddof=1) / x.mean())


def _parts(tables: Tables) -> Iterator[tuple[str, dict[str, pl.DataFrame]]]:
    """Samples of each run, by flow."""
    for part in tables.parts("samples", ("flow", "time_ns", "delivered_bytes")):
        own = part.filter(pl.col("delivered_bytes") >= 0)
        own = own.unique(["run", "flow", "time_ns"], maintain_order=True)
        for (run,), rows in own.group_by("run", maintain_order=True):
            flows = rows.group_by("flow", maintain_order=True)
            yield str(run), {str(flow): one.sort("time_ns") for (flow,), one in flows}


def _joined(tables: Tables, flows: pl.DataFrame, rows: list[_Row]) -> pl.DataFrame:
    schema = {"run": pl.String, "flow": pl.String, "value": pl.Float64}
    found = pl.DataFrame(rows, schema=schema, orient="row").unique(["run", "flow"])
    columns = [*keys(tables), "flow", "kind", "congestion_control"]
    joined = flows.select(columns).join(
        found, on=["run", "flow"], how="left", maintain_order="left"
    )
    return joined.with_columns(pl.col("value").fill_null(float("nan")))


def _measure_variation(tables: Tables) -> pl.DataFrame:
    flows = tables.flows.filter(pl.col("kind").is_in(CONNECTIONS))
    scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
    wanted = set(flows.select("run", "flow").iter_rows())
    rows: list[_Row] = []
    for run, samples in _parts(tables):
        for flow, own in samples.items():
            step_ns = _stretch_ns(scenarios.get(run, ""), flow) if (run, flow) in wanted else None
            if step_ns is not None:
                rows.append((run, flow, _of_flow(own, step_ns)))
    return _joined(tables, flows, rows)


def _edges(begin_ns: int, end_ns: int, step_ns: int) -> npt.NDArray[np.int64]:
    """Edges of stretches. Over a path without delay there are no more than `MOST_STRETCHES`."""
    return np.arange(begin_ns, end_ns + 1, max(step_ns, (end_ns - begin_ns) // MOST_STRETCHES))


def _of_flow(samples: pl.DataFrame, step_ns: int) -> float:
    """Variation in the second half of a flow's samples."""
    times = samples["time_ns"].to_numpy()
    begin, end = (times[0] + times[-1]) // 2, times[-1]
    edges = _edges(begin, end, step_ns)
    return variation(gained(times, samples["delivered_bytes"].to_numpy(), edges))


def _measure_convergence(tables: Tables) -> pl.DataFrame:
    flows = tables.flows.filter(pl.col("kind").is_in(DATA))
    scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
    starts: dict[str, dict[str, int]] = {}
    opened = flows.filter(pl.col("start_ns") >= 0)
    for run, flow, start_ns in opened.select("run", "flow", "start_ns").iter_rows():
        starts.setdefault(run, {})[flow] = start_ns
    rows: list[_Row] = []
    for run, samples in _parts(tables):
        of_run = {flow: at for flow, at in starts.get(run, {}).items() if flow in samples}
        last = max(of_run, key=lambda flow: of_run[flow], default="")
        others = [at for flow, at in of_run.items() if flow != last]
        step_ns = _stretch_ns(scenarios.get(run, ""), last) if others else None
        if step_ns is not None and max(others) + step_ns <= of_run[last]:
            found = _until_fair(samples, list(of_run), last, of_run[last], step_ns)
            rows.append((run, last, found))
    return _joined(tables, flows, rows)


def _until_fair(
    samples: dict[str, pl.DataFrame], flows: list[str], last: str, start_ns: int, step_ns: int
) -> float:
    """Seconds from the start of the last flow to the end of the first stretch with a fair share.

    Each of the `LASTING` stretches from that one on has a fair share.
    """
    end = samples[last]["time_ns"][-1]
    edges = _edges(start_ns, end, step_ns)
    if edges.size <= LASTING:
        return float("nan")
    amounts = {
        flow: gained(
            samples[flow]["time_ns"].to_numpy(), samples[flow]["delivered_bytes"].to_numpy(), edges
        )
        for flow in flows
    }
    each = np.stack(list(amounts.values()))
    total, active = each.sum(axis=0), np.maximum((each > 0).sum(axis=0), 1)
    fair = amounts[last] >= (1 - DELTA) / active * total
    stays = np.lib.stride_tricks.sliding_window_view(fair & (total > 0), LASTING).all(axis=1)
    first = np.flatnonzero(stays)
    return float(edges[first[0] + 1] - start_ns) / _NS if first.size else float("nan")


VARIATION = Metric(
    name="goodput_variation",
    label="Variation of the goodput",
    unit="",
    formula="standard deviation over mean of the bytes delivered in stretches of "
    f"{RTTS} base RTTs; NaN with fewer than {LEAST_STRETCHES} stretches",
    place="the receiving application, as samples show it",
    window="the second half of the flow's samples",
    source="RFC 5166 (minimizing oscillations: the coefficient of variation)",
    computed=_measure_variation,
)

CONVERGENCE = Metric(
    name="convergence_s",
    label="Time to a fair share",
    unit="s",
    formula="from the start of the run's last flow to the end of the first stretch of "
    f"{RTTS} base RTTs in which it gets (1 − δ)/n of what all flows get, as it does in each of "
    f"the next {LASTING - 1}, so for {LASTING * RTTS} base RTTs; δ = {DELTA}, n: flows that get "
    "anything in a stretch; NaN of other flows, if it never does, or if another flow starts "
    "within a stretch before it",
    place="the receiving applications, as samples show them",
    window="from the start of the last TCP, MPTCP, QUIC or UDP flow to the end of its samples",
    source="RFC 5166 (delta-fair convergence time), where two flows begin with 100/101 and 1/101",
    computed=_measure_convergence,
)

METRICS = (VARIATION, CONVERGENCE)
