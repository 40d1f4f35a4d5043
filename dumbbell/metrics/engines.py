"""Engines on which a metric can be known. The kernel reports less of its inside than the simulator
does (`docs/tables.md`); `tests/test_known_columns.py` compares with runs."""

from __future__ import annotations

ENGINES = ("sim", "linux", "netns")
#: Metrics that need what no kernel reports: time-outs, undos, spurious retransmissions and packets
#: out of order at the receiver; lost datagrams by flow; duplicates and blocking of Multipath TCP.
_SIMULATOR_ONLY = frozenset(
    {
        "blocked_ms",
        "blocked_share",
        "datagram_loss_ratio",
        "duplicate_share",
        "group_timeouts",
        "reordered_ratio",
        "reordering_extent_max_packets",
        "reordering_extent_mean_packets",
        "segments_per_recovery",
        "spurious_retransmissions",
        "spurious_share",
        "timed_out_share",
        "timeouts",
        "total_reordered_share",
        "total_spurious_share",
        "undos",
    }
)


def known_on(metric: str) -> tuple[str, ...]:
    """Engines whose runs may have a value of this metric."""
    return ENGINES[:1] if metric in _SIMULATOR_ONLY else ENGINES


def not_known_on(metric: str, engines: set[str]) -> str:
    """Sentence: these engines do not know a metric; empty if one does.

    Args:
        metric: Its name.
        engines: Names of engines, as `linux:6.1`.
    """
    kinds = {name.partition(":")[0] for name in engines}
    if not kinds or kinds & set(known_on(metric)):
        return ""
    names = " and ".join(sorted(kinds))
    return f"the engine {names} does not know it (docs/metrics.md)"
