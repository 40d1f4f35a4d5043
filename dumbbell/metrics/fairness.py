"""Fairness: Jain's index."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.metrics.definition import Metric, Tables, keys
from dumbbell.metrics.goodput import GOODPUT


def jain_index(shares: npt.ArrayLike) -> float:
    """Jain's index `(Σx)² / (n·Σx²)`: 1 for equal shares, 1/n if one takes all.

    `shares`: non-negative, any unit. NaN without shares, 1 if all are 0 (equal, if poor).
    Source: Jain, Chiu, Hawe, DEC-TR-301, 1984.
    """
    x = np.asarray(shares, dtype=np.float64)
    if x.size == 0:
        return float("nan")
    largest = float(x.max())
    if largest <= 0:
        return 1.0
    scaled = x / largest  # neither overflow nor underflow in the squares
    return float(scaled.sum() ** 2 / (x.size * np.square(scaled).sum()))


def _measure_jain(tables: Tables) -> pl.DataFrame:
    opened = GOODPUT.measure(tables).filter(tables.flows["start_ns"] >= 0)
    goodput = opened.filter(~pl.col("kind").is_in(["ping", "subflow"]))
    by = keys(tables)
    return (
        goodput.group_by(by, maintain_order=True)
        .agg(pl.col("value"))
        .with_columns(
            pl.col("value").map_elements(
                lambda shares: jain_index(shares.to_numpy()), return_dtype=pl.Float64
            )
        )
    )


JAIN = Metric(
    name="jain",
    label="Jain's index",
    unit="",
    formula="(Σ x)² / (n · Σ x²) over the goodputs x of the n TCP, MPTCP, QUIC and UDP flows of a "
    "run that were opened",
    place="goodput of each flow",
    window="as goodput: each flow over its own life",
    source="Jain, Chiu, Hawe: DEC-TR-301, 1984; RFC 5166 §2.4.1",
    computed=_measure_jain,
    of=(),
    bounds=(0.0, 1.0),
)

METRICS = (JAIN,)
