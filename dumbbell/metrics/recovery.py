"""Time that senders take to recover from a loss, as samples of their state show it."""

from __future__ import annotations

import polars as pl

from dumbbell.limits.flows import NetworkLimits, network_limits
from dumbbell.metrics.definition import CONTROLLED, Metric, Tables, keys
from dumbbell.scenario import shared_scenario

#: The state of a sender without a loss or reordering (`tcp_ca_state`).
_OPEN = "Open"
#: States that repair a loss. Reordering alone stays in `Disorder`.
_REPAIR = ("Recovery", "Loss")
#: At least so many samples in a base RTT: a recovery takes an RTT or more.
_SAMPLES_PER_RTT = 4


def _measure(tables: Tables) -> pl.DataFrame:
    flows = tables.flows.filter(pl.col("kind").is_in(CONTROLLED))
    fine = _finely_sampled(tables, flows)
    rows: list[tuple[str, str, float]] = []
    if fine:
        for part in tables.parts("samples", ("flow", "time_ns", "state")):
            own = part.filter(pl.col("run").is_in(list({run for run, _ in fine})))
            own = own.unique(["run", "flow", "time_ns"], maintain_order=True)
            for (run, flow), samples in own.group_by("run", "flow", maintain_order=True):
                times = _episodes_ns(samples.sort("time_ns")) if (run, flow) in fine else []
                if times:
                    rows.append((str(run), str(flow), sum(times) / len(times) * 1e-6))
    schema = {"run": pl.String, "flow": pl.String, "value": pl.Float64}
    found = pl.DataFrame(rows, schema=schema, orient="row")
    columns = [*keys(tables), "flow", "kind", "congestion_control"]
    return (
        flows.select(columns)
        .join(found, on=["run", "flow"], how="left", maintain_order="left")
        .with_columns(pl.col("value").fill_null(float("nan")))
    )


def _finely_sampled(tables: Tables, flows: pl.DataFrame) -> set[tuple[str, str]]:
    """Runs and flows with at least four samples in a base RTT."""
    scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
    intervals_ns = {one: _interval_ns(one) for one in set(scenarios.values())}
    sampled = [run for run, one in scenarios.items() if intervals_ns[one] is not None]
    flows = flows.filter(pl.col("run").is_in(sampled))
    limits = {run: network_limits(scenarios[run]) for run in sampled}
    return {
        (run, flow)
        for run, flow in flows.select("run", "flow").unique(maintain_order=True).iter_rows()
        if _is_fine(limits[run], intervals_ns[scenarios[run]], flow)
    }


def _interval_ns(scenario: str) -> int | None:
    """Interval of the samples of a run; None without samples."""
    if not scenario:
        return None
    sampling = shared_scenario(scenario)["sampling"]
    return sampling["interval_ns"] if sampling["samples"] else None


def _is_fine(limits: NetworkLimits, interval_ns: int | None, flow: str) -> bool:
    try:
        base_rtt_ns = limits.of(flow).base_rtt_s * 1e9
    except (KeyError, ValueError):  # a flow of a page
        return False
    return interval_ns is not None and 0 < interval_ns * _SAMPLES_PER_RTT <= base_rtt_ns


def _episodes_ns(rows: pl.DataFrame) -> list[int]:
    """Lengths of the stretches outside the Open state in which a loss was repaired."""
    found: list[int] = []
    begin: int | None = None
    repaired = False
    for time, state in rows.select("time_ns", "state").iter_rows():
        if state == _OPEN:
            if begin is not None and repaired:
                found.append(time - begin)
            begin, repaired = None, False
        else:
            begin = time if begin is None else begin
            repaired |= state in _REPAIR
    return found


RECOVERY = Metric(
    name="recovery_ms",
    label="Recovery from a loss",
    unit="ms",
    formula="mean time from leaving the Open state until the sender is in it again, of the "
    "stretches in which it was in Recovery or Loss (samples). NaN without one, and with fewer than "
    "four samples in a base RTT",
    place="the sender",
    window="the whole run; a recovery that has not ended is left out",
    source="RFC 6675 §5; Linux tcp_ca_state",
    computed=_measure,
)

METRICS = (RECOVERY,)
