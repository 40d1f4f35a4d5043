"""Times of requests and messages over persistent connections, from the table `transfers`."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import Metric, Tables, keys
from dumbbell.scenario import shared_scenario

_PLACE = (
    "the client's application: from the time at which the request is due to the last byte of its "
    "response; of a message to its last byte at the server's application. Waiting for a connection "
    "counts, and the handshake for requests that are due before its end"
)
_WINDOW = "each request that is complete by the end of the run; others are left out"
_SOURCE = (
    "response time from the intended time of each request, without coordinated omission: Tene, "
    "How NOT to Measure Latency, 2013"
)


def clients(tables: Tables) -> list[str]:
    """Names of the requests of an experiment: their rows of `transfers` have it as `session`."""
    names: dict[str, None] = {}
    for scenario in tables.runs["scenario"].unique(maintain_order=True):
        names |= dict.fromkeys(one["name"] for one in shared_scenario(scenario).get("requests", ()))
    return list(names)


def _over(tables: Tables, value: pl.Expr) -> pl.DataFrame:
    """A value of each client; `took_ms` is null of a request that is not complete."""
    took = (pl.col("end_ns") - pl.col("start_ns")) / 1e6
    return (
        tables.transfers.filter(pl.col("session").is_in(clients(tables)))
        .with_columns(pl.when(pl.col("end_ns") >= 0).then(took).alias("took_ms"))
        .group_by([*keys(tables), "session"], maintain_order=True)
        .agg(value.cast(pl.Float64).fill_null(float("nan")).alias("value"))
    )


def _metric(
    name: str, label: str, unit: str, formula: str, value: pl.Expr, window: str = _WINDOW
) -> Metric:
    return Metric(
        name=name,
        label=label,
        unit=unit,
        formula=f"{formula} (transfers)",
        place=_PLACE,
        window=window,
        source=_SOURCE,
        computed=lambda tables: _over(tables, value),
        of=("session",),
    )


_TOOK = pl.col("took_ms")
_SPAN_S = (pl.col("end_ns").max() - pl.col("start_ns").min()) / 1e9

COUNT = _metric(
    "request_count",
    "Complete requests",
    "requests",
    "number of requests with end_ns",
    _TOOK.count(),
)
UNFINISHED = _metric(
    "request_unfinished",
    "Unfinished requests",
    "requests",
    "number of requests without end_ns",
    _TOOK.null_count(),
    "the run; in a closed loop at most one of each connection",
)
RATE = _metric(
    "request_rate",
    "Request rate",
    "requests/s",
    "number of requests with end_ns / (latest end_ns − earliest start_ns) · 10⁹",
    pl.when(_TOOK.count() > 0).then(_TOOK.count() / _SPAN_S),
)
MEAN = _metric(
    "request_mean_ms",
    "Request time",
    "ms",
    "mean of (end_ns − start_ns) / 10⁶",
    _TOOK.mean(),
)
MEDIAN = _metric(
    "request_median_ms",
    "Median request time",
    "ms",
    "median of (end_ns − start_ns) / 10⁶",
    _TOOK.median(),
)
P95 = _metric(
    "request_p95_ms",
    "Request time, 95 %",
    "ms",
    "95th percentile of (end_ns − start_ns) / 10⁶, nearest rank",
    _TOOK.quantile(0.95, "higher"),
)
P99 = _metric(
    "request_p99_ms",
    "Request time, 99 %",
    "ms",
    "99th percentile of (end_ns − start_ns) / 10⁶, nearest rank",
    _TOOK.quantile(0.99, "higher"),
)
MAX = _metric(
    "request_max_ms",
    "Longest request time",
    "ms",
    "maximum of (end_ns − start_ns) / 10⁶",
    _TOOK.max(),
)
WAIT = _metric(
    "request_wait_ms",
    "Wait for a connection",
    "ms",
    "mean of (request_ns − start_ns) / 10⁶",
    (pl.col("request_ns") - pl.col("start_ns")).filter(_TOOK.is_not_null()).mean() / 1e6,
)

METRICS = (COUNT, UNFINISHED, RATE, MEAN, MEDIAN, P95, P99, MAX, WAIT)
