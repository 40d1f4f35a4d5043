"""Words around numbers."""

from __future__ import annotations


def many(count: int, one: str, several: str = "") -> str:
    """Count with its noun: `1 packet`, `3 packets`, `0 packets`."""
    return f"{count} {noun(count, one, several)}"


def noun(count: int, one: str, several: str = "") -> str:
    """Noun of a count that is written otherwise: `packet`, `packets`."""
    return one if count == 1 else several or f"{one}s"
