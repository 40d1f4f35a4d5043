"""Definition of a scorecard: the items of an RFC, and the experiments that measure them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field
from ruamel.yaml import YAML

from dumbbell.gate.gate import Measured
from dumbbell.gate.suite import names as suites
from dumbbell.gate.suite import read_suite
from dumbbell.studies.references import Strict

if TYPE_CHECKING:
    from rich.table import Table

_FOLDER = Path(__file__).parent
#: Pipe that is measured, if no other is named.
BOTTLENECK = "bottleneck/forward"
#: Words for kinds of items.
_KINDS = ("measured", "text", "not expressed")


class Stated(Strict):
    """A bound that another document states for a metric. A card has no bounds of its own."""

    metric: str
    of: str = ""
    at_least: float | None = None
    at_most: float | None = None
    source: str


class What(Strict):
    """What is measured in an experiment: see `dumbbell.gate.gate.Measured`."""

    metrics: tuple[str, ...]
    flows: tuple[str, ...] = ("*",)
    pipes: tuple[str, ...] = (BOTTLENECK,)

    def measured(self) -> Measured:
        """For the gate: flows that are not named are not compared."""
        return Measured(self.metrics, ("", *self.flows), self.pipes)


class Item(Strict):
    """An item of the RFC.

    Exactly one of `measured`, `text` and `missing` is given.
    """

    item: str
    title: str
    asks: str = ""
    #: Experiment of the suite → what is measured.
    measured: dict[str, What] = Field(default_factory=dict)
    #: Cell of the first experiment that the overview shows, with its first metric.
    head: dict[str, str] = Field(default_factory=dict)
    #: Flow or pipe of the overview; empty: the first.
    of: str = ""
    stated: list[Stated] = Field(default_factory=list)
    #: What the RFC wants to read; it is not measured.
    text: str = ""
    #: Why no experiment file can say it yet.
    missing: str = ""
    #: What a measured item leaves out.
    partly: str = ""
    #: Last of the sections that the item covers; empty: it covers one.
    upto: str = ""

    @property
    def name(self) -> str:
        """`8.2.2 to 8.2.4 congestion levels`."""
        return " ".join([self.item, *(["to", self.upto] if self.upto else []), self.title])

    def covers(self, section: str) -> bool:
        """True for a section of the item: `8.2.3` for 8.2.2 to 8.2.4."""
        chapter, _, number = section.rpartition(".")
        first, last = (one.rpartition(".") for one in (self.item, self.upto or self.item))
        is_between = number.isdigit() and int(first[2]) <= int(number) <= int(last[2])
        return section == self.item or (chapter == first[0] and is_between)


class Card(Strict):
    """A scorecard.

    Attributes:
        card: Name, also of the suite.
        title: Of the page.
        option: Option that names what is under test: `cc` or `aqm`.
        against: Incumbent, if none is named.
        items: In the order of the RFC.
        matrix: Experiment of the harm matrix; None: there is none.
        plane: Metrics `delay` and `goodput` of the plane; empty: there is none.
    """

    card: str
    title: str
    option: str
    against: str
    items: list[Item]
    matrix: str | None = None
    plane: dict[str, str] = Field(default_factory=dict)

    def suite(self) -> dict[str, dict[str, object]]:
        """Contents of the experiments by name, in the order of the items."""
        found = read_suite(self.card)
        return {name: found[name] for one in self.items for name in one.measured}

    def harm(self) -> dict[str, object]:
        """Contents of the experiment of the matrix."""
        return next(iter(read_suite(str(_FOLDER / str(self.matrix))).values()))


def names() -> list[str]:
    """Names of the cards: each has a suite of its name."""
    return [one.stem for one in sorted(_FOLDER.glob("*.yaml")) if one.stem in suites()]


@lru_cache(maxsize=4)
def read_card(name: str) -> Card:
    """Reads a card. Raises `FileNotFoundError` if there is none of that name."""
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    return Card.model_validate(YAML(typ="safe").load(text))


def cards_table() -> Table:
    """The cards that there are."""
    from rich.table import Table

    table = Table()
    for column in ("scorecard", "title", "option", "items"):
        table.add_column(column)
    for name in names():
        card = read_card(name)
        kinds = [
            ", ".join(one.item for one in card.items if getattr(one, kind))
            for kind in ("measured", "text", "missing")
        ]
        words = "; ".join(f"{kind}: {items}" for kind, items in zip(_KINDS, kinds, strict=True))
        table.add_row(name, card.title, f"--{card.option} NAME", words)
    return table
