"""Words around numbers."""

from __future__ import annotations


def many(count: int, one: str, several: str = "") -> str:
    """Count with its noun: `1 packet`, `3 packets`, `0 packets`."""
    return f"{count} {noun(count, one, several)}"


def left_out(count: int, most: int) -> str:
    """Sentence about rows of a table beyond the first `most`; empty: there are none."""
    more = count - most
    return f"{many(more, 'more row is', 'more rows are')} not shown." if more > 0 else ""


def noun(count: int, one: str, several: str = "") -> str:
    """Noun of a count that is written otherwise: `packet`, `packets`."""
    return one if count == 1 else several or f"{one}s"
