"""Outages of links, and what they do to flows: stalls, and the time until flows have recovered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dumbbell.limits.flows import flow_limits, path_outages
from dumbbell.limits.outages import Stretch, has_outages, within
from dumbbell.metrics.definition import CONTROLLED, Measurement, Metric, Tables, keys
from dumbbell.scenario import Scenario, shared_scenario

_NONE = float("nan")
_NS = 1e9
#: Share of the goodput before an outage that ends the recovery.
_SHARE = 0.9
#: Goodput is measured over so many base RTTs, and over at least so many sampling intervals.
_RTTS, _SAMPLES = 4, 5
#: It is back if it stays for so many of these times: a repaired hole hands on many bytes at once.
_LASTING = 3
#: Columns of `samples` that tell whether data is to come.
_PENDING = ("in_flight_packets", "sacked_packets", "lost_packets", "unsent_bytes")
_COLUMNS = ("flow", "time_ns", "delivered_bytes", *_PENDING)


@dataclass(frozen=True)
class Life:
    """Samples of a flow during its life, in order of time.

    Attributes:
        times: Times, ns.
        delivered: Bytes delivered in order until then; -1: not known.
        pending: True where the sender has unsent or unacknowledged data; None: not known.
        outages: Times in which a link of its paths was down.
        begin_ns: Beginning of its life.
        base_rtt_s: Round trip without queues, seconds.
    """

    times: NDArray[Any]
    delivered: NDArray[Any]
    pending: NDArray[Any] | None
    outages: list[Stretch]
    begin_ns: int
    base_rtt_s: float


def stall_s(life: Life) -> float:
    """Longest time without new data at the receiver while the sender had data, s."""
    if life.pending is None or len(life.times) < 2 or (life.delivered < 0).any():
        return _NONE
    longest = since = 0
    for place in range(1, len(life.times)):
        new = life.delivered[place] > life.delivered[place - 1]
        waits = bool(life.pending[place] and life.pending[place - 1])
        since = since + int(life.times[place] - life.times[place - 1]) if waits and not new else 0
        longest = max(longest, since)
    return longest / _NS


def resume_s(life: Life) -> float:
    """Longest time from the end of an outage until new data arrives, s."""
    return _longest(life, _resumes)


def recover_s(life: Life) -> float:
    """Longest time from the end of an outage until the goodput of before is back to stay, s."""
    return _longest(life, _recovers)


def _longest(life: Life, of: Callable[[Life, Stretch, int], float]) -> float:
    """Largest value of the outages that end within a flow's life; NaN if one has none."""
    if len(life.times) < 2 or (life.delivered < 0).any():
        return _NONE
    since, found = life.begin_ns, []
    for outage in life.outages:
        if outage[1] < life.times[-1]:
            found.append(of(life, outage, since))
        since = outage[1]
    return float(max(found)) if found and not np.isnan(found).any() else _NONE


def _resumes(life: Life, outage: Stretch, _since: int) -> float:
    up = outage[1]
    at = int(np.searchsorted(life.times, up, side="right"))
    before = life.delivered[at - 1] if at else 0
    later = np.flatnonzero(life.delivered[at:] > before)
    return float(life.times[at + later[0]] - up) / _NS if len(later) else _NONE


def _recovers(life: Life, outage: Stretch, since: int) -> float:
    """`since`: beginning of the time of which the goodput counts."""
    down, up = outage
    times, delivered = life.times, life.delivered
    first, last = np.searchsorted(times, (since, down), side="right") - 1
    if last < 0 or first == last:
        return _NONE
    # Before its first sample a flow has delivered nothing.
    was_at, had = (times[first], delivered[first]) if first >= 0 else (since, 0)
    was = (delivered[last] - had) / (times[last] - was_at)
    length = max(_RTTS * life.base_rtt_s * _NS, _SAMPLES * float(np.median(np.diff(times))))
    at = np.flatnonzero((times > up) & (times - length >= times[0]))
    since_at = np.searchsorted(times, times[at] - length, side="right") - 1
    rates = (delivered[at] - delivered[since_at]) / (times[at] - times[since_at])
    back = _to_stay(times[at], rates >= _SHARE * was, _LASTING * length) if was > 0 else None
    return _NONE if back is None else float(back - up) / _NS


def _to_stay(times: NDArray[Any], holds: NDArray[Any], least_ns: float) -> int | None:
    """First time from which something holds at each sample for so long; None: at none."""
    since: int | None = None
    for time, held in zip(times, holds, strict=True):
        if not held:
            since = None
            continue
        since = int(time) if since is None else since
        if time - since >= least_ns:
            return since
    return None


def _lives(tables: Tables) -> pl.DataFrame:
    """Beginning and end of each TCP flow's life: `run`, `flow`, `begin_ns`, `last_ns`."""
    flows = tables.flows.filter(pl.col("kind").is_in(CONTROLLED))
    return flows.select(
        "run",
        "flow",
        pl.col("established_ns").alias("begin_ns"),
        pl.col("end_ns").alias("last_ns"),
    ).unique(["run", "flow"])


def _outages_of(spec: Scenario, flow: str) -> list[Stretch]:
    if not has_outages(spec):
        return []
    try:
        return path_outages(spec, flow)
    except (KeyError, ValueError):  # A flow of a page, or one without a path.
        return []


def _base_rtt_s(spec: Scenario, flow: str) -> float:
    try:
        return flow_limits(spec, flow).base_rtt_s
    except (KeyError, ValueError):
        return 0.0


def _life(rows: pl.DataFrame, spec: Scenario, flow: str) -> Life:
    pending = np.any([rows[column].to_numpy() > 0 for column in _PENDING], axis=0)
    known = all((rows[column] >= 0).all() for column in _PENDING)
    begin, last = int(rows["begin_ns"][0]), int(rows["last_ns"][0])
    outages = within(_outages_of(spec, flow), begin, last)
    return Life(
        rows["time_ns"].to_numpy(),
        rows["delivered_bytes"].to_numpy(),
        pending if known else None,
        outages,
        begin,
        _base_rtt_s(spec, flow) if outages else 0.0,
    )


def _of_samples(value: Callable[[Life], float]) -> Measurement:
    def measure(tables: Tables) -> pl.DataFrame:
        flows = tables.flows.filter(pl.col("kind").is_in(CONTROLLED))
        flows = flows.select(*keys(tables), "flow", "kind", "congestion_control")
        specs = _specs(tables)
        rows: list[tuple[str, str, float]] = []
        for part in tables.parts("samples", _COLUMNS):
            own = part.unique(["run", "flow", "time_ns"], maintain_order=True)
            own = own.join(_lives(tables), on=["run", "flow"], how="inner", maintain_order="left")
            own = own.filter(
                (pl.col("begin_ns") >= 0)
                & pl.col("time_ns").is_between(pl.col("begin_ns"), pl.col("last_ns"))
            )
            for (run, flow), samples in own.group_by("run", "flow", maintain_order=True):
                life = _life(samples, specs[str(run)], str(flow))
                rows.append((str(run), str(flow), value(life)))
        schema = {"run": pl.String, "flow": pl.String, "value": pl.Float64}
        found = pl.DataFrame(rows, schema=schema, orient="row").unique(["run", "flow"])
        joined = flows.join(found, on=["run", "flow"], how="left", maintain_order="left")
        return joined.with_columns(pl.col("value").fill_null(_NONE))

    return measure


def _specs(tables: Tables) -> dict[str, Scenario]:
    """Scenario of each run, read once."""
    read: dict[str, Scenario] = {}
    return {
        run: read.get(text) or read.setdefault(text, shared_scenario(text))
        for run, text in tables.runs.select("run", "scenario").iter_rows()
    }


def _measure_outage(tables: Tables) -> pl.DataFrame:
    specs = _specs(tables)
    down = {
        id(spec): has_outages(spec) for spec in {id(one): one for one in specs.values()}.values()
    }
    columns = [*keys(tables), "flow", "kind", "congestion_control"]
    flows = tables.flows.select(*columns, "start_ns", "end_ns")
    values = []
    for row in flows.select("run", "flow", "start_ns", "end_ns").iter_rows():
        run, flow, begin, end = row
        if run not in specs or not specs[run]["links"] or begin < 0 or end < 0:
            values.append(_NONE)
            continue
        spec = specs[run]
        cut = within(_outages_of(spec, flow), begin, end) if down[id(spec)] else []
        values.append(sum(last - first for first, last in cut) / _NS)
    return flows.select(columns).with_columns(pl.Series("value", values, pl.Float64))


_LIFE = "the connection's life: from established_ns to end_ns"
_SAMPLED = (
    "the receiving application, at the samples of the flow; NaN without the table `samples`, and "
    "in traces"
)

OUTAGE = Metric(
    name="outage_s",
    label="Outage",
    unit="s",
    formula="time in which a link of one of the flow's paths, there or back, was down (`changes` "
    "with `state: down`); overlapping times count once; NaN without a network (measured runs)",
    place="the links of the flow's paths, as the experiment file has them, on every engine",
    window="from start_ns to end_ns of the flow",
    source="ITU-T E.800 (down time)",
    computed=_measure_outage,
)

STALL = Metric(
    name="stall_s",
    label="Longest stall",
    unit="s",
    formula="longest time between two samples [samples] over which delivered_bytes does not grow "
    "while, at each sample between them, data is unsent or unacknowledged (unsent_bytes, "
    "in_flight_packets, sacked_packets or lost_packets above 0); 0 if it grows from each sample to "
    "the next. The true time is up to two sampling intervals longer",
    place=_SAMPLED,
    window=_LIFE,
    source="as the handover interruption time of 3GPP TR 38.913 §7.7, measured at the receiving "
    "application",
    computed=_of_samples(stall_s),
)

RESUME = Metric(
    name="resume_s",
    label="Time from the end of an outage to new data",
    unit="s",
    formula="time from the end of an outage of the flow's paths until the first sample [samples] "
    "with more delivered_bytes; of several outages the longest. NaN without an outage that ends in "
    "the flow's life, and if no data follows one. At most one sampling interval too long",
    place=_SAMPLED,
    window="from the end of the outage to end_ns",
    source="RFC 6298 §5 (the time-out whose retransmission passes)",
    computed=_of_samples(resume_s),
)

RECOVER = Metric(
    name="recover_s",
    label="Time from the end of an outage to the goodput of before",
    unit="s",
    formula="time from the end of an outage of the flow's paths to the first sample [samples] at "
    "which the goodput over the last 4 base RTTs (at least 5 sampling intervals) is 90 % of that "
    "before, and from which it stays so for three times as long (12 base RTTs, at least 15 "
    "sampling intervals). That before: the mean from established_ns, or from the end of the outage "
    "before, to the outage; of several outages the longest. NaN without an outage that ends in the "
    "flow's life, and if the goodput does not come back to stay after one",
    place=_SAMPLED,
    window="from the end of the outage to end_ns",
    source="as 90 % rise times of step responses",
    computed=_of_samples(recover_s),
)

METRICS = (OUTAGE, STALL, RESUME, RECOVER)
