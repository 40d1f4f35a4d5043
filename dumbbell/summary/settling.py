"""Time until a flow fits a changed rate, as samples of the queue show it."""

from __future__ import annotations

import polars as pl

from dumbbell.limits.pipes import capacity_bits, rate_steps
from dumbbell.scenario import Pipe

#: After a higher rate, flows follow when the link carries this share of it.
FULL = 0.9
#: Capacity is measured, and delays are smoothed, over so many samples.
_WINDOW = 5
#: After a lower rate, the queue has settled while its delay is at most so many times the median of
#: the second half of the stretch, or at most CoDel's target (RFC 8289 §4.4).
_TIMES_MEDIAN, _TARGET_MS = 2.0, 5.0


def delays_ms(series: pl.DataFrame, begin_ns: int, end_ns: int) -> pl.Series:
    """Mean queueing delays of the samples in a stretch; empty if no packet left."""
    inside = series.filter(pl.col("time_ns").is_between(begin_ns, end_ns, closed="right"))
    known = inside["sojourn_mean_ns"].fill_nan(None).drop_nulls()
    return known.filter(known >= 0) / 1e6


def settled_s(series: pl.DataFrame, pipe: Pipe, begin_ns: int, end_ns: int) -> float | None:
    """Seconds from a change of the rate until flows have settled; None without such a change.

    After a higher rate: until the pipe carries 90 % of it. After a lower one: until the queueing
    delay stays at most twice its median in the second half of the stretch. Infinite: not in time.

    Args:
        series: Samples of the pipe in order of time.
        begin_ns: Time of the change.
        end_ns: End of the stretch that is looked at.
    """
    rates = dict(rate_steps(pipe))
    earlier = [rate for at_ns, rate in rates.items() if at_ns < begin_ns]
    if begin_ns not in rates or not earlier or earlier[-1] == rates[begin_ns]:
        return None
    if rates[begin_ns] > earlier[-1]:
        return _full_s(series, pipe, begin_ns, end_ns)
    return _calm_s(series, begin_ns, end_ns)


def later_ms(series: pl.DataFrame, begin_ns: int, end_ns: int) -> float | None:
    """Median queueing delay in the second half of a stretch."""
    found = delays_ms(series, (begin_ns + end_ns) // 2, end_ns).median()
    return found if isinstance(found, float) else None


def falls(pipe: Pipe, at_ns: int) -> bool:
    """Returns true if the rate falls at this time."""
    rates = dict(rate_steps(pipe))
    earlier = [rate for other_ns, rate in rates.items() if other_ns < at_ns]
    return at_ns in rates and bool(earlier) and rates[at_ns] < earlier[-1]


def _full_s(series: pl.DataFrame, pipe: Pipe, begin_ns: int, end_ns: int) -> float:
    inside = series.filter(pl.col("time_ns").is_between(begin_ns, end_ns))
    times, sent = inside["time_ns"].to_list(), inside["sent_bytes"].to_list()
    for place in range(_WINDOW, len(times)):
        first = place - _WINDOW
        bits = capacity_bits(pipe, times[first], times[place])
        if bits > 0 and 8 * (sent[place] - sent[first]) >= FULL * bits:
            return float(times[first] - begin_ns) / 1e9
    return float("inf")


def _calm_s(series: pl.DataFrame, begin_ns: int, end_ns: int) -> float | None:
    """Seconds until the last time that the smoothed delay is above its limit."""
    later = later_ms(series, begin_ns, end_ns)
    if later is None:
        return None
    limit_ms = max(_TIMES_MEDIAN * later, _TARGET_MS)
    smooth = (pl.col("sojourn_mean_ns").fill_nan(0) / 1e6).rolling_median(_WINDOW, min_samples=1)
    inside = series.filter(pl.col("time_ns").is_between(begin_ns, end_ns))
    above = inside.filter(smooth > limit_ms)["time_ns"].max()
    if not isinstance(above, int):
        return 0.0
    return (above - begin_ns) / 1e9 if 2 * above < begin_ns + end_ns else float("inf")
