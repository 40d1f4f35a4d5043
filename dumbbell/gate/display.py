"""What a gate says: a table of what changed, a line of the rest, test cases of JUnit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dumbbell.compare.junit import Case, xml
from dumbbell.console.words import many
from dumbbell.gate.first import first_difference
from dumbbell.gate.gate import Outcome
from dumbbell.gate.verdict import Quantity, Verdict

if TYPE_CHECKING:
    from rich.table import Table

_HEADS = {
    Verdict.SAME: "the same", Verdict.WITHIN: "within", Verdict.BETTER: "better",
    Verdict.WORSE: "worse", Verdict.CHANGED: "changed", Verdict.LOST: "lost",
    Verdict.OPEN: "open",
}  # fmt: skip
#: Quantities in the table; the others are counted.
_MOST_ROWS = 30
#: Cells of which the first difference is told.
_MOST_FIRST = 3
_MARKS = {Verdict.BETTER: "↑", Verdict.WORSE: "✗", Verdict.CHANGED: "✗", Verdict.LOST: "✗"}


def changed(outcome: Outcome) -> list[Quantity]:
    """Quantities that changed, those that fail first, each from the largest change on."""
    found = [one for one in outcome.quantities if one.verdict in _MARKS]
    return sorted(found, key=lambda one: (one.verdict.passes, -_size(one)))


def _size(one: Quantity) -> float:
    return abs(one.change) if not math.isnan(one.change) else math.inf


#: Quantities on another engine, by experiment and key.
Beside = Mapping[tuple[str, tuple[str, ...]], Quantity]


def table(outcome: Outcome, engine: str = "", beside: Beside | None = None) -> Table | None:
    """Table of the quantities that changed; None: there is none.

    `engine`, `beside`: name of another engine, and what it says of the quantities that fail.
    """
    from dumbbell.metrics.numbers import number
    from dumbbell.summary.fit import plain_table

    rows = changed(outcome)
    if not rows:
        return None
    made = plain_table()
    for name in ("", "experiment and cell", "quantity"):
        made.add_column(name)
    for name in ("before", "now", "change", *([engine] if beside is not None else [])):
        made.add_column(name, justify="right", no_wrap=True)
    for one in rows[:_MOST_ROWS]:
        lost = one.verdict is Verdict.LOST
        change = one.verdict.value if lost else one.change_words
        values = [number(one.before), number(one.now), change]
        if beside is not None:
            there = beside.get((one.part, one.sample.key))
            values.append(
                "" if there is None else f"{_MARKS.get(there.verdict, ' ')} {there.change_words}"
            )
        made.add_row(_MARKS[one.verdict], one.place, one.sample.metric, *values)
    if len(rows) > _MOST_ROWS:
        made.caption = f"{len(rows) - _MOST_ROWS} more: --json"
    return made


def overview(outcome: Outcome) -> Table | None:
    """How many quantities of each experiment are what; None with one experiment."""
    from dumbbell.summary.fit import plain_table

    parts = list(outcome.results)
    if len(parts) < 2:
        return None
    made = plain_table()
    made.add_column("experiment", no_wrap=True)
    shown = [one for one in Verdict if any(row.verdict is one for row in outcome.quantities)]
    for one in shown:
        made.add_column(_HEADS[one], justify="right", no_wrap=True)
    for part in parts:
        count = Counter(one.verdict for one in outcome.quantities if one.part == part)
        made.add_row(part, *(str(count[one] or "") for one in shown))
    return made


def lines(outcome: Outcome) -> Iterator[str]:
    """Lines below the table: where runs part, what was not decided, the verdict."""
    told: set[tuple[str, str]] = set()
    for one in changed(outcome):
        cell = (one.part, str(one.sample.levels))
        if not one.verdict.passes and cell not in told and len(told) < _MOST_FIRST:
            told.add(cell)
            said = first_difference(outcome, one)
            if said is not None:
                yield f"• {one.place}: {said}."
    count = Counter(one.verdict for one in outcome.quantities)
    yield from outcome.notes
    for name in outcome.untold:
        yield f"{name} is not known of {outcome.new.name}: not compared."
    for name in outcome.left_out:
        yield f"{name} is left out: only Linux's TCP can send its flows."
    if count[Verdict.OPEN]:
        why = "the time was over" if outcome.late else f"after {outcome.repeats} repeats"
        open_ = many(count[Verdict.OPEN], "quantity", "quantities")
        yield f"? {open_} not decided, {why}: no change shown."
    sides = f"{outcome.base.name} → {outcome.new.name}"
    of_all = many(len(outcome.quantities), "quantity", "quantities")
    if count[Verdict.SAME] == len(outcome.quantities):
        yield f"✓ {sides}: the same in every run ({of_all}, {outcome.repeats} repeats)"
    elif outcome.passes:
        better = f", {count[Verdict.BETTER]} better" if count[Verdict.BETTER] else ""
        yield f"✓ {sides}: none of {of_all} is worse{better} ({outcome.repeats} repeats)"
    else:
        failed = sum(not one.verdict.passes for one in outcome.quantities)
        yield f"✗ {sides}: {failed} of {of_all} fail ({outcome.repeats} repeats)"


def junit(outcome: Outcome) -> str:
    """All quantities as test cases of JUnit XML."""
    cases = [
        Case(one.part, f"{one.sample.metric} ({one.sample.place})", _failure(one))
        for one in outcome.quantities
    ]
    named = [("base", outcome.base), ("new", outcome.new)]
    properties = [(place, side.name) for place, side in named]
    properties += [(f"{place}_engine", side.engine) for place, side in named]
    return xml("gate", cases, [*properties, ("repeats", str(outcome.repeats))])


def _failure(one: Quantity) -> str | None:
    return None if one.verdict.passes else one.words


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Plain values."""
    return {
        "base": outcome.base.name, "new": outcome.new.name, "repeats": outcome.repeats,
        "passes": outcome.passes, "late": outcome.late,
        "quantities": [_row(one) for one in outcome.quantities],
    }  # fmt: skip


def _row(one: Quantity) -> dict[str, Any]:
    moved = one.paired.difference if one.paired is not None else None
    return {
        "experiment": one.part, "levels": one.sample.levels, "of": one.sample.of,
        "metric": one.sample.metric, "before": one.before, "now": one.now,
        "low": moved and moved.low, "high": moved and moved.high, "p": one.p,
        "verdict": one.verdict.name.lower(),
    }  # fmt: skip
