"""JSON Schema of the experiment files that the playground takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dumbbell.experiment.schema import json_schema

_REFERENCE = "#/$defs/"
#: Fields that need programs, transport stacks, other files, or more than one run: by model;
#: empty: the file.
REFUSED: dict[str, tuple[str, ...]] = {
    "": ("programs", "plugins", "search"),
    "FlowSpec": ("quic",),
    "TraceSpec": ("file",),
    "RateTraceSpec": ("file",),
    "JointTraceSpec": ("file",),
}


def schema() -> dict[str, Any]:
    """JSON Schema of experiment files without what the playground refuses."""
    whole = json_schema()
    for name in REFUSED[""]:
        whole["properties"].pop(name, None)
    for model in whole["$defs"].values():
        model["properties"].pop("rates", None)
        if "JointTraceSpec" in str(model["properties"].get("trace")):
            model["properties"].pop("trace")
    whole["$defs"]["TraceSpec"]["properties"].pop("file", None)
    for name in REFUSED["FlowSpec"]:
        whole["$defs"]["FlowSpec"]["properties"].pop(name, None)
    used = set(_used(whole, {key: one for key, one in whole.items() if key != "$defs"}))
    whole["$defs"] = {name: one for name, one in whole["$defs"].items() if name in used}
    return whole


def _used(whole: dict[str, Any], root: Any) -> Iterator[str]:
    """Names of the definitions that a schema refers to."""
    seen: set[str] = set()
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            target = one.get("$ref", "")
            name = target.removeprefix(_REFERENCE)
            if target and name not in seen:
                seen.add(name)
                yield name
                waiting.append(whole["$defs"][name])
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
