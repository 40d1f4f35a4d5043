"""Sentences about results, for the terminal and the report: effects of factors, findings."""

from __future__ import annotations

from dumbbell.metrics import Tables
from dumbbell.summary.cells import CellLine
from dumbbell.summary.contrasts import contrasts
from dumbbell.summary.findings import findings, nothing_stands_out

#: Findings that the question of most experiments is about: they stand first.
_OF_SHARES = ("starvation", "unequal shares")


def sentences(results: Tables, every: list[CellLine], most: int) -> list[str]:
    """Unequal shares, then what each factor does, then the other findings.

    Args:
        results: The results.
        every: Their cells.
        most: Number of effects, and of findings, at most.
    """
    differ = contrasts(every, results)[:most]
    found = findings(every)[:most]
    if not found:
        return [*differ, nothing_stands_out(every)]
    of_shares = [one.sentence for one in found if one.rule in _OF_SHARES]
    others = [one.sentence for one in found if one.rule not in _OF_SHARES]
    return [*of_shares, *differ, *others]
