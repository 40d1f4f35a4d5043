"""The parameter of a queue that a factor varies, where the factor's levels are its values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from dumbbell.catalogue import queue_parameters
from dumbbell.levels import Scale
from dumbbell.metrics import Tables
from dumbbell.scenario import read_scenario

#: Names of factors that say what has the parameter, and not which it is.
_QUEUES = {"queue", "discipline", "aqm"}
#: Units of levels → field's suffix, and what one is in the field's unit.
_UNITS = {
    "ns": ("_ns", 1),
    "us": ("_ns", 1e3),
    "ms": ("_ns", 1e6),
    "s": ("_ns", 1e9),
    "packets": ("_packets", 1),
    "bytes": ("_bytes", 1),
}


def varied(results: Tables, factor: str, scale: Scale | None) -> str | None:
    """Returns the parameter's name, as `CoDel target`; None if there is none, or several.

    Args:
        results: Tables with the scenario of each run.
        factor: Name of the factor.
        scale: Numbers of its levels, with their unit; None: they are no numbers.
    """
    if factor not in _QUEUES or scale is None or scale.unit not in _UNITS:
        return None
    suffix, one = _UNITS[scale.unit]
    names: set[str] | None = None
    rows = results.runs.select(factor, "scenario").unique(subset=factor, maintain_order=True)
    for level, scenario in rows.iter_rows():
        if level not in scale.values:
            continue
        here = {
            name
            for field, name, value in _parameters(scenario)
            if field.endswith(suffix) and math.isclose(value, scale.values[level] * one)
        }
        names = here if names is None else names & here
    return names.pop() if names and len(names) == 1 and len(scale.values) > 1 else None


def _parameters(scenario: str) -> Iterator[tuple[str, str, float]]:
    """Field, name and value of each parameter of each queue."""
    for link in read_scenario(scenario)["links"]:
        for pipe in (link["forward"], link["backward"]):
            yield from _of_queue(pipe["queue"])


def _of_queue(queue: object) -> Iterator[tuple[str, str, float]]:
    if isinstance(queue, list):
        for one in queue:
            yield from _of_queue(one)
    if not isinstance(queue, Mapping):
        return
    for key, inner in queue.items():
        if isinstance(inner, Mapping):
            for field, value in inner.items():
                name = queue_parameters().get((key, field))
                if name is not None and isinstance(value, int | float):
                    yield field, name, value
        if isinstance(inner, Mapping | list):
            yield from _of_queue(inner)
