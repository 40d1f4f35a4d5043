"""Writes of an application that limits a transfer: chunks at an interval, or bursts and pauses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.observe import Observed
from dumbbell.fit.path import Path

Floats = NDArray[np.float64]
#: Shortest interval of writes, and that within a burst, s.
_LEAST_S, _BURST_S = 0.001, 0.01
#: A pause lasts so many usual gaps between packets, and this part of the longest gap.
_GAPS, _LONGEST = 10, 0.3
#: Largest chunk that a socket takes at once: Linux's send buffer has 85 KiB at the start.
_AT_ONCE_BYTES = 65_536
#: Part of the path's rate from which on the path spreads a burst, and how much faster it is written
#: then.
_SPREAD, _FASTER = 0.85, 1.1


@dataclass(frozen=True)
class Writes:
    """Writes of an application.

    Attributes:
        chunk_bytes, interval_s: Each chunk, and the time from one to the next.
        on_s, off_s: Time with writes, and the pause after it; None: no pauses.
    """

    chunk_bytes: int
    interval_s: float
    on_s: float | None = None
    off_s: float = 0.0

    @property
    def source(self) -> dict[str, Any]:
        """The field `source` of a flow."""
        chunk, interval = f"{self.chunk_bytes} bytes", _ns(self.interval_s)
        if self.on_s is None:
            return {"periodic": {"chunk": chunk, "interval": interval}}
        on, off = _ns(self.on_s), _ns(self.off_s)
        return {"on_off": {"chunk": chunk, "interval": interval, "on": on, "off": off}}


def _ns(seconds: float) -> str:
    return f"{round(seconds * 1e9)} ns"


def writes(seen: Observed, path: Path) -> Writes:
    """Writes that make the bursts and pauses of a transfer.

    A chunk that the send buffer does not take goes with the next one, so a long burst is written
    in chunks.
    """
    at, size = seen.sent_s[seen.sent_new], seen.sent_len_bytes[seen.sent_new]
    gaps = np.diff(at)
    typical = float(np.median(gaps))
    begins = 1 + np.flatnonzero(gaps > max(_GAPS * typical, _LONGEST * float(gaps.max())))
    if len(begins) < 2:  # no pauses: packet by packet
        interval = max(typical, _LEAST_S)
        span = float(at[-1] - at[0]) or 1.0
        return Writes(max(1, round(float(size.sum()) / span * interval)), interval)
    period = float(np.median(np.diff(at[begins])))
    total = np.concatenate(([0.0], np.cumsum(size)))[begins]
    burst = float(total[-1] - total[0]) / (len(begins) - 1)
    lasted = float(np.median(at[begins[1:] - 1] - at[begins[:-1]]))
    if burst <= _AT_ONCE_BYTES or lasted <= (path.rtt.path.value or 0.0):
        return Writes(max(1, round(burst)), period)
    known = path.rate.rate_bps.knowledge == "measured"
    rate = (path.rate.rate_bps.value or 0.0) / seen.frame_bytes * seen.payload_bytes
    if known and 8 * burst / lasted > _SPREAD * rate:
        lasted /= _FASTER
    count = max(1, round(lasted / _BURST_S))
    interval = lasted / count
    on = (count - 0.5) * interval
    return Writes(max(1, round(burst / count)), interval, on, max(_LEAST_S, period - on))
