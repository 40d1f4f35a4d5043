"""The model of a whole experiment file."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.codes import Code
from dumbbell.experiment.arrivals import ArrivalsSpec
from dumbbell.experiment.expect import ExpectSpec
from dumbbell.experiment.fields import (
    Checked,
    Name,
    PositiveTime,
    Strict,
    problem,
    whole_number,
)
from dumbbell.experiment.network import (
    MAX_ITEMS,
    LinkSpec,
    NeighbourDiscovery,
    RouterSpec,
    RouteSpec,
    Sampling,
    TapSpec,
)
from dumbbell.experiment.options import HostSpec
from dumbbell.experiment.pages import PageSpec
from dumbbell.experiment.programs import ProgramSpec
from dumbbell.experiment.repeats import RepeatsField, fixed
from dumbbell.experiment.search import SearchSpec
from dumbbell.experiment.templates import TemplateSpec
from dumbbell.experiment.traffic import FlowSpec
from dumbbell.experiment.workloads import WorkloadSpec

FORMAT = 1
MAX_SEED = 2**62
DEFAULTS = "defaults"


NEWER = f"a newer file format than this program reads, which is {FORMAT}"


def is_newer(value: object) -> bool:
    """Returns true if this is the version of a format that this program does not know yet."""
    return isinstance(value, int) and not isinstance(value, bool) and value > FORMAT


def _format(value: object) -> int:
    if value == FORMAT and not isinstance(value, bool):
        return FORMAT
    if is_newer(value):
        raise problem(NEWER, found=value, code=Code.NOT_EXPERIMENT)
    raise problem(
        "unknown file format", found=value, allowed=(str(FORMAT),), code=Code.NOT_EXPERIMENT
    )


_LEVELS = {"type": "array", "minItems": 1}
_GRID = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            _LEVELS,
            {
                "type": "object",
                "properties": {
                    "levels": _LEVELS,
                    "path": {"anyOf": [{"type": "string"}, {"type": "array"}]},
                },
                "required": ["levels"],
                "additionalProperties": False,
            },
        ]
    },
}
_FACTORS = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "grid": _GRID,
                "zip": {"anyOf": [_GRID, {"type": "array", "items": _GRID}]},
                "points": {"type": "array", "items": {"type": "object"}, "minItems": 1},
            },
            "additionalProperties": False,
        },
        _GRID,
    ]
}
Factors = Annotated[Any, Checked(lambda value: value, _FACTORS)]


class ExperimentFile(Strict):
    """An experiment: a network, its traffic, what to vary, what to keep."""

    dumbbell: Annotated[int, Checked(_format, {"const": FORMAT})]
    name: Name
    description: str = ""
    template: TemplateSpec | None = None
    hosts: dict[Name, HostSpec | None] = Field(default={}, max_length=MAX_ITEMS)
    routers: dict[Name, RouterSpec | None] = Field(default={}, max_length=MAX_ITEMS)
    switches: dict[Name, RouterSpec | None] = Field(default={}, max_length=MAX_ITEMS)
    links: list[LinkSpec] = Field(default=[], max_length=MAX_ITEMS)
    routes: list[RouteSpec] = Field(default=[], max_length=MAX_ITEMS)
    workload: WorkloadSpec | None = None
    flows: list[FlowSpec] = Field(default=[], max_length=MAX_ITEMS)
    arrivals: list[ArrivalsSpec] = Field(default=[], max_length=MAX_ITEMS)
    pages: list[PageSpec] = Field(default=[], max_length=MAX_ITEMS)
    programs: list[ProgramSpec] = Field(default=[], max_length=MAX_ITEMS)
    taps: list[TapSpec] = Field(default=[], max_length=MAX_ITEMS)
    sampling: Sampling | None = None
    neighbour_discovery: NeighbourDiscovery = None
    duration: PositiveTime
    factors: Factors = None
    expect: list[ExpectSpec] = Field(default=[], max_length=MAX_ITEMS)
    search: SearchSpec | None = None
    repeats: RepeatsField = fixed(1)
    seed: Annotated[int, whole_number(0, MAX_SEED)] = 1

    @model_validator(mode="after")
    def _traffic(self) -> Self:
        traffic = (self.flows, self.arrivals, self.pages, self.programs, self.workload)
        if not any(traffic):
            kinds = ("flows", "arrivals", "pages", "programs", "workload")
            raise problem("there is no traffic", field="flows", allowed=kinds, code=Code.NO_TRAFFIC)
        return self
