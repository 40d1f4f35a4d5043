"""Metrics, computed from stored tables alone (`docs/metrics.md`).

`METRICS["goodput_mbps"].measure(results)` gives one value per run and flow;
`summary(results, METRICS["goodput_mbps"])` the mean over repeats with its 95 % interval.
"""

from __future__ import annotations

from difflib import get_close_matches

from dumbbell.levels import scale_of
from dumbbell.limits.flows import FlowLimits, flow_limits
from dumbbell.metrics import (
    arrivals,
    bottlenecks,
    dispersion,
    dynamics,
    fairness,
    goodput,
    groups,
    joint,
    latency,
    load,
    loss,
    multipath,
    outage,
    overflow,
    pages,
    queue_delay,
    recovery,
    reordering,
    requests,
    retransmissions,
    rtt,
    sack,
    sharing,
    start,
    throughput,
    totals,
    warm_up,
    window,
)
from dumbbell.metrics.definition import Metric, Tables
from dumbbell.metrics.fairness import jain_index
from dumbbell.metrics.loss import losses
from dumbbell.metrics.statistics import (
    Interval,
    draws_of_mean,
    interval,
    paired_difference,
    summary,
)

#: The subjects, in the order of the documentation.
SUBJECTS: dict[str, tuple[Metric, ...]] = {
    "Goodput": goodput.METRICS,
    "Throughput and sending rate": throughput.METRICS,
    "Round-trip time": rtt.METRICS,
    "Selective acknowledgements": sack.METRICS,
    "Retransmissions": retransmissions.METRICS,
    "Reordering": reordering.METRICS,
    "Loss": loss.METRICS,
    "Congestion window": window.METRICS,
    "Slow start": start.METRICS,
    "Rates over time": dynamics.METRICS,
    "Recovery": recovery.METRICS,
    "Links": bottlenecks.METRICS,
    "Fairness": (*fairness.METRICS, *sharing.METRICS),
    "Joint goodput": joint.METRICS,
    "Totals of a run": totals.METRICS,
    "Groups of connections": groups.METRICS,
    "Pages": pages.METRICS,
    "Requests": requests.METRICS,
    "Arrivals": arrivals.METRICS,
    "Load": (*load.METRICS, *queue_delay.METRICS, *overflow.METRICS),
    "Latency under load": latency.METRICS,
    "Bursts of datagrams": dispersion.METRICS,
    "Several paths": multipath.METRICS,
    "Outages": outage.METRICS,
    "Warm-up": warm_up.METRICS,
}

#: Former name → name. Columns of result tables have these names, too.
RENAMED = {
    one: f"{one}_packets"
    for one in (
        "cwnd_max",
        "cwnd_mean",
        "in_flight_mean",
        "reordering_extent_max",
        "reordering_extent_mean",
    )
}


class _Metrics(dict[str, Metric]):
    """Every metric by name: `METRICS["goodput_mbps"].measure(results)` has its values.

    Former names are found, too, and are not listed. `docs/metrics.md` describes all metrics.
    """

    def __missing__(self, name: str) -> Metric:
        if name in RENAMED:
            return self[RENAMED[name]]
        raise KeyError(_unknown(name))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in RENAMED


#: Every metric by name.
METRICS: dict[str, Metric] = _Metrics(
    {metric.name: metric for subject in SUBJECTS.values() for metric in subject}
)


def metric_named(name: str) -> Metric:
    """The metric of that name; `ValueError` with the nearest names otherwise."""
    if name in METRICS:
        return METRICS[name]
    raise ValueError(_unknown(name))


def _unknown(name: str) -> str:
    near = get_close_matches(name, METRICS, n=3, cutoff=0.4) or sorted(METRICS)
    return f"no metric {name!r}; did you mean {', '.join(near)}?"


__all__ = [
    "METRICS",
    "RENAMED",
    "SUBJECTS",
    "FlowLimits",
    "Interval",
    "Metric",
    "Tables",
    "draws_of_mean",
    "flow_limits",
    "interval",
    "jain_index",
    "losses",
    "metric_named",
    "paired_difference",
    "scale_of",
    "summary",
]
