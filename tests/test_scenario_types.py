"""The types of scenarios: written from crates/model, and those of every scenario that is built."""

from __future__ import annotations

import types
import typing
from typing import Any, NotRequired, get_args, get_origin

import pytest

from dumbbell import scenario
from dumbbell.experiment import load
from dumbbell.scenario import Scenario, read_scenario
from tests.helpers import ROOT
from tests.write_scenario_types import TARGET, module

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
HINTS: dict[Any, dict[str, Any]] = {}


def test_they_are_those_of_the_model() -> None:
    renew = "renew with `python -m tests.write_scenario_types`"
    assert TARGET.read_text(encoding="utf-8") == module(), renew


def hints(kind: Any) -> dict[str, Any]:
    if kind not in HINTS:
        HINTS[kind] = typing.get_type_hints(kind, vars(scenario), include_extras=True)
    return HINTS[kind]


def required(kind: Any) -> set[str]:
    """Fields that a value must have. `__required_keys__` does not read annotations in texts."""
    keys = kind.__required_keys__
    return {name for name in keys if get_origin(hints(kind)[name]) is not NotRequired}


def fits(value: Any, kind: Any) -> bool:
    """Returns true if a value of JSON is of a type."""
    if isinstance(kind, str):
        kind = eval(kind, vars(scenario))
    if kind is Any:
        return True
    if get_origin(kind) is NotRequired:
        return fits(value, get_args(kind)[0])
    if get_origin(kind) in (types.UnionType, typing.Union):
        return any(fits(value, one) for one in get_args(kind))
    if get_origin(kind) is typing.Literal:
        return value in get_args(kind)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(fits(one, get_args(kind)[0]) for one in value)
    if not typing.is_typeddict(kind):
        return isinstance(value, (int, float) if kind is float else kind)
    fields = hints(kind)
    return (
        isinstance(value, dict)
        and required(kind) <= value.keys() <= fields.keys()
        and all(fits(one, fields[key]) for key, one in value.items())
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_scenario_is_of_its_type(path: Any) -> None:
    found: Any = read_scenario(load(path).cells[0].scenario)
    for key, kind in hints(Scenario).items():
        if key in found or key in required(Scenario):
            assert fits(found[key], kind), key
    assert fits(found, Scenario)
    found["links"][0]["forward"]["delay"] = 1
    assert not fits(found, Scenario)
