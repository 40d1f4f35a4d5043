"""Time until flows fit a changed rate, as samples of the queue show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dumbbell.limits.pipes import capacity_bits, rate_steps
from dumbbell.scenario import Pipe

Series = Mapping[str, NDArray[Any]]
"""Column → samples of a flow or pipe in order of time."""

#: After a higher rate, flows have followed when the link carries this share of it.
FULL = 0.9
#: Capacity is measured, and delays are smoothed, over so many samples.
_WINDOW = 5
#: It carries it in so many stretches of a window, one after the other: a queue from before alone
#: may fill the first.
_LASTING = 3
#: After a lower rate, the queue has settled while its delay is at most so many times the median of
#: the second half of the stretch, or at most CoDel's target (RFC 8289 §4.4).
_TIMES_MEDIAN, _TARGET_MS = 2.0, 5.0


def delays_ms(series: Series, begin_ns: int, end_ns: int) -> NDArray[Any]:
    """Known queueing delays of the samples in a stretch, as `queue_delay` defines them."""
    times = series["time_ns"]
    delays = series["delay_ms"][(times > begin_ns) & (times <= end_ns)]
    return delays[delays >= 0]  # NaN: not known


def settled_s(series: Series, pipe: Pipe, begin_ns: int, end_ns: int) -> float | None:
    """Seconds from a change of the rate until flows have settled; None without such a change.

    After a higher rate: until the pipe carries 90 % of it, over five samples, and does so for 15.
    After a lower one: until the queueing delay stays at most twice its median in the second half of
    the stretch. Infinite: not in time.

    Args:
        series: Samples of the pipe.
        begin_ns: Time of the change.
        end_ns: End of the stretch that is looked at.
    """
    change = _change(pipe, begin_ns)
    if change > 0:
        return _full_s(series, pipe, begin_ns, end_ns)
    return _calm_s(series, begin_ns, end_ns) if change < 0 else None


def settled_ms(series: Series, pipe: Pipe, begin_ns: int, end_ns: int) -> float | None:
    """Median queueing delay in the second half of a stretch that begins with a lower rate."""
    return _later_ms(series, begin_ns, end_ns) if _change(pipe, begin_ns) < 0 else None


def _change(pipe: Pipe, at_ns: int) -> float:
    """Change of the rate at this time, bit/s; 0 without one."""
    rates = dict(rate_steps(pipe))
    earlier = [rate for other_ns, rate in rates.items() if other_ns < at_ns]
    return rates[at_ns] - earlier[-1] if at_ns in rates and earlier else 0.0


def _later_ms(series: Series, begin_ns: int, end_ns: int) -> float | None:
    later = delays_ms(series, (begin_ns + end_ns) // 2, end_ns)
    return float(np.median(later)) if len(later) else None


def _full_s(series: Series, pipe: Pipe, begin_ns: int, end_ns: int) -> float:
    times, sent = series["time_ns"], series["sent_bytes"]
    inside = np.flatnonzero((times >= begin_ns) & (times <= end_ns))
    full = 0
    for place in inside[_WINDOW:]:
        first = place - _WINDOW
        bits = capacity_bits(pipe, int(times[first]), int(times[place]))
        carries = bits > 0 and 8 * (sent[place] - sent[first]) >= FULL * bits
        full = full + 1 if carries else 0
        if full > (_LASTING - 1) * _WINDOW:
            return float(times[place - _LASTING * _WINDOW] - begin_ns) / 1e9
    return float("inf")


def _calm_s(series: Series, begin_ns: int, end_ns: int) -> float | None:
    """Seconds until the last time that the smoothed delay is above its limit."""
    later = _later_ms(series, begin_ns, end_ns)
    inside = (series["time_ns"] >= begin_ns) & (series["time_ns"] <= end_ns)
    delays = np.nan_to_num(series["delay_ms"][inside])
    if later is None or len(delays) < _WINDOW:
        return None
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(delays, _WINDOW), axis=1)
    above = np.flatnonzero(smooth > max(_TIMES_MEDIAN * later, _TARGET_MS))
    if not len(above):
        return 0.0
    last_ns = float(series["time_ns"][inside][above[-1] + _WINDOW - 1])
    return (last_ns - begin_ns) / 1e9 if 2 * last_ns < begin_ns + end_ns else float("inf")
