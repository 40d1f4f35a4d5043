"""Stores as sides of a gate: the experiments that both have, over the same seeds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.files.urls import store_path
from dumbbell.gate.gate import Outcome, judged_pairs
from dumbbell.gate.sides import StoreSide
from dumbbell.results import Results
from dumbbell.store import Store
from dumbbell.store.place import is_store


def are_stores(base: str, new: str) -> bool:
    """True if both sides are stores. Raises `DumbbellError` if one is."""
    is_one = [is_store(Path(text)) for text in (base, new)]
    if is_one[0] == is_one[1]:
        return is_one[0]
    store = base if is_one[0] else new
    raise DumbbellError(
        f"{store} is a store, and the other side is none: both must be stores", code=Code.GATE
    )


def gate_stores(base: str, new: str, tolerance: float) -> Outcome:
    """Compares the experiments that both stores have. Nothing is run.

    Args:
        base, new: Folders of the stores.
        tolerance: Share of the value before that a change may have.

    Raises:
        DumbbellError: No experiment is in both, or factors or seeds of one differ.
        StoreError: A store cannot be read.
    """
    before, now = (_results(text) for text in (base, new))
    both = [name for name in before if name in now]
    if not both:
        raise DumbbellError(
            f"no experiment is in both stores: {base} has {_listed(before)}; {new} has "
            f"{_listed(now)}",
            code=Code.GATE,
        )
    notes = [
        f"{name} is in one of the stores only: not compared."
        for name in [*before, *now]
        if name not in both
    ]
    pairs = {name: (before[name], now[name]) for name in both}
    for name, pair in pairs.items():
        _check(name, *pair)
        notes += _different_files(name, *pair)
    suite: dict[str, Mapping[str, Any]] = {name: {} for name in both}
    quantities, untold = judged_pairs(pairs, suite, {}, tolerance, 1)
    repeats = min(one.experiment.repeats for pair in pairs.values() for one in pair)
    sides = [StoreSide(text, _versions(found)) for text, found in ((base, before), (new, now))]
    return Outcome(
        sides[0], sides[1], quantities, repeats, pairs, dict.fromkeys(both, ()), untold,
        (), {}, late=False, notes=tuple(notes),
    )  # fmt: skip


def _results(text: str) -> dict[str, Results]:
    """Results by name of the experiment; of several with one name, the one that was run last."""
    with Store(store_path(text), write=False) as kept:
        return {one.info.name: kept.results(one).in_memory() for one in kept.experiments()}


def _listed(found: Mapping[str, Results]) -> str:
    return ", ".join(found) or "none"


def _versions(found: Mapping[str, Results]) -> str:
    rows = {
        row for one in found.values() for row in one.runs.select("engine", "engine_version").rows()
    }
    return ", ".join(f"{name} {version}" for name, version in sorted(rows))


def _check(name: str, before: Results, now: Results) -> None:
    """Raises `DumbbellError` if factors or seeds of an experiment differ."""
    factors = [list(one.experiment.factors) for one in (before, now)]
    if factors[0] != factors[1]:
        told = " and ".join(", ".join(one) or "none" for one in factors)
        raise DumbbellError(f"{name}: the factors differ: {told}", code=Code.GATE)
    seeds = [one.experiment.seed for one in (before, now)]
    if seeds[0] != seeds[1]:
        raise DumbbellError(
            f"{name}: the first seeds differ: {seeds[0]} and {seeds[1]}; repeats are compared by "
            "their seed",
            code=Code.GATE,
        )


def _different_files(name: str, before: Results, now: Results) -> list[str]:
    """Sentence on the first line in which the files differ."""
    texts = [one.experiment.yaml.splitlines() for one in (before, now)]
    for number, (old, new) in enumerate(zip_longest(*texts, fillvalue=""), start=1):
        if old != new:
            return [f"{name}: the files differ, first in line {number}: {old!r}, now {new!r}."]
    return []
