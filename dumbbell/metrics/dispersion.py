"""Bursts of datagrams at their receiver: peak rates over short windows, and the rate of a burst.

Everything comes from the table `probes`; without it (`sampling: {keep: [probes]}`) values are NaN.
"""

from __future__ import annotations

import weakref

import polars as pl

from dumbbell.metrics.definition import Measurement, Metric, Tables, keys
from dumbbell.scenario import shared_scenario

#: Windows of the peaks, ms.
_WINDOWS_MS = (1, 10, 100)
_BURST = "burst_rate_mbps"
_NAMES = (*(f"peak_{window}ms_mbps" for window in _WINDOWS_MS), _BURST)
_COLUMNS = {"run": pl.String, "flow": pl.String, "size": pl.Int64, "interval": pl.Int64}

#: Values of the results that are alive.
_KNOWN: weakref.WeakKeyDictionary[Tables, pl.DataFrame] = weakref.WeakKeyDictionary()


def _datagrams(tables: Tables) -> pl.DataFrame:
    """Size of a datagram and interval of the bursts of each UDP flow at a constant rate."""
    rows = []
    for run, text in tables.runs.select("run", "scenario").iter_rows():
        for flow in shared_scenario(text)["flows"]:
            if udp := flow["traffic"].get("udp"):
                sizes = (udp["datagram_bytes"], udp["interval_ns"])
                rows.append((run, flow["name"], *sizes))
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


def _values(arrived: pl.DataFrame) -> pl.DataFrame:
    """The values of `_NAMES` by run and flow. `arrived`: datagrams with time, `sent` and `size`."""
    flow = ["run", "flow"]
    in_order = arrived.sort(*flow, "time", maintain_order=True)
    found = in_order.group_by(flow, maintain_order=True).agg()
    for window in _WINDOWS_MS:
        within = in_order.rolling(
            index_column="time", period=f"{window}000000i", closed="right", group_by=flow
        ).agg((pl.col("size").sum() * 8e-3 / window).alias("rate"))
        peak = within.group_by(flow).agg(pl.col("rate").max().alias(f"peak_{window}ms_mbps"))
        found = found.join(peak, on=flow, how="left", maintain_order="left")
    gap = pl.col("sent").diff().over(flow) > pl.col("interval") // 2
    bursts = (
        arrived.sort(*flow, "sent", "time", maintain_order=True)
        .with_columns(gap.fill_null(value=False).cum_sum().over(flow).alias("burst"))
        .filter(pl.col("interval") > 0)
        .group_by(*flow, "burst")
        .agg(
            (pl.col("size").sum() - pl.col("size").first()).alias("bytes"),
            (pl.col("time").max() - pl.col("time").min()).alias("span"),
        )
        .filter((pl.col("bytes") > 0) & (pl.col("span") > 0))
        .group_by(flow)
        .agg((pl.col("bytes").sum() * 8e3 / pl.col("span").sum()).alias(_BURST))
    )
    return found.join(bursts, on=flow, how="left", maintain_order="left")


def _known(tables: Tables) -> pl.DataFrame:
    if (known := _KNOWN.get(tables)) is not None:
        return known
    schema = {"run": pl.String, "flow": pl.String, **dict.fromkeys(_NAMES, pl.Float64)}
    sizes = _datagrams(tables)
    parts = [pl.DataFrame(schema=schema)]
    for probes in tables.parts("probes", ("flow", "time_ns", "delay_ns")):
        arrived = (
            probes.filter(pl.col("delay_ns") >= 0)
            .join(sizes, on=["run", "flow"], maintain_order="left")
            .with_columns(
                pl.col("time_ns").alias("sent"),
                (pl.col("time_ns") + pl.col("delay_ns")).alias("time"),
            )
        )
        if not arrived.is_empty():
            parts.append(_values(arrived).select(*schema))
    _KNOWN[tables] = pl.concat(parts)
    return _KNOWN[tables]


def _of(name: str) -> Measurement:
    def measure(tables: Tables) -> pl.DataFrame:
        flows = tables.flows.filter(pl.col("kind") == "udp").select(*keys(tables), "flow")
        found = _known(tables).select("run", "flow", pl.col(name).alias("value"))
        joined = flows.join(found, on=["run", "flow"], how="left", maintain_order="left")
        return joined.with_columns(pl.col("value").fill_null(float("nan")))

    return measure


def _peak(window: int) -> Metric:
    name = f"peak_{window}ms_mbps"
    return Metric(
        name=name,
        label=f"Peak rate of datagrams over {window} ms",
        unit="Mbit/s",
        formula="maximum over the arrivals of a UDP flow with `rate` of 8 · the payload that "
        f"arrived in the last {window} ms / {window} ms (probes)",
        place="the receiving application",
        window="the run",
        source="peak of a sliding window",
        computed=_of(name),
        of=("flow",),
    )


BURST = Metric(
    name=_BURST,
    label="Rate of a burst at the receiver",
    unit="Mbit/s",
    formula="Σ over bursts of 8 · payload of all datagrams but the first to be sent / Σ of time "
    "from the first to the last arrival (probes). A burst: datagrams that were sent within half an "
    "`interval`; those that were lost are left out",
    place="the receiving application",
    window="bursts of which two or more datagrams arrived, at different times",
    source="dispersion of packet trains: Dovrolis, Ramanathan and Moore, IEEE/ACM ToN 12(6), 2004",
    computed=_of(_BURST),
    of=("flow",),
)

METRICS = (*map(_peak, _WINDOWS_MS), BURST)
