"""Lives of flows in tables over time: a sender that is done keeps its last window and RTT."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def while_alive(samples: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Rows of flows up to their ends; of flows that are not listed, or have no end, all.

    Args:
        samples: Rows with `run`, `flow` and `time_ns`.
        flows: Table `flows` of the same runs.
    """
    import polars as pl

    ends = flows.select("run", "flow", _end=pl.col("end_ns")).unique(["run", "flow"])
    end = pl.col("_end")
    joined = samples.join(ends, on=["run", "flow"], how="left", maintain_order="left")
    alive = end.is_null() | (end < 0) | (pl.col("time_ns") <= end)
    return joined.filter(alive).drop("_end")
