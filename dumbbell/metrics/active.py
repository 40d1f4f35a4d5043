"""Time in which anything happens in a run: from its first packet to the end of its last flow."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import DATA, Tables
from dumbbell.scenario import shared_scenario

WORDS = (
    "the time in which flows are under way: from the first start_ns to the last end_ns of the "
    "run's flows (of a Multipath TCP connection its own); the whole run if it has programs and no "
    "flow"
)


def active_windows(tables: Tables) -> pl.DataFrame:
    """One row per run: `run`, `begin_ns`, `end_ns`; of a run in which no packet was sent, none."""
    started = (pl.col("start_ns") >= 0) & (pl.col("kind") != "subflow")
    found = tables.flows.filter(started).group_by("run")
    window = found.agg(
        pl.col("start_ns").min().alias("begin_ns"), pl.col("end_ns").max().alias("end_ns")
    )
    window = window.filter(pl.col("end_ns") > pl.col("begin_ns"))
    if not tables.has("programs"):
        return window
    known = set(window["run"])
    texts = tables.runs.select("run", "scenario").unique("run", maintain_order=True)
    whole = [
        (run, 0, shared_scenario(text)["duration_ns"])
        for run, text in texts.iter_rows()
        if run not in known and shared_scenario(text).get("programs")
    ]
    return pl.concat([window, pl.DataFrame(whole, schema=window.schema, orient="row")])


#: Its length in seconds, in a frame with `begin_ns` and `end_ns`.
ACTIVE_S = (pl.col("end_ns") - pl.col("begin_ns")) / 1e9


#: A life that lacks at most this share of the time of all flows is as long.
_APART = 0.02


def _data_lives(tables: Tables) -> pl.DataFrame:
    """`run`, `count` of its flows with data, `least_ns` (shortest life), `all_ns` (of all)."""
    begun = tables.flows.filter(pl.col("kind").is_in(DATA) & (pl.col("established_ns") >= 0))
    lives = begun.unique(["run", "flow"]).group_by("run")
    life_ns = pl.col("end_ns") - pl.col("established_ns")
    return lives.agg(
        pl.len().alias("count"),
        life_ns.min().alias("least_ns"),
        (pl.col("end_ns").max() - pl.col("established_ns").min()).alias("all_ns"),
    )


def several_flows(tables: Tables) -> bool:
    """Returns true if several flows carry data in some run; subflows do not count."""
    return bool((_data_lives(tables)["count"] > 1).any())


def lives_differ(tables: Tables) -> bool:
    """Returns true if a flow with data lives shorter than all of them together in some run.

    Then goodputs of flows, each over its own life, do not add up to that of all.
    """
    lives = _data_lives(tables)
    return bool((lives["least_ns"] < (1 - _APART) * lives["all_ns"]).any())


def times_differ(tables: Tables) -> bool:
    """Returns true if a flow with data lives shorter than packets are under way in some run.

    Then its goodput, over its own life, may exceed the throughput of its link: the handshake is no
    part of the life.
    """
    lives = _data_lives(tables).join(active_windows(tables), on="run")
    all_ns = pl.col("end_ns") - pl.col("begin_ns")
    return bool(lives.select((pl.col("least_ns") < (1 - _APART) * all_ns).any()).item())
