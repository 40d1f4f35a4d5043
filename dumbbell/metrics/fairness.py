"""Fairness of goodputs: Jain's index, the smallest beside the largest, the product."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.metrics.definition import Measurement, Metric, Tables, keys
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


def min_max_ratio(shares: npt.ArrayLike) -> float:
    """Smallest share over the largest: an allocation with `1 − ε` is epsilon-fair (RFC 5166).

    `shares`: non-negative, any unit. NaN without shares, 1 if all are 0.
    """
    x = np.asarray(shares, dtype=np.float64)
    if x.size == 0:
        return float("nan")
    largest = float(x.max())
    return 1.0 if largest <= 0 else float(x.min()) / largest


def product_index(shares: npt.ArrayLike) -> float:
    """Geometric mean over arithmetic mean: 1 for equal shares, 0 if one has nothing.

    It is RFC 5166's product of the shares, without its unit and its number of factors.
    `shares`: non-negative, any unit. NaN without shares, 1 if all are 0.
    """
    x = np.asarray(shares, dtype=np.float64)
    if x.size == 0:
        return float("nan")
    largest = float(x.max())
    if largest <= 0:
        return 1.0
    scaled = x / largest
    if scaled.min() <= 0:
        return 0.0
    return float(np.exp(np.log(scaled).mean()) / scaled.mean())


def _over_flows(index: Callable[[npt.ArrayLike], float]) -> Measurement:
    """Measurement of an index over the goodputs of the flows of a run."""
    return lambda tables: _measure(tables, index)


def _measure(tables: Tables, index: Callable[[npt.ArrayLike], float]) -> pl.DataFrame:
    opened = GOODPUT.measure(tables).filter(tables.flows["start_ns"] >= 0)
    goodput = opened.filter(~pl.col("kind").is_in(["ping", "subflow"]))
    by = keys(tables)
    return (
        goodput.group_by(by, maintain_order=True)
        .agg(pl.col("value"))
        .with_columns(
            pl.col("value").map_elements(
                lambda shares: index(shares.to_numpy()), return_dtype=pl.Float64
            )
        )
    )


JAIN = Metric(
    name="jain",
    label="Jain's index of all flows",
    unit="",
    formula="(Σ x)² / (n · Σ x²) over the goodputs x of the n TCP, MPTCP, QUIC and UDP flows of a "
    "run that were opened",
    place="goodput of each flow",
    window="as goodput: each flow over its own life",
    source="Jain, Chiu, Hawe: DEC-TR-301, 1984; RFC 5166 §2.4.1",
    computed=_over_flows(jain_index),
    of=(),
    bounds=(0.0, 1.0),
)

_WINDOW = "as goodput: each flow over its own life"
_PLACE = "goodput of each flow"

MIN_MAX = Metric(
    name="min_max_ratio",
    label="Smallest over largest goodput",
    unit="",
    formula="min x / max x over the goodputs x of the TCP, MPTCP, QUIC and UDP flows of a run that "
    "were opened; 1 − ε of an epsilon-fair allocation",
    place=_PLACE,
    window=_WINDOW,
    source="RFC 5166 (epsilon-fairness)",
    computed=_over_flows(min_max_ratio),
    of=(),
    bounds=(0.0, 1.0),
)

PRODUCT = Metric(
    name="product_fairness",
    label="Product measure of fairness",
    unit="",
    formula="(Π x)^(1/n) / mean(x) over the goodputs x of the n TCP, MPTCP, QUIC and UDP flows of "
    "a run that were opened; the product of RFC 5166 without its unit",
    place=_PLACE,
    window=_WINDOW,
    source="RFC 5166 (product measure)",
    computed=_over_flows(product_index),
    of=(),
    bounds=(0.0, 1.0),
)

METRICS = (JAIN, MIN_MAX, PRODUCT)
