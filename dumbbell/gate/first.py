"""Where a run of the new side parts from that of the base: the first sample that differs."""

from __future__ import annotations

import polars as pl

from dumbbell.gate.gate import Outcome
from dumbbell.gate.suite import is_one_of
from dumbbell.gate.verdict import Quantity
from dumbbell.metrics.numbers import number

#: Columns of `samples` that are compared, and their names in a sentence.
_COLUMNS = {
    "cwnd_packets": "a window of {} packets",
    "ssthresh_packets": "a threshold of {} packets",
    "retransmitted_packets": "{} packets retransmitted",
    "delivered_bytes": "{} bytes delivered",
}
_UNKNOWN = -1
#: Slow-start threshold before the first loss (Linux's `TCP_INFINITE_SSTHRESH`).
_INFINITE = 0x7FFF_FFFF


def _words(column: str, value: int) -> str:
    is_infinite = column == "ssthresh_packets" and value >= _INFINITE
    return "infinitely many" if is_infinite else number(value)


def first_difference(outcome: Outcome, quantity: Quantity) -> str | None:
    """Sentence on the first sample in which a repeat of a cell differs; None: there is none.

    The repeat is the first one. For a quantity of a pipe, a sender under test is looked at.
    """
    before, now = outcome.results[quantity.part]
    flow = quantity.sample.of.get("flow")
    if flow is None:
        names = before.flows["flow"].unique(maintain_order=True).to_list()
        wanted_names = outcome.subjects[quantity.part]
        flow = next((one for one in names if is_one_of(one, wanted_names)), None)
    if flow is None:
        return None
    levels = [
        pl.col(name).cast(pl.String) == level for name, level in quantity.sample.levels.items()
    ]
    wanted = [*levels, pl.col("repeat") == 0, pl.col("flow") == flow]
    known = [name for name in _COLUMNS if name in before.samples.columns]
    old, new = (
        one.samples.filter(*wanted).select("time_ns", *known).sort("time_ns")
        for one in (before, now)
    )
    both = old.join(new, on="time_ns", suffix="_new", maintain_order="left")
    for row in both.iter_rows(named=True):
        for name in known:
            one, other = row[name], row[f"{name}_new"]
            if one != other and _UNKNOWN not in (one, other):
                words = _COLUMNS[name].format(f"{_words(name, other)} (before {_words(name, one)})")
                return f"{flow} has {words} at {row['time_ns'] / 1e9:.3g} s, the first difference"
    return None
