"""Fields of experiment files that the playground takes, as `crates/experiment` says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dumbbell import _core
from dumbbell.experiment.schema import json_schema

_REFERENCE = "#/$defs/"


def sections() -> list[dict[str, Any]]:
    """Mappings with fields that the playground refuses: `name`, `taken`, `refused`."""
    return list(json.loads(_core.playground_fields()))


def refused_fields() -> list[str]:
    """Names of all refused fields."""
    return [field for section in sections() for field in section["refused"]]


def schema() -> dict[str, Any]:
    """JSON Schema of experiment files without what the playground refuses."""
    whole = json_schema()
    refused = {section["name"]: section["refused"] for section in sections()}
    places = {
        "file": [whole],
        "template": _models(whole, "TemplateSpec"),
        "links[]": _models(whole, "LinkSpec"),
        "a direction of a link": [
            model for model in whole["$defs"].values() if "rates" in model.get("properties", {})
        ],
        "shaper.trace": _models(whole, "TraceSpec"),
        "flows[]": _models(whole, "FlowSpec"),
    }
    for name, models in places.items():
        for model in models:
            for field in refused[name]:
                model["properties"].pop(field, None)
    used = set(_used(whole, {key: one for key, one in whole.items() if key != "$defs"}))
    whole["$defs"] = {name: one for name, one in whole["$defs"].items() if name in used}
    return whole


def _models(whole: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [whole["$defs"][name]]


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
