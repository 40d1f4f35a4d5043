"""The same tables in another form: some repeats alone, rows in another order, other names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

from dumbbell.results import Results

#: Tables of a result that metrics read.
TABLES = (
    "runs", "flows", "pipes", "transfers", "samples", "queues", "drops", "probes", "packets",
    "connections",
)  # fmt: skip


def changed(results: Results, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Results:
    """Results with each table changed."""
    return results.with_tables(**{name: change(getattr(results, name)) for name in TABLES})


def only(results: Results, repeats: Iterable[int]) -> Results:
    """The rows of some repeats."""
    wanted = list(repeats)
    return changed(results, lambda frame: frame.filter(pl.col("repeat").is_in(wanted)))


def reversed_rows(results: Results) -> Results:
    """Rows in the reverse order; tables over time keep theirs, which is time."""
    timed = {"samples", "queues", "probes", "packets", "drops"}
    tables = {name: getattr(results, name).reverse() for name in TABLES if name not in timed}
    return results.with_tables(**tables)
