"""Start of a connection: where slow start ends, what it loses, how long the rate takes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from dumbbell.limits.flows import FlowLimits, network_limits
from dumbbell.metrics.definition import CONTROLLED, Measurement, Metric, Tables, keys

#: `ssthresh` before slow start has ended (Linux's TCP_INFINITE_SSTHRESH).
_INFINITE = 0x7FFF_FFFF
_NONE = float("nan")
_NS = 1e9
#: Share of the rate that ends the start.
_SHARE = 0.9
#: Smoothed RTTs after slow start in which its losses are found.
_SETTLING_RTTS = 2
_COLUMNS = (
    "flow",
    "time_ns",
    "state",
    "cwnd_packets",
    "ssthresh_packets",
    "srtt_ns",
    "retransmitted_packets",
    "delivered_packets",
)

OfSamples = Callable[[pl.DataFrame, FlowLimits], float]
"""A value from the samples of a flow since its establishment, and its limits."""


def _end(samples: pl.DataFrame) -> int | None:
    """Row of the first sample after slow start; `None`: it did not end.

    A spurious recovery sets a threshold and, undone, takes it back.
    """
    without = (samples["ssthresh_packets"] >= _INFINITE).arg_true()
    end = int(without[-1]) + 1 if len(without) else 0
    return end if end < len(samples) else None


#: Least growth of the window in a round trip of slow start: that of HyStart++ (RFC 9406 §4.2).
_GROWTH = 1.25


def in_slow_start(sample: Mapping[str, Any] | None, earlier: Mapping[str, Any] | None) -> bool:
    """Returns true if a window is below its threshold and grew as in slow start.

    BBR has a threshold, which does not tell what it does.

    Args:
        sample: Row of `samples`; None: there is none.
        earlier: That of a round trip before; None: the connection is younger.
    """
    if sample is None or not 0 < sample["cwnd_packets"] < sample["ssthresh_packets"]:
        return False
    return earlier is None or sample["cwnd_packets"] >= _GROWTH * earlier["cwnd_packets"]


def exit_bdp(samples: pl.DataFrame, limits: FlowLimits) -> float:
    """Last window of slow start over the bandwidth-delay product."""
    end = _end(samples)
    if not end or not 0 < limits.bdp_packets < float("inf"):
        return _NONE
    cwnd = samples["cwnd_packets"][end - 1]
    return float(cwnd) / limits.bdp_packets if cwnd >= 0 else _NONE


def retransmissions(samples: pl.DataFrame, _limits: FlowLimits) -> float:
    """Segments retransmitted until the losses of slow start are repaired."""
    counts = samples["retransmitted_packets"]
    if samples.is_empty() or counts[-1] < 0 or samples["ssthresh_packets"][-1] < 0:
        return _NONE  # Unknown.
    end = _end(samples)
    if end is not None:
        if samples["srtt_ns"][end] < 0:
            return _NONE
        least_ns = samples["time_ns"][end] + _SETTLING_RTTS * samples["srtt_ns"][end]
        repaired = (samples["time_ns"] >= least_ns) & (samples["state"] == "Open")
        found = repaired.arg_true()
        if len(found):
            return float(counts[int(found[0])])
    return float(counts[-1])


def rise_s(samples: pl.DataFrame, limits: FlowLimits) -> float:
    """Time until the packets delivered in a base RTT are 90 % of what the path carries in it."""
    times = samples["time_ns"].to_numpy()
    delivered = samples["delivered_packets"].to_numpy()
    if len(times) < 2 or not 0 < limits.bdp_packets < float("inf"):
        return _NONE
    # The last sample at least a base RTT earlier.
    before = np.searchsorted(times, times - round(limits.base_rtt_s * _NS), side="right") - 1
    at = np.flatnonzero(before >= 0)
    spans_s = (times[at] - times[before[at]]) / _NS
    carried = spans_s * limits.bdp_packets / limits.base_rtt_s
    reached = np.flatnonzero(delivered[at] - delivered[before[at]] >= _SHARE * carried)
    return float(times[at[reached[0]]]) / _NS if len(reached) else _NONE


def _per_flow(value: OfSamples) -> Measurement:
    def measure(tables: Tables) -> pl.DataFrame:
        flows = tables.flows.filter(pl.col("kind").is_in(CONTROLLED))
        begin = pl.col("established_ns").alias("begin_ns")
        begins = flows.select("run", "flow", begin).unique(["run", "flow"])
        flows = flows.select(*keys(tables), "flow", "kind", "congestion_control")
        scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
        limits = {run: network_limits(one) for run, one in scenarios.items() if one}
        rows: list[tuple[str, str, float]] = []
        for part in tables.parts("samples", _COLUMNS):
            # Cells with one scenario share a run, whose samples then stand here once for each.
            own = part.unique(["run", "flow", "time_ns"], maintain_order=True)
            own = own.join(begins, on=["run", "flow"], how="inner", maintain_order="left")
            own = own.with_columns(pl.col("time_ns") - pl.col("begin_ns"))
            own = own.filter((pl.col("begin_ns") >= 0) & (pl.col("time_ns") >= 0))
            for (run, flow), samples in own.group_by("run", "flow", maintain_order=True):
                with contextlib.suppress(KeyError):  # a measured run has no network
                    found_limits = limits[str(run)].of(str(flow))
                    rows.append((str(run), str(flow), value(samples, found_limits)))
        schema = {"run": pl.String, "flow": pl.String, "value": pl.Float64}
        found = pl.DataFrame(rows, schema=schema, orient="row").unique(["run", "flow"])
        joined = flows.join(found, on=["run", "flow"], how="left", maintain_order="left")
        return joined.with_columns(pl.col("value").fill_null(_NONE))

    return measure


_PLACE = "the sender's state, sampled every sampling interval; NaN without the table `samples`"

EXIT = Metric(
    name="slow_start_exit_bdp",
    label="Window at the end of slow start",
    unit="BDP",
    formula="cwnd_packets of the last sample without a slow-start threshold, over the "
    "bandwidth-delay product in packets; a threshold that is undone does not count; NaN if slow "
    "start does not end",
    place=_PLACE,
    window="from establishment to the first sample with a threshold that stays",
    source="RFC 5681 §3.1; RFC 6349 §3.3.1 (BDP)",
    computed=_per_flow(exit_bdp),
)

RETRANSMISSIONS = Metric(
    name="slow_start_retransmissions",
    label="Retransmissions of slow start",
    unit="packets",
    formula="retransmitted_packets of the first sample in state Open that is two smoothed RTTs or "
    "more after the end of slow start; of the last sample if there is none",
    place=_PLACE,
    window="from establishment to that sample",
    source="RFC 5681 §3.1; RFC 4898 tcpEStatsPerfSegsRetrans",
    computed=_per_flow(retransmissions),
)

RISE = Metric(
    name="rise_s",
    label="Time to 90 % of the rate",
    unit="s",
    formula="first time at which the packets delivered in the last base RTT (or the shortest "
    "longer span between samples) are 90 % of what the path carries in that time, in full frames; "
    "NaN if never",
    place=_PLACE,
    window="from establishment",
    source="as 90 % rise times of step responses; RFC 6349 §3.3.1 (rate, base RTT)",
    computed=_per_flow(rise_s),
)

METRICS = (EXIT, RETRANSMISSIONS, RISE)
