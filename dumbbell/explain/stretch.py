"""Time in which a run made again keeps its packets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from dumbbell.metrics.stretch import longest_wait_ns, passages

#: Time before and after the one asked for that is explained.
_BEFORE_NS, _AFTER_NS = 3_000_000_000, 10_000_000_000
#: Packets times links, at about which the stretch is made shorter. A kernel in a guest sees each
#: packet at both ends of a link, and keeps what it saw in its own memory.
_MOST_HOPS, _MOST_GUEST_HOPS = 600_000, 250_000
#: Longest time in a queue where none is recorded.
_QUEUED_NS = 1_000_000_000
#: Packets times links of an incident that began before the stretch, in stretches.
_MOST_EARLIER = 4


@dataclass(frozen=True, slots=True)
class KeptStretch:
    """Time in which packets are kept.

    Attributes:
        kept_ns: Start of the packets kept. They include all that wait in a queue at `from_ns`.
        from_ns: Start of the time that is explained.
        to_ns: End of both.
        earliest_ns: Earliest start, for which the number of packets is not too large.
    """

    kept_ns: int
    from_ns: int
    to_ns: int
    earliest_ns: int

    def earlier(self) -> KeptStretch | None:
        """Stretch that starts earlier, by its whole length; None: it cannot."""
        start = max(self.earliest_ns, 2 * self.from_ns - self.to_ns)
        if start >= self.from_ns:
            return None
        lead = self.from_ns - self.kept_ns
        return replace(self, from_ns=start, kept_ns=max(0, start - lead))


def stretch_around(
    pipes: pl.DataFrame, at_ns: int, duration_ns: int, *, guest: bool
) -> KeptStretch:
    """Stretch around a time, shorter where there are many packets.

    Args:
        pipes: Table `pipes` of the run.
        at_ns: Time that is asked about.
        duration_ns: Length of the run.
        guest: True if a guest keeps the packets in its memory.
    """
    hops = max(1, passages(pipes))
    most = _MOST_GUEST_HOPS if guest else _MOST_HOPS
    span_ns = most * duration_ns // hops
    part = min(1.0, span_ns / (_BEFORE_NS + _AFTER_NS))
    start = max(0, at_ns - int(_BEFORE_NS * part))
    end = min(duration_ns, at_ns + int(_AFTER_NS * part) + 1)
    queued = longest_wait_ns(pipes)
    lead = min(_QUEUED_NS, span_ns) if queued is None else queued + 1
    earliest = max(0, end - _MOST_EARLIER * span_ns)
    return KeptStretch(max(0, start - lead), start, end, min(start, earliest))
