"""Tables of docs/profiles.md and docs/multipath.md: `dumbbell study tables releases`.

Each profile of a release beside its kernel, where that kernel was built.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

import dumbbell
from dumbbell.engines.linux.kernel import kernels
from dumbbell.studies.pages import Made, Runs, markdown

PAGE = "../../docs/profiles.md"
FILE = "single-flows.yaml"
#: Multipath TCP over two paths, for the table of another page.
PATHS = "../mptcp/grid.yaml"
PATHS_PAGE = "../../docs/multipath.md"
PATHS_CELL = ("rate", "delay", "buffer")
RELEASES = ("6.1", "6.12", "7.3")
CELL = ("cc", "rate", "rtt", "queue")
#: Column: words, and from which value of the kernel on a share says anything.
QUANTITIES = {
    "goodput_mbps": ("goodput", 0.0),
    "rtt_ms": ("mean RTT", 0.0),
    "retransmitted_packets": ("retransmissions", 20.0),
}


def measured(results: dumbbell.Results) -> pl.DataFrame:
    """Means over the seeds of each cell."""
    active_s = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
    runs = results.flows.with_columns(
        goodput_mbps=8e-6 * pl.col("delivered_bytes") / active_s,
        rtt_ms=pl.col("srtt_mean_ns") / 1e6,
    )
    return runs.group_by(CELL, maintain_order=True).agg(pl.col(name).mean() for name in QUANTITIES)


def spread(both: pl.DataFrame, column: str, least: float) -> str:
    """Median and 90th percentile over cells of the difference, % of the kernel's value."""
    theirs = pl.col(f"{column}_kernel")
    of = both.filter(theirs > least).select(100 * ((pl.col(column) - theirs) / theirs).abs())
    median, high = (of.to_series().quantile(share, "linear") for share in (0.5, 0.9))
    fewer = f" ({of.height})" if of.height < both.height else ""
    return f"{median:.2f} / {high:.1f} %{fewer}"


def over_paths(runs: Runs, release: str) -> list[str]:
    """Differences of the goodput of Multipath TCP between both engines, % of the kernel's."""
    chosen = {"hosts.defaults.profile": f"linux-{release}"}
    ours, theirs = (
        runs.experiment(PATHS, engine, chosen).flows.filter(pl.col("kind") == "mptcp")
        for engine in ("sim", f"linux:{release}")
    )
    both = ours.join(theirs, PATHS_CELL, suffix="_kernel")
    relative = pl.col("delivered_bytes") / pl.col("delivered_bytes_kernel") - 1
    off = both.select(100 * relative.abs()).to_series()
    high = [off.quantile(share, "linear") for share in (0.5, 0.9, 1.0)]
    near = off.filter(off <= 5).len()
    return [f"`linux-{release}`", *(f"{one:.1f} %" for one in high), f"{near} of {off.len()}"]


def tables(runs: Runs) -> Iterator[Made]:
    """The tables of the pages, if all kernels are there."""
    built = {kernel.name for kernel in kernels()}
    if not runs.allows("sim", "linux") or not built.issuperset(RELEASES):
        return
    rows = []
    for release in RELEASES:
        chosen = {"hosts.defaults.profile": f"linux-{release}"}
        engines = ("sim", f"linux:{release}")
        ours, theirs = (measured(runs.experiment(FILE, one, chosen)) for one in engines)
        both = ours.join(theirs, CELL, suffix="_kernel")
        differences = (spread(both, column, least) for column, (_, least) in QUANTITIES.items())
        version = next(one.version for one in kernels() if one.name == release)
        rows.append([f"`linux-{release}`", version, str(both.height), *differences])
    heads = ["profile", "kernel", "cells", *(words for words, _ in QUANTITIES.values())]
    yield PAGE, "releases", markdown(heads, rows)
    heads = ["profile and kernel", "median", "90th percentile", "worst", "within 5 %"]
    yield PATHS_PAGE, "paths", markdown(heads, [over_paths(runs, one) for one in RELEASES])
