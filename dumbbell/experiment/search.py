"""The section `search` of an experiment file: what is sought, within what, how often."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.experiment import units
from dumbbell.experiment.expect import ExpectSpec, MetricName, metric_names
from dumbbell.experiment.fields import (
    Checked,
    Name,
    Share,
    Strict,
    choice,
    exactly_one,
    late_choice,
    problem,
    short_text,
    whole_number,
)
from dumbbell.experiment.units import QuantityError

#: Worst cases by name → metric. Their goal is the smallest value.
WORST = {"share": "share", "starvation": "fair_share_min", "utilisation": "utilisation"}
MAX_EVALUATIONS = 10_000
MAX_BATCH = 256


def _bound(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    try:
        return float(units.parse(value, units.SHARE)[1])
    except QuantityError:
        message = "should be a number in the metric's unit; of a share also a percentage"
        raise problem(message, found=value, allowed=("0.95", "95 %")) from None


_BOUND = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[0-9.]+ *(%|ppm)$"}]}
Bound = Annotated[float, Checked(_bound, _BOUND)]
Over = Annotated[str, choice("worst", "mean", what="way to take several values together")]
Goal = Annotated[str, choice("minimise", "maximise", what="goal")]


class ConstraintSpec(ExpectSpec):
    """Bounds of a metric that a result must keep.

    `over` says what counts of several flows, pipes or cells.
    """

    over: Over = "worst"
    above: Bound | None = None
    below: Bound | None = None

    @model_validator(mode="after")
    def _of_shares(self) -> Self:
        from dumbbell.metrics import METRICS

        share = METRICS[self.metric].unit == "share"
        for name in ("above", "below"):
            bound = getattr(self, name)
            if share and bound is not None and bound > 1:
                message = f"{self.metric} is a share, from 0 to 1"
                raise problem(message, found=bound, nearest=f"{bound:g} %", field=name)
        return self


class OptimiseSpec(Strict):
    """Objective of an optimisation: a metric, and the constraints of the result."""

    metric: MetricName
    goal: Goal
    flow: str | None = None
    where: dict[str, str] = Field(default={})
    over: Over = "worst"
    subject_to: list[ConstraintSpec] = Field(default=[], max_length=20)

    @property
    def measured(self) -> str:
        """Name of the metric."""
        return self.metric


def _attacked() -> dict[str, str]:
    return dict(sorted(metric_names().items() | {(name, name) for name in WORST}))


class AttackSpec(Strict):
    """Objective of an attack: the worst value of a metric, and the share a simpler case keeps."""

    metric: Annotated[str, late_choice(_attacked, what="metric or worst case")]
    goal: Goal | None = None
    flow: str | None = None
    where: dict[str, str] = Field(default={})
    over: Over = "worst"
    subject_to: list[ConstraintSpec] = Field(default=[], max_length=20)
    tolerance: Share = 0.1

    @property
    def measured(self) -> str:
        """Name of the metric."""
        return WORST.get(self.metric, self.metric)

    @model_validator(mode="after")
    def _aimed(self) -> Self:
        if self.goal is None and self.metric not in WORST:
            message = f"the worst of {self.metric} is not known: give a goal"
            raise problem(message, allowed=("minimise", "maximise"))
        return self


_RANGE_END = {"type": ["string", "number"]}
_LEVELS = {"type": "array", "minItems": 1}
_PATH = {"anyOf": [{"type": "string"}, {"type": "array"}]}
_DIMENSION = {
    "anyOf": [
        _LEVELS,
        {
            "type": "object",
            "properties": {"levels": _LEVELS, "path": _PATH},
            "required": ["levels"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "from": _RANGE_END,
                "to": _RANGE_END,
                "scale": {"enum": ["linear", "log"]},
                "start": _RANGE_END,
                "path": _PATH,
            },
            "required": ["from", "to"],
            "additionalProperties": False,
        },
    ]
}
_SPACE = {"type": "object", "minProperties": 1, "additionalProperties": _DIMENSION}


class SearchSpec(Strict):
    """A search: an optimum or a worst case in a space. `dumbbell.experiment.space` reads it."""

    optimise: OptimiseSpec | None = None
    attack: Annotated[AttackSpec, short_text("metric")] | None = None
    space: Annotated[dict[Name, Any], Checked(lambda value: value, _SPACE)]
    evaluations: Annotated[int, whole_number(1, MAX_EVALUATIONS)]
    repeats: Annotated[int, whole_number(1, 1000)] = 3
    seed: Annotated[int, whole_number(0, 2**31)] = 1
    batch: Annotated[int, whole_number(1, MAX_BATCH)] = 4

    @model_validator(mode="after")
    def _one_aim(self) -> Self:
        exactly_one(self, ("optimise", "attack"))
        return self

    @property
    def aim(self) -> OptimiseSpec | AttackSpec:
        """Objective: optimisation or attack."""
        if self.attack is not None:
            return self.attack
        if self.optimise is None:
            raise ValueError("neither optimise nor attack")
        return self.optimise

    @property
    def maximises(self) -> bool:
        """True if larger values of the metric are sought."""
        return self.aim.goal == "maximise"
