"""Flows that arrive at random, with sizes drawn from a distribution."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.codes import Code
from dumbbell.experiment.fields import (
    Checked,
    Flag,
    Name,
    PositiveSize,
    Rate,
    Share,
    Short,
    Strict,
    Time,
    exactly_one,
    problem,
    short_text,
)
from dumbbell.experiment.options import TcpOptionsSpec
from dumbbell.experiment.queues import Codepoint
from dumbbell.experiment.traffic import ALGORITHMS, Algorithm


def _positive(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise problem("a number above 0 is needed", found=value, code=Code.OUT_OF_RANGE)
    return float(value)


Positive = Annotated[float, Checked(_positive, {"type": "number", "exclusiveMinimum": 0})]


class ExponentialSpec(Strict):
    """Exponential distribution."""

    mean: PositiveSize


class LognormalSpec(Strict):
    """Lognormal distribution. `sigma`: standard deviation of the natural logarithm."""

    median: PositiveSize
    sigma: Positive


class ParetoSpec(Strict):
    """Bounded Pareto distribution."""

    shape: Positive
    min: PositiveSize
    max: PositiveSize


class PointSpec(Strict):
    """Point of a CDF: the share `upto` of the flows has at most `size`."""

    size: PositiveSize
    upto: Share


def _fixed(value: Any) -> Any:
    return {"fixed": value} if isinstance(value, (str, int, float)) else value


class SizeSpec(Strict):
    """Distribution of flow sizes."""

    fixed: PositiveSize | None = None
    exponential: Annotated[ExponentialSpec, short_text("mean")] | None = None
    lognormal: LognormalSpec | None = None
    pareto: ParetoSpec | None = None
    empirical: Annotated[list[PointSpec], Field(min_length=1, max_length=10_000)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, tuple(SizeSpec.model_fields))
        return self

    def scenario(self) -> dict[str, Any]:
        """Value in the form of the scenario."""
        if self.exponential is not None:
            return {"exponential": {"mean_bytes": self.exponential.mean}}
        if self.lognormal is not None:
            found = {"median_bytes": self.lognormal.median, "sigma": self.lognormal.sigma}
            return {"lognormal": found}
        if self.pareto is not None:
            one = self.pareto
            bounds = {"min_bytes": one.min, "max_bytes": one.max}
            return {"pareto": {"shape": one.shape, **bounds}}
        if self.empirical is not None:
            points = [[point.size, point.upto] for point in self.empirical]
            return {"empirical": {"points": points}}
        return {"fixed": {"bytes": self.fixed}}

    def mean_bytes(self) -> float:
        """Mean of the distribution, in bytes."""
        if self.exponential is not None:
            return float(self.exponential.mean)
        if self.lognormal is not None:
            return self.lognormal.median * math.exp(self.lognormal.sigma**2 / 2)
        if self.pareto is not None:
            shape, least, most = self.pareto.shape, self.pareto.min, self.pareto.max
            within = 1 - math.pow(least / most, shape)
            if abs(shape - 1) < 1e-9:
                return least * math.log(most / least) / within
            cut = 1 - math.pow(least / most, shape - 1)
            return shape / (shape - 1) * least * cut / within
        if self.empirical is not None:
            points = [(point.size, point.upto) for point in self.empirical]
            mean = points[0][0] * points[0][1]
            for (low, share), (high, upto) in pairwise(points):
                mean += (low + high) / 2 * (upto - share)
            return mean
        return float(self.fixed or 0)


class ConnectionSpec(Strict):
    """TCP settings of the flows."""

    congestion_control: Algorithm
    fq: Flag | None = None
    sender: TcpOptionsSpec | None = None
    receiver: TcpOptionsSpec | None = None


_SIZE = Short(_fixed, {"type": "string", "examples": ["20 KiB"]})


class ArrivalsSpec(Strict):
    """Poisson process of TCP flows, given by flows per second or by load."""

    name: Name
    group: Name | None = None
    from_: Annotated[Name, Field(alias="from")]
    to: Name
    start: Time = 0
    stop: Time | None = None
    dscp: Codepoint = 0
    per_second: Positive | None = None
    load: Rate | None = None
    size: Annotated[SizeSpec, _SIZE]
    tcp: Annotated[ConnectionSpec, short_text("congestion_control", enum=list(ALGORITHMS))]

    @model_validator(mode="after")
    def _one_rate(self) -> Self:
        exactly_one(self, ("per_second", "load"))
        return self

    def flows_per_second(self) -> float:
        """Mean arrival rate. From a load: payload bits per second over the mean size."""
        if self.load is not None:
            return self.load / (8 * self.size.mean_bytes())
        return self.per_second or 0.0
