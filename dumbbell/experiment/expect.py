"""Expectations of an experiment: bounds of metrics, for `dumbbell check`."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from dumbbell.codes import Code
from dumbbell.experiment.fields import Strict, late_choice, problem


def metric_names() -> dict[str, str]:
    """Names that a file may give → name; former names are read."""
    # Metrics import polars and numpy; few experiments expect any.
    from dumbbell.metrics import METRICS, RENAMED

    return dict(sorted(RENAMED.items() | {(name, name) for name in METRICS}))


MetricName = Annotated[str, late_choice(metric_names, what="metric")]


class ExpectSpec(Strict):
    """Bounds of a metric's mean over repeats, for all selected cells and flows.

    `where` selects levels of factors. Bounds are in the metric's unit.
    """

    metric: MetricName
    flow: str | None = None
    where: dict[str, str] = Field(default={})
    above: float | None = None
    below: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.above is None and self.below is None:
            raise problem("a bound is missing", allowed=("above", "below"), code=Code.EXPECT)
        if self.above is not None and self.below is not None and self.above >= self.below:
            message = f"nothing is above {self.above:g} and below {self.below:g}"
            raise problem(message, field="above", code=Code.EXPECT)
        from dumbbell.metrics import METRICS

        low, high = METRICS[self.metric].bounds
        words = f"{self.metric} lies between {low:g} and {high:g}: nothing is"
        if self.above is not None and self.above >= high:
            raise problem(f"{words} above {self.above:g}", field="above", code=Code.EXPECT)
        if self.below is not None and self.below <= low:
            raise problem(f"{words} below {self.below:g}", field="below", code=Code.EXPECT)
        return self
