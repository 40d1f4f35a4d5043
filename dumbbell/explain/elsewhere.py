"""Nearest retransmission or reduction of a flow anywhere in a run."""

from __future__ import annotations

import polars as pl


def elsewhere(samples: pl.DataFrame, flow: str, at_ns: int) -> int | None:
    """Time of the sample nearest to a time that shows an incident; None: the run has none.

    Args:
        samples: Table `samples` of the whole run.
        flow: Name of the flow.
        at_ns: Time.
    """
    own = samples.filter(pl.col("flow") == flow).sort("time_ns")
    bad = pl.col("state").is_in(["CWR", "Recovery", "Loss"])
    entered = bad & (pl.col("state") != pl.col("state").shift())
    again = pl.col("retransmitted_packets") > pl.col("retransmitted_packets").shift()
    times = own.filter(entered | again)["time_ns"]
    if times.is_empty():
        return None
    return int(min(times.to_list(), key=lambda time: abs(time - at_ns)))
