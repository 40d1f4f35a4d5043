"""Simpler values of a worst case."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dumbbell import units
from dumbbell.experiment.source import Node
from dumbbell.experiment.space import Choice, Level, Range
from dumbbell.search.shrink import _simpler

PACKETS = Range(
    Fraction(5), Fraction(200), Fraction(50), log=True, family=units.PACKETS, whole=True, line=1
)


@pytest.mark.parametrize(
    ("value", "simpler"),
    [
        (137, ["100 packets", "200 packets"]),
        (33, ["100 packets", "50 packets", "30 packets"]),
        (9, ["10 packets", "5 packets"]),
        (7, ["10 packets", "5 packets"]),
        (50, ["100 packets"]),
        (100, []),
    ],
)
def test_rounder_numbers_come_first_and_none_is_less_round(value: int, simpler: list[str]) -> None:
    assert [level.label for level in _simpler(PACKETS, PACKETS.level(value))] == simpler
    roundness = [_rank(int(label.split()[0])) for label in simpler]
    assert roundness == sorted(roundness)
    assert all(rank < _rank(value) for rank in roundness)


def _rank(value: int) -> int:
    digits = str(value).rstrip("0")
    return {"1": 0, "2": 1, "5": 1}.get(digits, 2 if len(digits) == 1 else 3)


def test_earlier_levels_of_a_list_are_simpler() -> None:
    levels = tuple(Level(name, Node(name, name, 1)) for name in ("none", "some", "much"))
    assert [one.label for one in _simpler(Choice(levels), levels[2])] == ["none", "some"]
    assert list(_simpler(Choice(levels), levels[0])) == []
