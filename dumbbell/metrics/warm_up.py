"""Warm-up: how long a flow's rate differs from that of the rest of the run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.metrics.definition import CONTROLLED, Metric, Tables, keys

#: Samples of a batch (MSER-5).
BATCH = 5
#: Fewer batches say nothing.
LEAST_BATCHES = 10
#: Smaller parts of a sum of squares are rounding errors.
_ROUNDING = 1e-12
_NS = 1e9


def truncation(values: npt.ArrayLike) -> int | None:
    """Number of first values that the rest does without: MSER-5.

    The truncation d, in whole batches and at most half of the series, at which the variance of the
    rest over its length is least. `None`: too few values.

    Source: K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state truncation
    heuristics for simulation", Winter Simulation Conference, 2000.
    """
    x = np.asarray(values, dtype=np.float64)
    count = x.size // BATCH
    if count < LEAST_BATCHES:
        return None
    means = x[: count * BATCH].reshape(count, BATCH).mean(axis=1)
    # A shift changes no variance, and keeps rounding errors of large values out of it.
    spread, means = np.ptp(means), means - means.mean()
    if spread <= _ROUNDING * np.abs(x).max():
        return 0
    # Sums from each batch to the end: the rest beyond d has n − d batches.
    left = np.arange(count, 0, -1)
    sums, squares = np.cumsum(means[::-1])[::-1], np.cumsum(means[::-1] ** 2)[::-1]
    deviations = squares - sums**2 / left
    deviations[deviations < _ROUNDING * squares[0]] = 0
    return int(np.argmin((deviations / left**2)[: count // 2 + 1])) * BATCH


def _measure(tables: Tables) -> pl.DataFrame:
    flows = tables.flows.filter(pl.col("kind").is_in(CONTROLLED))
    flows = flows.select(*keys(tables), "flow", "kind", "congestion_control")
    rows: list[tuple[str, str, float]] = []
    for part in tables.parts("samples", ("flow", "time_ns", "delivered_bytes")):
        # Cells with one scenario share a run, whose samples then stand here once for each.
        own = part.unique(["run", "flow", "time_ns"], maintain_order=True)
        for (run, flow), samples in own.group_by("run", "flow", maintain_order=True):
            rows.append((str(run), str(flow), of_samples(samples)))
    schema = {"run": pl.String, "flow": pl.String, "value": pl.Float64}
    found = pl.DataFrame(rows, schema=schema, orient="row").unique(["run", "flow"])
    joined = flows.join(found, on=["run", "flow"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("value").fill_null(float("nan")))


def of_samples(samples: pl.DataFrame) -> float:
    """Warm-up of a flow, s, from its first sample on; NaN if the samples are too few."""
    known = samples.filter(pl.col("delivered_bytes") >= 0)
    first = truncation(np.diff(known["delivered_bytes"].to_numpy()))
    if first is None:
        return float("nan")
    times = known["time_ns"]
    return float(times[first] - times[0]) / _NS


WARM_UP = Metric(
    name="warm_up_s",
    label="Warm-up",
    unit="s",
    formula=(
        "MSER-5 over the goodput between samples: the time from the flow's first sample to the "
        "truncation, at most half of its samples; a value near the half means that the run is too "
        "short. NaN below 50 samples"
    ),
    place="the receiving application",
    window="from the flow's first sample to its last",
    source="White, Cobb, Spratt, Winter Simulation Conference, 2000",
    computed=_measure,
)

METRICS = (WARM_UP,)
