"""Measures a scorecard: all items with the gate, the harm matrix, and cells on another engine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.cards.card import Card, Item, Stated, read_card
from dumbbell.codes import Code
from dumbbell.compare.samples import samples
from dumbbell.errors import DumbbellError, about_file
from dumbbell.gate.beside import judged_beside
from dumbbell.gate.gate import Outcome, run_gate
from dumbbell.gate.queues import QueueSide, queue_names, read_under_test
from dumbbell.gate.sides import INCUMBENT, SUBJECT, Side
from dumbbell.gate.verdict import Quantity, Verdict, judge
from dumbbell.metrics.statistics import Interval, interval
from dumbbell.results import Results
from dumbbell.store.place import is_store

#: Runs of each cell and side.
REPEATS = 24
#: Folder of the stores of all cards, if none is named. `store` is a store itself.
FOLDER = Path("scorecards")
#: Verdict of the gate → word of a card.
WORDS = {
    Verdict.SAME: "same", Verdict.WITHIN: "same", Verdict.BETTER: "better",
    Verdict.WORSE: "worse", Verdict.CHANGED: "other", Verdict.LOST: "worse",
    Verdict.OPEN: "not known",
}  # fmt: skip
#: Name of the harm matrix among the items.
_MATRIX = "harm"
#: Metrics of the harm matrix that are compared, and the share of the goodput of both.
HARM = ("goodput_mbps", "srtt_mean_ms", "retransmitted_share")
_SHARE = "joint_share"
_ALL = (*HARM, _SHARE)


@dataclass(frozen=True, slots=True)
class Row:
    """A number of a card.

    Attributes:
        item: Item of the RFC.
        quantity: What is measured, and its comparison.
        before, now: Mean over the repeats with its 95 % interval, of incumbent and newcomer.
        stated: Bound that another document states, if one does.
        beside: What the other engine says; None: it was not asked.
    """

    item: Item
    quantity: Quantity
    before: Interval
    now: Interval
    stated: Stated | None
    beside: Quantity | None

    @property
    def word(self) -> str:
        """`better`, `same`, `worse` or `not known`, from the incumbent to the newcomer."""
        return WORDS[self.quantity.verdict]

    @property
    def is_head(self) -> bool:
        """True if it may stand in the overview."""
        first = next(iter(self.item.measured))
        sample = self.quantity.sample
        return (
            self.quantity.part == first
            and sample.metric == self.item.measured[first].metrics[0]
            and sample.levels == self.item.head
            and (not self.item.of or self.item.of in sample.of.values())
        )

    def holds(self, value: Interval) -> bool | None:
        """True if a value keeps what is stated, False if not, None if it is not known."""
        one, (low, high) = self.stated, value.widened(0.0)
        if one is None:
            return None
        if one.at_least is not None:
            return True if low >= one.at_least else False if high < one.at_least else None
        most = math.inf if one.at_most is None else one.at_most
        return True if high <= most else False if low > most else None


@dataclass(frozen=True, slots=True)
class Harm:
    """A cell of the harm matrix: what `who` has beside `whom`.

    Attributes:
        levels: Factor → level.
        values: Interval by metric of `HARM`.
        share: Share of the goodput of both.
        quantities: Comparison with the incumbent beside itself, by metric; empty: this is it.
    """

    levels: Mapping[str, str]
    who: str
    whom: str
    values: Mapping[str, Interval]
    share: Interval
    quantities: Mapping[str, Quantity]

    @property
    def goodput(self) -> Interval:
        """Goodput, Mbit/s."""
        return self.values[HARM[0]]


@dataclass(frozen=True, slots=True)
class Scorecard:
    """A measured card.

    Attributes:
        card: Its definition.
        outcome: Result of the gate.
        rows: Numbers, in the order of the items.
        harm: The harm matrix.
        seeds: First and last seed.
        engine: Engine that was asked beside; empty: none.
        refused: Item → why the other engine does not run it.
    """

    card: Card
    outcome: Outcome
    rows: list[Row]
    harm: list[Harm]
    seeds: tuple[int, int]
    tolerance: float
    engine: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)

    def of(self, item: Item) -> list[Row]:
        """Numbers of an item."""
        return [row for row in self.rows if row.item is item]

    def head(self, item: Item) -> Row | None:
        """Number of the overview."""
        return next((row for row in self.of(item) if row.is_head), None)


def sides_of(card: Card, new: str, base: str, engine: str) -> list[Side | QueueSide]:
    """Incumbent and newcomer. Raises `DumbbellError` for what the card is not about."""
    found: list[Side | QueueSide] = []
    for text in (base, new):
        if card.option == "aqm" and text not in queue_names():
            there = ", ".join(queue_names())
            raise DumbbellError(f"{text} is no queue discipline; there is {there}", code=Code.GATE)
        side = read_under_test(text, engine)
        if isinstance(side, Side) and (side.profile or side.names_engine):
            raise DumbbellError(
                f"{text} is no sender: a card is of a congestion control, a plug-in, or quinn:, "
                "s2n: or smoltcp: with a control",
                code=Code.GATE,
            )
        found.append(side)
    return _named(found)


def _named(sides: list[Side | QueueSide]) -> list[Side | QueueSide]:
    """Sides of which a plug-in has the name of its file, if both names then differ."""
    short = [
        replace(one, name=Path(one.name).name)
        if isinstance(one, Side) and one.plugin is not None
        else one
        for one in sides
    ]
    is_clear = short[0].name != short[1].name or sides[0].name == sides[1].name
    return short if is_clear else sides


def chosen(name: str, given: Mapping[str, str | None]) -> str:
    """What a card is of. Raises `DumbbellError` if its option is missing, or another is given."""
    option = read_card(name).option
    for other, value in given.items():
        if value is not None and other != option:
            raise DumbbellError(f"--{other} is not for {name}: name --{option}", code=Code.GATE)
    value = given[option]
    if value is None:
        example = {"cc": "bbr", "aqm": "codel"}[option]
        raise DumbbellError(
            f"{name} is the scorecard of one algorithm: name it, as --{option} {example}",
            code=Code.GATE,
        )
    return value


def folder_of(name: str, given: Path | None) -> Path:
    """Folder of the stores of a card: it has one for each experiment and side.

    Raises `DumbbellError` if the folder is a store: its runs would be hidden by others.
    """
    folder = FOLDER if given is None else given
    if is_store(folder):
        raise DumbbellError(
            f"{folder} is a store; a scorecard has many: name another folder, as --store {FOLDER}",
            code=Code.NOT_STORE,
        )
    return folder / name


def run_card(
    name: str,
    new: str,
    base: str | None = None,
    *,
    store: Path,
    engine: str = "sim",
    beside: str | None = None,
    tolerance: float = 0.02,
    repeats: int = REPEATS,
    workers: int | None = None,
    items: tuple[str, ...] = (),
) -> Scorecard:
    """Measures a card.

    Args:
        name: Of the card.
        new: What is under test.
        base: Incumbent; None: that of the card.
        store: Folder for the stores. Finished runs are not repeated.
        engine: Engine of all runs.
        beside: Engine that is asked about the cells of the overview; None: none.
        tolerance: Share of the incumbent's value that counts as the same.
        repeats: Runs of each cell and side.
        workers: Runs at once; None: one per processor.
        items: Items that are measured, `harm` for the matrix; empty: all.

    Raises:
        DumbbellError: A side is not what the card is about, there is no such item, or no item can
            be run.
    """
    card = _part_of(read_card(name), items)
    incumbent, newcomer = sides_of(card, new, base or card.against, engine)
    suite = card.suite()
    measured = {part: what.measured() for one in card.items for part, what in one.measured.items()}
    given: dict[str, Any] = {"tolerance": tolerance, "workers": workers, "measured": measured}
    outcome = run_gate(
        incumbent, newcomer, suite, store, looks=(repeats,), keep_going=True, **given
    )
    if outcome.refused and not outcome.results and not card.matrix:
        part, why = next(iter(outcome.refused.items()))
        raise DumbbellError(f"{part}: {why}", code=Code.GATE)
    there: dict[tuple[str, tuple[str, ...]], Quantity] = {}
    refused: dict[str, str] = {}
    for one in card.items if beside else ():
        part = next(iter(one.measured), "")
        if part in outcome.results:
            cell = [(part, one.head)]
            try:
                there |= judged_beside(
                    outcome, suite, str(beside), store / "beside", cells=cell, **given
                )
            except DumbbellError as error:
                refused[one.item] = str(error)
    harm: list[Harm] = []
    runs = [before for before, _ in outcome.results.values()]
    if card.matrix and isinstance(incumbent, Side) and isinstance(newcomer, Side):
        beside_each = _beside_each(card, incumbent, newcomer, store, repeats, workers)
        harm = list(_harm(incumbent.name, newcomer.name, beside_each, tolerance))
        runs.append(beside_each[0])
    rows = [
        _row(one, quantity, there)
        for one in card.items
        for part in one.measured
        for quantity in outcome.quantities
        if quantity.part == part
    ]
    seeds = [seed for one in runs for seed in one.runs["seed"]]
    ends = (min(seeds, default=0), max(seeds, default=0))
    return Scorecard(card, outcome, rows, harm, ends, tolerance, beside or "", refused)


def _part_of(card: Card, items: tuple[str, ...]) -> Card:
    """The card with some items. Raises `DumbbellError` for one that it has not."""
    if not items:
        return card
    known = [*(one.item for one in card.items), *([_MATRIX] if card.matrix else [])]
    unknown = [
        one for one in items if one not in known and not any(of.covers(one) for of in card.items)
    ]
    if unknown:
        raise DumbbellError(
            f"{card.card} has no item {unknown[0]}; it has {', '.join(known)}", code=Code.GATE
        )
    kept = [of for of in card.items if any(map(of.covers, items))]
    matrix = card.matrix if _MATRIX in items else None
    return card.model_copy(update={"items": kept, "matrix": matrix})


def _row(item: Item, one: Quantity, there: Mapping[Any, Quantity]) -> Row:
    now = one.sample.values if one.paired is not None else ()
    stated = next(
        (
            bound
            for bound in item.stated
            if bound.metric == one.sample.metric
            and (not bound.of or bound.of in one.sample.of.values())
        ),
        None,
    )
    beside = there.get((one.part, one.sample.key))
    return Row(item, one, interval(one.was.values), interval(now), stated, beside)


def _beside_each(
    card: Card,
    incumbent: Side,
    newcomer: Side,
    store: Path,
    repeats: int,
    workers: int | None,
) -> tuple[Results, Results, Results]:
    """Runs of two incumbents, of incumbent and newcomer, of two newcomers."""
    contents = card.harm()

    def runs(first: Side, second: Side, place: str) -> Results:
        made = second.fitted(first.fitted(contents, SUBJECT), INCUMBENT)
        with about_file(_MATRIX):
            return dumbbell.run(
                made, repeats=repeats, engine=first.engine, workers=workers, store=store / place
            )

    return (
        runs(incumbent, incumbent, "base/harm"),
        runs(incumbent, newcomer, "new/harm"),
        runs(newcomer, newcomer, "new/harm-within"),
    )


def _harm(
    before: str, now: str, runs: tuple[Results, Results, Results], tolerance: float
) -> Iterator[Harm]:
    """What each has beside each: four entries for a cell."""
    found = [
        {(one.metric, one.of["flow"], *one.levels.values()): one for one in samples(each, _ALL)}
        for each in runs
    ]
    # Who, whom, number of the runs, the flow in them.
    entries = (
        (before, before, 0, "first"), (before, now, 1, "first"),
        (now, before, 1, "second"), (now, now, 2, "first"),
    )  # fmt: skip
    cells = [one.levels for one in samples(runs[0], HARM[:1]) if one.of["flow"] == "first"]
    keys = [(levels, entry, (entry[3], *levels.values())) for levels in cells for entry in entries]
    asked = [
        (metric, place, key) for metric in HARM for _, (*_, place, _), key in keys if place
    ]  # fmt: skip
    known = [one for one in asked if (one[0], *one[2]) in found[0]]
    pairs = (
        (_MATRIX, found[0][metric, *key], found[place].get((metric, *key)))
        for metric, place, key in known
    )
    judged = dict(zip(known, judge(list(pairs), tolerance, 1), strict=True))

    def value(metric: str, place: int, key: tuple[str, ...]) -> Interval:
        one = found[place].get((metric, *key))
        return interval(one.values if one is not None else ())

    for levels, (who, whom, place, _), key in keys:
        values = {metric: value(metric, place, key) for metric in HARM}
        of = {name: judged[name, place, key] for name in HARM if (name, place, key) in judged}
        yield Harm(levels, who, whom, values, value(_SHARE, place, key), of)


def counts(rows: list[Row]) -> dict[str, int]:
    """Number of rows by word; words without a row are there."""
    words = ("better", "same", "worse", "not known")
    return {word: sum(row.word == word for row in rows) for word in words}
