"""Repeats of an experiment: a fixed number, or as many as a metric's interval needs."""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

from pydantic import model_validator

from dumbbell.codes import Code
from dumbbell.experiment.expect import MetricName
from dumbbell.experiment.fields import Share as ShareField
from dumbbell.experiment.fields import Short, Strict, problem, whole_number

MAX_REPEATS = 100_000
_COUNT = whole_number(1, MAX_REPEATS)

Repeats = Annotated[int, _COUNT]


class UntilSpec(Strict):
    """Half width of a metric's 95 % interval at which a cell has enough repeats.

    One of the two widths is given: a share of the mean, or an amount in the metric's unit.
    """

    metric: MetricName
    flow: str | None = None
    relative_half_width: ShareField | None = None
    half_width: float | None = None

    @model_validator(mode="after")
    def _one_width(self) -> Self:
        widths = (self.relative_half_width, self.half_width)
        if sum(width is not None for width in widths) != 1:
            names = ("relative_half_width", "half_width")
            raise problem("exactly one width is needed", allowed=names, code=Code.REPEATS)
        if not all(width is None or (width > 0 and math.isfinite(width)) for width in widths):
            raise problem("a width above 0 is needed", code=Code.REPEATS)
        return self

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


class RepeatsSpec(Strict):
    """Number of repeats of each cell: from `min` to `max`, until an interval is narrow enough.

    Without `until` both are the fixed number.
    """

    until: UntilSpec | None = None
    min: Annotated[int, whole_number(2, MAX_REPEATS)] = 10
    max: Annotated[int, whole_number(2, MAX_REPEATS)] = 100

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.until is None and self.min != self.max:
            raise problem(
                "`until` is missing; a fixed number is written as `repeats: 10`", code=Code.REPEATS
            )
        if self.min > self.max:
            raise problem(
                f"should be at least min, which is {self.min}", field="max", code=Code.REPEATS
            )
        return self


def fixed(count: int) -> RepeatsSpec:
    """A fixed number of repeats."""
    return RepeatsSpec.made({"min": count, "max": count})


def _expand(value: Any) -> Any:
    if isinstance(value, dict | RepeatsSpec):
        return value
    return fixed(_COUNT.read(value))


RepeatsField = Annotated[
    RepeatsSpec, Short(_expand, {"type": "integer", "minimum": 1, "maximum": MAX_REPEATS})
]
