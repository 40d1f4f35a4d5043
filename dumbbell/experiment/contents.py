"""What an experiment file says beside its scenarios: expectations, repeats, a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_REPEATS = 100_000
MAX_EVALUATIONS = 10_000


@dataclass(frozen=True, slots=True)
class ExpectSpec:
    """Bounds of a metric's mean over repeats, for all selected cells and flows.

    `where` selects levels of factors. Bounds are in the metric's unit.
    """

    metric: str
    flow: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True, slots=True)
class ConstraintSpec(ExpectSpec):
    """Bounds of a metric that a result of a search must keep.

    `over` says what counts of several flows, pipes or cells: the `worst` value or the `mean`.
    """

    over: str = "worst"


@dataclass(frozen=True, slots=True)
class AimSpec:
    """Objective of a search: an optimum under constraints, or a worst case.

    Attributes:
        metric: The metric, or the name of a worst case.
        measured: Name of the metric.
        goal: `minimise` or `maximise`; None: the smallest value of a worst case.
        flow: Flow that counts; None: all.
        where: Factor → level that counts.
        over: What counts of several values: the `worst` one, or the `mean`.
        subject_to: Bounds that the result must keep.
        tolerance: Share of the effect that a simpler worst case may lose.
    """

    metric: str
    measured: str
    goal: str | None
    flow: str | None
    where: Mapping[str, str]
    over: str
    subject_to: tuple[ConstraintSpec, ...]
    tolerance: float = 0.1


@dataclass(frozen=True, slots=True)
class SearchSpec:
    """A search: an optimum or a worst case in a space. One of the first two is given.

    Attributes:
        optimise: Optimum.
        attack: Worst case.
        evaluations: Number of evaluations, the start values included.
        repeats: Runs of each evaluation.
        seed: Seed of the choice of values, and of the first repeat.
        batch: Evaluations between two choices.
    """

    optimise: AimSpec | None
    attack: AimSpec | None
    evaluations: int
    repeats: int
    seed: int
    batch: int

    @property
    def aim(self) -> AimSpec:
        """Objective: optimisation or attack."""
        aim = self.attack or self.optimise
        if aim is None:
            raise ValueError("neither optimise nor attack")
        return aim

    @property
    def maximises(self) -> bool:
        """True if larger values of the metric are sought."""
        return self.aim.goal == "maximise"


@dataclass(frozen=True, slots=True)
class UntilSpec:
    """Half width of a metric's 95 % interval at which a cell has enough repeats.

    One of the two widths is given: a share of the mean, or an amount in the metric's unit.
    """

    metric: str
    flow: str | None
    relative_half_width: float | None
    half_width: float | None

    def width(self, mean: float) -> float:
        """Largest half width that is narrow enough, in the metric's unit."""
        if self.half_width is not None:
            return self.half_width
        return (self.relative_half_width or 0.0) * abs(mean)

    @property
    def words(self) -> str:
        """`goodput_mbps ± 2 %`."""
        if self.half_width is not None:
            return f"{self.metric} ± {self.half_width:g}"
        return f"{self.metric} ± {100 * (self.relative_half_width or 0):g} %"


@dataclass(frozen=True, slots=True)
class RepeatsSpec:
    """Number of repeats of each cell: from `min` to `max`, until an interval is narrow enough.

    Without `until` both are the fixed number.
    """

    min: int
    max: int
    until: UntilSpec | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents of a file.

    Attributes:
        name: Title.
        seed: Seed of the first repeat.
        repeats: Repeats of a cell.
        expect: Expectations on results.
        search: Search; None: there is none.
        access_links: True if a link is a model of an access link.
    """

    name: str
    seed: int
    repeats: RepeatsSpec
    expect: tuple[ExpectSpec, ...]
    search: SearchSpec | None
    access_links: bool


def contents(found: Mapping[str, Any]) -> Contents:
    """Contents as `dumbbell._core` gives them."""
    repeats = found["repeats"]
    until = repeats.get("until")
    return Contents(
        name=found["name"],
        seed=found["seed"],
        repeats=RepeatsSpec(
            repeats["min"], repeats["max"], None if until is None else UntilSpec(**until)
        ),
        expect=tuple(ExpectSpec(**one) for one in found["expect"]),
        search=None if found["search"] is None else _search(found["search"]),
        access_links=found["access_links"],
    )


def _search(found: Mapping[str, Any]) -> SearchSpec:
    aims = {name: found[name] and _aim(found[name]) for name in ("optimise", "attack")}
    return SearchSpec(**{**found, **aims})


def _aim(found: Mapping[str, Any]) -> AimSpec:
    subject_to = tuple(ConstraintSpec(**one) for one in found["subject_to"])
    return AimSpec(**{"measured": found["metric"], **found, "subject_to": subject_to})
